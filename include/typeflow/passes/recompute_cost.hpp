// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a value that kernels read is cheaper to compute again than to store.
//
// Op::flops says what operations cost: 1 for an addition, 16 for an exponential. Steps' costs and
// the kernels' choice of what they keep for their next pass come from the same numbers.
//
//   relu(x), read by 2 kernels:   1 flop for 12 bytes
//   exp(x), read by 5 kernels:   64 flops for 12 bytes

#include <cstdint>

#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// What computing a value again takes and saves, for each element of it.
struct RecomputeCost {
  Id value;
  int readers;  ///< kernels
  int flops;    ///< that are done more often
  int bytes;    ///< that are neither written nor read
  bool pays;    ///< it is computed again
};

/// Tensors of at most so many bytes are still in a cache when they are read.
inline constexpr std::int64_t cached_bytes = std::int64_t{1} << 22;

/// The flops that a kernel does while a byte of a tensor of this size is moved. Measured on a
/// server's processor with AVX-512, with exponentials that 1 to 5 kernels read of 32 KB to 32 MB.
constexpr int flops_of_a_byte(std::int64_t size) { return size > cached_bytes ? 6 : 1; }

/// Whether computing again pays for a value of this size in bytes. For one reader it takes at most
/// about the time of storing, and no memory.
constexpr bool pays_to_recompute(const RecomputeCost& cost, std::int64_t size) {
  return cost.readers == 1 || cost.flops <= cost.bytes * flops_of_a_byte(size);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
