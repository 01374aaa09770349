// SPDX-License-Identifier: Apache-2.0
#pragma once

// A row in reverse order, a register at a time.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX2__)
/// The bytes of a lane of 16 that put its elements of `size` bytes in reverse order.
template <int Size>
TYPEFLOW_INLINE __m128i reversed_lane() {
  if constexpr (Size == 1) {
    return _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  } else if constexpr (Size == 2) {
    return _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1);
  } else if constexpr (Size == 4) {
    return _mm_setr_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  } else {
    return _mm_setr_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  }
}
#endif

/// out[i] := in[-i], for trivial elements of 1, 2, 4 or 8 bytes.
template <class T>
void reverse_run(const T* in, std::int64_t count, T* out) {
  std::int64_t i = 0;
#if defined(__AVX512BW__)
  constexpr std::int64_t N = 64 / sizeof(T);
  const __m512i order = _mm512_broadcast_i32x4(reversed_lane<sizeof(T)>());
  for (; i + N <= count; i += N) {
    const __m512i x = _mm512_loadu_si512(in - i - (N - 1));
    const __m512i lanes = _mm512_shuffle_i64x2(x, x, 0x1b);
    _mm512_storeu_si512(out + i, _mm512_shuffle_epi8(lanes, order));
  }
#elif defined(__AVX2__)
  constexpr std::int64_t N = 32 / sizeof(T);
  const __m256i order = _mm256_broadcastsi128_si256(reversed_lane<sizeof(T)>());
  for (; i + N <= count; i += N) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in - i - (N - 1)));
    const __m256i lanes = _mm256_permute4x64_epi64(x, 0x4e);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_shuffle_epi8(lanes, order));
  }
#endif
  for (; i < count; ++i) out[i] = in[-i];
}

/// The same; with `streams`, others see it only after end_streams().
template <class T>
void reverse_row(const T* in, std::int64_t count, T* out, bool streams) {
  if (!streams) return reverse_run(in, count, out);
  constexpr std::int64_t size = 4096 / sizeof(T);
  T part[size];
  for (std::int64_t i = 0; i < count; i += size) {
    const std::int64_t n = std::min(size, count - i);
    reverse_run(in - i, n, part);
    copy_run(part, n, out + i, true);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
