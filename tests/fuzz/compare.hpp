// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparing what two ways of computing give.

#include <string>
#include <vector>

#include "model.hpp"

namespace fuzz {

/// What a run gave: values and variables, or an error.
struct Outcome {
  std::vector<tf::HostTensor> values;
  tf::HostTensors variables;
  std::string error;
};

/// What differs between two outcomes of a run; empty if nothing does. With `bits` every bit counts,
/// else as much as the model's numbers allow. `looseness` multiplies the tolerance of smooth ones.
std::string compare(const Model& model, const Run& run, const Outcome& a, const Outcome& b,
                    bool bits, double looseness = 1);

}  // namespace fuzz
