// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operands of matrix products whose elements are 16-bit numbers, bfloat16 or half, and whose sums
// are float. The loops for float widen them as they pack them (product_loops.hpp), and matrices of
// products with vectors as they read them. Each sum is the chain of float operands, so it has the
// same bits.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "typeflow/cpu/column_sums.hpp"
#include "typeflow/cpu/half_vectors.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/row_sums.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The functions of a Widening for elements X.
template <class X, class A>
class WidenedOperand {
  using S = TileShape<float, A>;
  using L = Lanes<false, A>;
  using B = xsimd::batch<float, A>;
  using Bits = std::uint16_t;
  using Blocks = TransposeBlocks<Bits>;
  static constexpr int lanes = S::lanes;
  static constexpr int W = Blocks::W;  ///< rows that are transposed together
  static constexpr std::int64_t line = 64 / sizeof(Bits);
  static_assert(L::size == lanes && W == 2 * lanes);

 public:
  // See Widening.

  [[gnu::noinline]] static void convert(const void* from, std::int64_t pitch, std::int64_t rows,
                                        std::int64_t count, float* to, std::int64_t to_pitch) {
    const X* x = static_cast<const X*>(from);
    const std::int64_t whole = count / lanes * lanes;
    for (std::int64_t i = 0; i < rows; ++i, x += pitch, to += to_pitch) {
      prefetch(x, 16 * pitch);
      prefetch(x, 16 * pitch + std::min<std::int64_t>(count, line));
      for (std::int64_t j = 0; j < whole; j += lanes) {
        TYPEFLOW_FEW_TURNS;
        L::load(x + j).store_unaligned(to + j);
      }
      if (whole == count) continue;
      if (count >= lanes) {  // the last vector overlaps the one before
        B(0.0f).store_unaligned(to + whole);
        L::load(x + count - lanes).store_unaligned(to + count - lanes);
      } else {
        L::load(x, static_cast<int>(count)).store_unaligned(to);
      }
    }
  }

  static void wide_sums(const float* x, const void* matrix, std::int64_t pitch, std::int64_t depth,
                        std::int64_t count, float* out, bool go_on) {
    const X* const m = static_cast<const X*>(matrix);
    if (reads_rows(pitch, depth, sizeof(X))) {
      sum_by_rows<float, A>(x, m, pitch, depth, count, out, go_on);
      return;
    }
    std::int64_t j = 0;
    const auto take = [&](auto vectors) {
      for (; count - j >= vectors() * lanes; j += vectors() * lanes) {
        add_vectors<vectors()>(x, m + j, pitch, depth, out + j, go_on);
      }
    };
    take(std::integral_constant<int, S::large ? 24 : 12>{});
    take(std::integral_constant<int, 4>{});
    take(std::integral_constant<int, 1>{});
    if (j == count) return;
    const int rest = static_cast<int>(count - j);
    B sum = go_on ? L::load(out + j, rest) : B(0.0f);
    for (std::int64_t k = 0; k < depth; ++k) {
      sum = cpu_kernels::fma(B(x[k]), L::load(m + k * pitch + j, rest), sum);
    }
    L::store(out + j, sum, rest);
  }

  static void row_sums(const float* x, const void* matrix, std::int64_t pitch, std::int64_t depth,
                       std::int64_t count, float* out, bool go_on) {
    if constexpr (TransposedRowSums<X, A>::possible) {
      TransposedRowSums<X, A>::run(x, static_cast<const X*>(matrix), pitch, depth, count, out,
                                   go_on);
    } else {
      transposed_sums(x, static_cast<const Bits*>(matrix), pitch, depth, count, out, go_on);
    }
  }
  static constexpr Widening<float> functions{sizeof(X), &convert, &wide_sums, &row_sums};

 private:
  /// Rows so far apart, or a multiple of it, share few sets of the first cache, and would drive
  /// each other out before all of a line is read.
  static constexpr std::int64_t crowded = 1024 / sizeof(Bits);

  /// row_sums without TransposedRowSums.
  static void transposed_sums(const float* x, const Bits* m, std::int64_t pitch, std::int64_t depth,
                              std::int64_t count, float* out, bool go_on) {
    for (std::int64_t i = 0; i < count; i += W) {
      alignas(64) float sums[W] = {};
      // The last rows overlap those before, whose sums are not taken again.
      const std::int64_t row = std::max<std::int64_t>(0, std::min<std::int64_t>(i, count - W));
      const std::int64_t rows = std::min<std::int64_t>(W, count);
      if (go_on) std::copy(out + row, out + row + rows, sums);
      if (rows < W || pitch % crowded == 0) {
        add_copied_rows(x, m + row * pitch, pitch, depth, rows, sums, go_on);
      } else {
        add_rows(x, m + row * pitch, pitch, depth, sums, go_on);
      }
      std::copy(sums + (i - row), sums + rows, out + i);
    }
  }
  /// The sums of V vectors of columns.
  template <int V>
  [[gnu::noinline, gnu::flatten]] static void add_vectors(const float* x, const X* m,
                                                          std::int64_t pitch, std::int64_t depth,
                                                          float* out, bool go_on) {
    B sum[V];
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
      sum[v] = go_on ? B::load_unaligned(out + v * lanes) : B(0.0f);
    });
#if defined(__AVX512BW__)
    // One vector gets the even columns, the next one the odd ones. These are the halves of words,
    // so widening takes one instruction each.
    if constexpr (std::is_same_v<X, bfloat16> && V % 2 == 0 && lanes == 16) {
      const __m512i halves =
          _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
      const __m512i others = _mm512_or_si512(halves, _mm512_set1_epi32(1));
      const __m512i front =
          _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
      const __m512i back = _mm512_or_si512(front, _mm512_set1_epi32(8));
      const auto permute = [&](const __m512i& first, const __m512i& second) TYPEFLOW_INLINE_LAMBDA {
        unrolled<V / 2>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          const __m512 x0 = sum[2 * v];
          const __m512 x1 = sum[2 * v + 1];
          sum[2 * v] = B(_mm512_permutex2var_ps(x0, first, x1));
          sum[2 * v + 1] = B(_mm512_permutex2var_ps(x0, second, x1));
        });
      };
      if (go_on) permute(halves, others);
      const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
      for (std::int64_t k = 0; k < depth; ++k, m += pitch) {
        const B left(x[k]);
        unrolled<V / 2>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          const __m512i words = _mm512_loadu_si512(m + 2 * v * lanes);
          const B even(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)));
          const B odd(_mm512_castsi512_ps(_mm512_and_si512(words, high)));
          sum[2 * v] = cpu_kernels::fma(left, even, sum[2 * v]);
          sum[2 * v + 1] = cpu_kernels::fma(left, odd, sum[2 * v + 1]);
        });
      }
      permute(front, back);
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[v].store_unaligned(out + v * lanes); });
      return;
    }
#endif
    for (std::int64_t k = 0; k < depth; ++k, m += pitch) {
      const B left(x[k]);
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[v] = cpu_kernels::fma(left, L::load(m + v * lanes), sum[v]);
      });
    }
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[v].store_unaligned(out + v * lanes); });
  }

  /// The sums of W rows. Some steps are transposed at a time.
  [[gnu::noinline, gnu::flatten]] static void add_rows(const float* x, const Bits* m,
                                                       std::int64_t pitch, std::int64_t depth,
                                                       float* sums, bool go_on) {
    B low = go_on ? B::load_aligned(sums) : B(0.0f);
    B high = go_on ? B::load_aligned(sums + lanes) : B(0.0f);
    std::int64_t k = 0;
    for (; k + Blocks::N <= depth; k += Blocks::N) {
      if (k % line == 0) {
        unrolled<W>([&](auto i) TYPEFLOW_INLINE_LAMBDA { prefetch(m + i * pitch + k, 8 * line); });
      }
      const auto steps = Blocks::template load<WideRegister<Bits>>(m + k, pitch);
      unrolled<Blocks::N>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const auto step = std::bit_cast<Vector<Bits, W>>(steps.of[i].v);
        const B factor(x[k + i]);
        low = cpu_kernels::fma(factor, half<0>(step), low);
        high = cpu_kernels::fma(factor, half<lanes>(step), high);
      });
    }
    for (; k < depth; ++k) {
      Vector<Bits, W> step;
      for (int i = 0; i < W; ++i) step.v[i] = m[i * pitch + k];
      const B factor(x[k]);
      low = cpu_kernels::fma(factor, half<0>(step), low);
      high = cpu_kernels::fma(factor, half<lanes>(step), high);
    }
    low.store_aligned(sums);
    high.store_aligned(sums + lanes);
  }
  /// The sums of `rows` rows, which are copied some lines at a time, with zeros for missing ones.
  static void add_copied_rows(const float* x, const Bits* m, std::int64_t pitch, std::int64_t depth,
                              std::int64_t rows, float* sums, bool go_on) {
    constexpr std::int64_t most = 2 * line;
    alignas(64) Bits copy[W * most] = {};
    for (std::int64_t k = 0; k < depth || k == 0; k += most) {
      const std::int64_t steps = std::min(most, depth - k);
      for (std::int64_t i = 0; i < rows; ++i) {
        const Bits* const from = m + i * pitch + k;
        prefetch(from, 4 * most);
        prefetch(from, 4 * most + line);
        if (steps == most) {
          std::memcpy(copy + i * most, from, most * sizeof(Bits));
        } else {
          std::copy(from, from + steps, copy + i * most);
        }
      }
      add_rows(x + k, copy, most, steps, sums, go_on || k > 0);
    }
  }
  /// The numbers from number First on.
  template <int First>
  TYPEFLOW_INLINE static B half(const Vector<Bits, W>& bits) {
    return std::bit_cast<B>(
        widened<X>(part<First>(bits, std::make_integer_sequence<int, lanes>{})));
  }
  template <int First, int... I>
  TYPEFLOW_INLINE static Vector<Bits, lanes> part(const Vector<Bits, W>& bits,
                                                  std::integer_sequence<int, I...>) {
#ifndef __CUDACC__  // nvcc loses the pack in what it hands to the host compiler
    return Vector<Bits, lanes>::of(__builtin_shufflevector(bits.v, bits.v, (First + I)...));
#else
    Vector<Bits, lanes> some;
    ((some.v[I] = bits.v[First + I]), ...);
    return some;
#endif
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
