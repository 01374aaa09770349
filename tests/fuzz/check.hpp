// SPDX-License-Identifier: Apache-2.0
#pragma once

// What must hold for every model.

#include <string>

#include "model.hpp"

namespace fuzz {

/// Runs a model's runs by the interpreter of graphs on the traced graph and on the simplified one,
/// by its programs, fused and not, and by a program without some passes, and compares values,
/// variables and errors. Also asks the verifiers of graphs, programs and memory plans. Empty if all
/// agree; else what does not.
std::string check(const Model& model);

}  // namespace fuzz
