// SPDX-License-Identifier: Apache-2.0
#pragma once

// When elementwise kernels write their results past the caches (stream.hpp).

#include <cstdint>

#include "typeflow/cpu/stream.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Whether elementwise kernels can do that: where it has been measured.
#if defined(__AVX512F__)
inline constexpr bool streams_maps = true;
#else
inline constexpr bool streams_maps = false;
#endif

/// Operands and results of elementwise kernels that together have so many bytes leave the cache.
/// For fewer, such as a conversion of 8 MiB to 16 MiB, streamed stores were half as fast.
inline constexpr std::int64_t streamed_map_bytes = streamed_bytes / 2 * 5;

/// The bytes that an elementwise kernel reads and writes for each element.
struct MapBytes {
  int narrowest;  ///< of a result; 0 if some result does not lie in order
  int all;
};

/// Whether a kernel streams its results of `rows` rows, which operands [0, inputs) are read for:
/// if they are large, and their rows begin at multiples of a line. A result that is written in
/// place is not streamed, since its lines are in the cache already.
[[gnu::noinline]] inline bool streams_results(const KernelCall& call, int inputs, int results,
                                              std::int64_t rows, std::int64_t length,
                                              MapBytes bytes) {
  constexpr std::uintptr_t line = 64;
  const std::int64_t count = rows * length;
  if (count * bytes.narrowest < streamed_bytes || count * bytes.all < streamed_map_bytes) {
    return false;
  }
  if (rows > 1 && static_cast<std::uintptr_t>(length * bytes.narrowest) % line != 0) return false;
  for (int k = inputs; k < inputs + results; ++k) {
    if (reinterpret_cast<std::uintptr_t>(call.operands[k]) % line != 0) return false;
    for (int i = 0; i < inputs; ++i) {
      if (call.operands[i] == call.operands[k]) return false;
    }
  }
  return true;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
