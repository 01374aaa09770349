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

/// out[i] := in[-i], for trivial elements of 1, 2, 4 or 8 bytes. With `Streams`, others see it only
/// after end_streams(), and `out` must be aligned to registers.
template <bool Streams, class T>
void reverse_run(const T* in, std::int64_t count, T* out) {
  std::int64_t i = 0;
#if defined(__AVX512BW__)
  constexpr std::int64_t N = 64 / sizeof(T);
  const __m512i order = _mm512_broadcast_i32x4(reversed_lane<sizeof(T)>());
  for (; i + N <= count; i += N) {
    const T* const from = in - i - (N - 1);
    __builtin_prefetch(from + count);  // the next row, which is read from its end, too
    const __m512i x = _mm512_loadu_si512(from);
    const __m512i y = _mm512_shuffle_epi8(_mm512_shuffle_i64x2(x, x, 0x1b), order);
    if constexpr (Streams) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), y);
    } else {
      _mm512_storeu_si512(out + i, y);
    }
  }
#elif defined(__AVX2__)
  constexpr std::int64_t N = 32 / sizeof(T);
  const __m256i order = _mm256_broadcastsi128_si256(reversed_lane<sizeof(T)>());
  for (; i + N <= count; i += N) {
    const T* const from = in - i - (N - 1);
    __builtin_prefetch(from + count);
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i y = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(x, 0x4e), order);
    if constexpr (Streams) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), y);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), y);
    }
  }
#endif
  for (; i < count; ++i) out[i] = in[-i];
}

/// The same, streamed if `streams` and the row is not short.
template <class T>
void reverse_row(const T* in, std::int64_t count, T* out, bool streams) {
  constexpr std::int64_t width = 64;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  if (!streams || count * size < 8 * width) return reverse_run<false>(in, count, out);
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out));
  const std::int64_t head = (width - address % width) % width / size;
  reverse_run<false>(in, head, out);
  reverse_run<true>(in - head, count - head, out + head);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
