// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two times. Each has a source file of its own, so that they compile side by side.

#include <vector>

#include "common/program.hpp"

namespace inception {

/// Seconds of the forward pass, which the book times.
double time_forward(const examples::Options& options, const std::vector<float>& images);
/// Seconds of a training step, by gradient descent.
double time_training(const examples::Options& options, const std::vector<float>& images);

}  // namespace inception
