// SPDX-License-Identifier: Apache-2.0
#pragma once

// One function in two libraries, each with typeflow::compiled and an instruction set of its own.

#include <string>
#include <vector>

#include <typeflow/runtime/variables.hpp>

namespace isas {

/// The loss after a step of training, and the instruction set that computed it.
struct CompiledResult {
  float loss;
  std::string arch;
};
CompiledResult step_baseline(typeflow::Variables& variables, const std::vector<float>& x);
CompiledResult step_wide(typeflow::Variables& variables, const std::vector<float>& x);

}  // namespace isas
