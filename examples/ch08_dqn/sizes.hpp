// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of the agent. Each is compiled in a file of its own.

#include "common/program.hpp"

namespace examples {

/// The book's size: pictures of 84x84 pixels, 1,682,688 parameters.
void train_full(const Options& options);
/// Pictures of 14x14 pixels, with a net that learns in seconds.
void train_small(const Options& options);

}  // namespace examples
