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

/// Whether a kernel streams its results of `rows` rows, which operands [0, inputs) are read for:
/// if they are large, and their rows begin at multiples of a register. A result that is written in
/// place is not streamed, since its lines are in the cache already. `narrowest` is the size of the
/// smallest elements in bytes.
[[gnu::noinline]] inline bool streams_results(const KernelCall& call, int inputs, int results,
                                              std::int64_t rows, std::int64_t length,
                                              int narrowest) {
  constexpr std::uintptr_t line = 64;
  if (rows * length * narrowest < streamed_bytes) return false;
  if (rows > 1 && static_cast<std::uintptr_t>(length * narrowest) % line != 0) return false;
  for (int k = inputs; k < inputs + results; ++k) {
    if (reinterpret_cast<std::uintptr_t>(call.operands[k]) % line != 0) return false;
    for (int i = 0; i < inputs; ++i) {
      if (call.operands[i] == call.operands[k]) return false;
    }
  }
  return true;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
