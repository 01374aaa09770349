// SPDX-License-Identifier: Apache-2.0
#pragma once

// Smaller models with the same fault.

#include <functional>

#include "model.hpp"

namespace fuzz {

/// A model from which nothing can be taken for which `fails` stays true: runs, names, feeds,
/// operations. `fails(model)` must be true.
Model shrink(Model model, const std::function<bool(const Model&)>& fails);

}  // namespace fuzz
