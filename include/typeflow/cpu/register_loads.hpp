// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads of whole registers.
//
// A core of Zen 4 moves 32 bytes at a time. From L2 and beyond it loads 64 bytes faster as two
// halves than by one instruction; from L1 both take equally long. (Adding two arrays of 16 MiB took
// 0.97 ms instead of 1.12 ms; 2026-11-26, AMD EPYC (Zen 4).)

#include <cstddef>
#include <cstring>

#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Whether a register of 64 bytes is loaded as two halves. g++ 12 calls Zen 4 `znver3`; the real
/// Zen 3 has no AVX-512.
#if defined(__AVX512F__) && (defined(__znver3__) || defined(__znver4__))
inline constexpr bool loads_halves = true;
#else
inline constexpr bool loads_halves = false;
#endif

/// The V that lies, unaligned, at `from`.
template <class V>
TYPEFLOW_INLINE V load_register(const void* from) {
  V x;
#if defined(__AVX512F__)
  if constexpr (loads_halves && sizeof x == 64) {
    const auto* const half = static_cast<const __m256i*>(from);
    __m256i low = _mm256_loadu_si256(half);
    asm("" : "+x"(low));  // else compilers join the two loads
    const __m512i both =
        _mm512_inserti64x4(_mm512_castsi256_si512(low), _mm256_loadu_si256(half + 1), 1);
    std::memcpy(&x, &both, sizeof x);
    return x;
  }
#endif
  std::memcpy(&x, from, sizeof x);
  return x;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
