// SPDX-License-Identifier: Apache-2.0
#pragma once

// The passes that a random model is compiled without.

#include <bit>
#include <cstdint>

#include "typeflow/graph/pass.hpp"

namespace fuzz {

/// One of the optional passes, or all of them.
inline typeflow::ir::PassSet some_passes(std::uint64_t seed) {
  const typeflow::ir::PassSet all = typeflow::ir::optional_passes;
  const int count = std::popcount(all.bits);
  int left = static_cast<int>(seed % static_cast<std::uint64_t>(count + 1));
  if (left == count) return all;
  unsigned rest = all.bits;
  while (left-- > 0) rest &= rest - 1;
  return {rest & ~(rest - 1)};
}

}  // namespace fuzz
