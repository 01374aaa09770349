// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the guide says of statements, held against what runs do.

#include <cstdint>
#include <string>

namespace fuzz {

/// Writes a random sequence of statements (assignments, reads, updates of rows, optimisers' steps,
/// groups) both as a model, with the functions that users have, and as a plain list; runs random
/// subsets of its names by programs, by the interpreter of graphs and by a simulation of the list.
/// Empty if all agree; else what does not.
std::string check_statements(std::uint64_t seed);

}  // namespace fuzz
