// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes in which the program trains its agent, each compiled in a file of its own.

#include "common/program.hpp"

namespace examples {

/// As the book has it: pictures of 84x84 pixels, 1,682,688 parameters.
void train_full(const Options& options);
/// Pictures of 14x14, a net that learns in seconds what can be seen in them.
void train_small(const Options& options);

}  // namespace examples
