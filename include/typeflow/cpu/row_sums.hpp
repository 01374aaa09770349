// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a matrix and a vector where the elements of a matrix's row lie along the depth. A
// line of each of many rows is transposed in registers, so each sum is one chain in the order of
// the depth.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "typeflow/core/half.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/line_squares.hpp"
#include "typeflow/cpu/product_kernel.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// For a matrix of X: float, double, or a 16-bit type, whose sums are float.
template <class X, class A>
class TransposedRowSums {
  using T = Computed<X>;
  using B = xsimd::batch<T, A>;
  /// Squares hold words: elements, or two steps of a 16-bit type.
  using Word = std::conditional_t<sizeof(X) == 2, std::uint32_t, X>;
  static constexpr int lanes = static_cast<int>(B::size);

 public:
  /// Whether the instruction set has the registers for it.
  static constexpr bool possible = line_square_size<Word> == lanes;
  /// Groups of rows that go along the depth together, so that the processor is busy while a chain
  /// waits for its last sum. For a group of 16, transposing the next square takes as long.
  static constexpr int groups = lanes < 16 ? 2 : 1;
  static constexpr std::int64_t together = groups * lanes;

#if defined(__AVX512BW__)
  /// out[j] = sum over k of x[k] * m[j * pitch + k], for j < count; with `go_on`, added to out[j].
  static void run(const T* x, const X* m, std::int64_t pitch, std::int64_t depth,
                  std::int64_t count, T* out, bool go_on) {
    for (std::int64_t j = 0; j < count; j += together) {
      const std::int64_t rows = std::min(together, count - j);
      if (rows > lanes) {
        add<groups>(x, m + j * pitch, pitch, depth, rows, out + j, go_on);
      } else {
        add<1>(x, m + j * pitch, pitch, depth, rows, out + j, go_on);
      }
    }
  }

 private:
  static constexpr std::int64_t line = 64 / sizeof(X);
  static constexpr int steps = sizeof(Word) / sizeof(X);  ///< of a word
  static constexpr std::int64_t lines_ahead = 8;

  template <int Groups>
  [[gnu::noinline, gnu::flatten]] static void add(const T* x, const X* m, std::int64_t pitch,
                                                  std::int64_t depth, std::int64_t rows, T* out,
                                                  bool go_on) {
    constexpr int most = Groups * lanes;
    const X* at[most];
    for (int i = 0; i < most; ++i) {
      at[i] = m;
      m += i + 1 < rows ? pitch : 0;
    }
    alignas(64) T sums[most] = {};
    if (go_on) std::copy(out, out + rows, sums);
    B sum[Groups];
    unrolled<Groups>([&](auto g)
                         TYPEFLOW_INLINE_LAMBDA { sum[g] = B::load_aligned(sums + g * lanes); });
    alignas(64) T last_x[line];
    std::uint64_t bytes = ~std::uint64_t{0};
    for (std::int64_t k = 0; k < depth; k += line, x += line) {
      if (depth - k < line) {
        bytes >>= 64 - (depth - k) * static_cast<int>(sizeof(X));
        // Products with missing elements, zeros, are -0, which changes no sum.
        std::fill(std::copy(x, x + (depth - k), last_x), last_x + line, T(-0.0));
        x = last_x;
      }
      // Later lines; behind a row's end the following rows' first ones.
      const std::int64_t ahead = k + lines_ahead * line < depth
                                     ? lines_ahead * line
                                     : lines_ahead * line - depth + most * pitch;
      unrolled<Groups>([&](auto g) TYPEFLOW_INLINE_LAMBDA {
        LineSquare<Word>::run(
            [&](int i) TYPEFLOW_INLINE_LAMBDA {
              const X* const from = at[g * lanes + i] + k;
              prefetch_to_second(from, ahead);
              return _mm512_maskz_loadu_epi8(bytes, from);
            },
            [&](int step, __m512i words)
                TYPEFLOW_INLINE_LAMBDA { sum[g] = add_words(sum[g], x + step * steps, words); });
      });
    }
    unrolled<Groups>([&](auto g)
                         TYPEFLOW_INLINE_LAMBDA { sum[g].store_aligned(sums + g * lanes); });
    std::copy(sums, sums + rows, out);
  }
  TYPEFLOW_INLINE static B add_words(const B& sum, const T* x, __m512i words) {
    if constexpr (steps == 1) {
      return cpu_kernels::fma(std::bit_cast<B>(words), B(x[0]), sum);
    } else {
      const B first = cpu_kernels::fma(low(words), B(x[0]), sum);
      return cpu_kernels::fma(high(words), B(x[1]), first);
    }
  }
  /// The first and the second number of each word.
  TYPEFLOW_INLINE static B low(__m512i words) {
    if constexpr (std::is_same_v<X, bfloat16>) {
      return B(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)));
    } else {
      return B(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)));
    }
  }
  TYPEFLOW_INLINE static B high(__m512i words) {
    if constexpr (std::is_same_v<X, bfloat16>) {
      return B(_mm512_castsi512_ps(
          _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xFFFF0000u)))));
    } else {
      return low(_mm512_srli_epi32(words, 16));
    }
  }
#endif
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
