// SPDX-License-Identifier: Apache-2.0
#pragma once

// Squares of elements transposed in registers of a whole cache line. Each line is read by one load,
// so it does not matter how many rows share a set of the cache.

#include <cstdint>

#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/unrolled.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The number of elements T in a square's side; 0 if the instruction set has no such registers.
template <class T>
inline constexpr int line_square_size =
#if defined(__AVX512BW__)
    sizeof(T) >= 4 ? static_cast<int>(64 / sizeof(T)) : 0;
#else
    0;
#endif

#if defined(__AVX512BW__)
/// Elements T of 4 or 8 bytes.
template <class T>
class LineSquare {
  using R = WideRegister<T>;
  using Blocks = TransposeBlocks<T>;
  static constexpr int N = Blocks::N;  ///< elements of a lane

 public:
  static constexpr int size = line_square_size<T>;
  static_assert(size == 4 * N && R::lanes == 4);

  /// Loads row i by load(i), an __m512i, and calls use(s, step) for s = 0, ..., size - 1 in order:
  /// register `step` holds element s of each row.
  template <class Load, class Use>
  TYPEFLOW_INLINE static void run(const Load& load, const Use& use) {
    __m512i lanes[4][N];  // lane r of lanes[q][i] is lane q of row r * N + i
    unrolled<N>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      const __m512i r0 = load(i);
      const __m512i r1 = load(i + N);
      const __m512i r2 = load(i + 2 * N);
      const __m512i r3 = load(i + 3 * N);
      const __m512i low01 = _mm512_shuffle_i32x4(r0, r1, 0x44);
      const __m512i high01 = _mm512_shuffle_i32x4(r0, r1, 0xEE);
      const __m512i low23 = _mm512_shuffle_i32x4(r2, r3, 0x44);
      const __m512i high23 = _mm512_shuffle_i32x4(r2, r3, 0xEE);
      lanes[0][i] = _mm512_shuffle_i32x4(low01, low23, 0x88);
      lanes[1][i] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
      lanes[2][i] = _mm512_shuffle_i32x4(high01, high23, 0x88);
      lanes[3][i] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
    });
    unrolled<4>([&](auto q) TYPEFLOW_INLINE_LAMBDA {
      typename Blocks::template Registers<R> x;
      unrolled<N>([&](auto i) TYPEFLOW_INLINE_LAMBDA { x.of[i].v = lanes[q][i]; });
      x = Blocks::template unpack<R>(x);
      unrolled<N>([&](auto i) TYPEFLOW_INLINE_LAMBDA { use(q * N + i, x.of[i].v); });
    });
  }
};

/// Copies `rows` rows of `count` elements, at most `size` of each, transposed. Writes `count` whole
/// registers that lie to_pitch apart, with zeros for missing rows.
template <class T>
[[gnu::noinline, gnu::flatten]] void transpose_line_square(const T* from, std::int64_t pitch,
                                                           std::int64_t rows, std::int64_t count,
                                                           T* to, std::int64_t to_pitch) {
  const std::uint64_t bytes = ~std::uint64_t{0} >> (64 - count * static_cast<int>(sizeof(T)));
  LineSquare<T>::run(
      [&](std::int64_t i) TYPEFLOW_INLINE_LAMBDA {
        return _mm512_maskz_loadu_epi8(i < rows ? bytes : 0, from + (i < rows ? i : 0) * pitch);
      },
      [&](int step, __m512i x) TYPEFLOW_INLINE_LAMBDA {
        if (step < count) _mm512_storeu_si512(to + step * to_pitch, x);
      });
}
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
