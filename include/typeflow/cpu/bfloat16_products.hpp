// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices whose elements are numbers of bfloat16, by AVX512-BF16. An operand comes as
// bfloat16, or as float with the last 16 bits zero. They are packed as pairs of two steps of the
// depth; an instruction multiplies 16 pairs and adds both products to sums of float
// (packed_products.hpp).
//
// The instruction takes denormal operands for zeros, and flushes denormal sums. Elsewhere, and for
// small products, ProductLoops multiply the same operands as float.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/core/dtype.hpp"
#include "typeflow/cpu/lane_sums.hpp"
#include "typeflow/cpu/packed_products.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512BF16__) && defined(__AVX512F__)

/// Packing of elements T, float or bfloat16.
template <class T>
struct BFloat16Packing {
  using Element = T;
  static constexpr bool joins_bits = std::is_same_v<T, bfloat16>;

  static void join(const T* from, std::int64_t count, Word* to) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
      if (count % 2 != 0) {
        std::memset(reinterpret_cast<char*>(to) + count * 2, 0, sizeof(T));
      }
    } else {
      std::int64_t k = 0;
      for (; k + 32 <= count; k += 32) {
        const __m512 low = _mm512_loadu_ps(from + k);
        const __m512 high = _mm512_loadu_ps(from + k + 16);
        _mm512_storeu_si512(to + k / 2, std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
      }
      if (k == count) return;
      const std::int64_t left = count - k;
      const __m512 low = _mm512_maskz_loadu_ps(lanes_of(left), from + k);
      const __m512 high = left > 16 ? _mm512_maskz_loadu_ps(lanes_of(left - 16), from + k + 16)
                                    : _mm512_setzero_ps();
      const auto both = std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
      _mm512_mask_storeu_epi32(to + k / 2, lanes_of((left + 1) / 2), both);
    }
  }
  static void zip(const T* from, std::int64_t pitch, int rows, std::int64_t count, Word* to) {
    const auto pairs = [&](std::int64_t j, __mmask16 lanes) TYPEFLOW_INLINE_LAMBDA {
      const __m512i low = halves(from + j, lanes);
      const __m512i high = rows == 2 ? halves(from + pitch + j, lanes) : _mm512_setzero_si512();
      return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    };
    std::int64_t j = 0;
    for (; j + 16 <= count; j += 16) _mm512_storeu_si512(to + j, pairs(j, lanes_of(16)));
    if (j == count) return;  // a masked store costs many
    const __mmask16 lanes = lanes_of(count - j);
    _mm512_mask_storeu_epi32(to + j, lanes, pairs(j, lanes));
  }

 private:
  static __mmask16 lanes_of(std::int64_t count) {
    return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(count, 0, 16)) - 1u);
  }
  /// The bits of numbers of bfloat16, as words.
  static __m512i halves(const T* from, __mmask16 lanes) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from));
    } else {
      return _mm512_srli_epi32(_mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from)), 16);
    }
  }
};

/// Products of X, a's elements, and Y, b's, for an instruction set whose vectors are of 64 bytes.
template <class X, class Y, class A>
struct BFloat16Pairs {
  using Arch = A;
  using Sum = float;
  static constexpr int group = 2;
  static constexpr bool has_starts = false;
  using Sums = Vector<float, 16>;
  using Words = Vector<std::uint32_t, 16>;
  static_assert(TileShape<float, A>::lanes == 16);

  /// Whether the product is large enough that packing pays.
  static bool fits(const std::int64_t* extents) {
    using Extents = ir::ContractionExtents;
    const std::int64_t rows = extents[Extents::rows];
    const std::int64_t columns = extents[Extents::columns];
    return rows >= 2 && columns >= 2 && extents[Extents::depth] >= 2 &&
           checked_product(rows, columns) >= 64;
  }

  TYPEFLOW_INLINE static Sums add(const Sums& sum, const Words& left, const Words& right) {
    return Sums::of((typename Sums::V)_mm512_dpbf16_ps(
        (__m512)sum.v, std::bit_cast<__m512bh>(left.v), std::bit_cast<__m512bh>(right.v)));
  }

  using Left = BFloat16Packing<X>;
  using Right = BFloat16Packing<Y>;
};

/// Products of a matrix and a vector, both of bfloat16, where a matrix's rows lie along the depth.
/// Each of 16 lanes adds the pairs at its places. A row's sum does not depend on the other rows.
class BFloat16Dots {
  using Sums = Vector<float, 16>;
  static constexpr int together = 16;  ///< rows, so that a sum is there before its next products
  static constexpr std::int64_t steps = 32;  ///< of a vector
  static constexpr std::int64_t ahead = 8 * steps;

 public:
  /// See Widening::dots.
  static void run(const void* vector, std::int64_t x_step, const void* matrix, std::int64_t m_step,
                  std::int64_t pitch, std::int64_t depth, std::int64_t count, float* out) {
    const auto* const x = static_cast<const bfloat16*>(vector);
    const auto* m = static_cast<const bfloat16*>(matrix);
    for (; count >= together; count -= together, m += together * pitch, out += together) {
      _mm512_storeu_ps(out, rows<together>(x, x_step, m, m_step, pitch, depth));
    }
    for (; count > 0; --count, m += pitch, ++out) {
      *out = _mm512_cvtss_f32(rows<1>(x, x_step, m, m_step, pitch, depth));
    }
  }

 private:
  /// The sums of the first `Rows` rows, in as many lanes.
  template <int Rows>
  [[gnu::noinline]] static __m512 rows(const bfloat16* x, std::int64_t x_step, const bfloat16* m,
                                       std::int64_t m_step, std::int64_t pitch,
                                       std::int64_t depth) {
    Sums sum[together];
    unrolled<together>([&](auto i) TYPEFLOW_INLINE_LAMBDA { sum[i] = Sums(0.0f); });
    const auto add = [&](std::int64_t k, const auto& load) TYPEFLOW_INLINE_LAMBDA {
      const __m512bh factor = load(x + k * x_step, x_step);
      unrolled<Rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const bfloat16* const at = m + i * pitch + k * (Rows == 1 ? m_step : 1);
        prefetch_to_second(at, ahead);
        const __m512bh row = load(at, Rows == 1 ? m_step : 1);
        sum[i] = Sums::of((Sums::V)_mm512_dpbf16_ps((__m512)sum[i].v, row, factor));
      });
    };
    std::int64_t k = 0;
    for (; k + steps <= depth; k += steps) {
      add(k, [](const bfloat16* at, std::int64_t step) TYPEFLOW_INLINE_LAMBDA {
        return step == 1 ? std::bit_cast<__m512bh>(_mm512_loadu_si512(at))
                         : gathered(at, step, steps);
      });
    }
    if (k < depth) {
      const auto lanes = static_cast<__mmask32>((1u << (depth - k)) - 1u);
      add(k, [&](const bfloat16* at, std::int64_t step) TYPEFLOW_INLINE_LAMBDA {
        return step == 1 ? std::bit_cast<__m512bh>(_mm512_maskz_loadu_epi16(lanes, at))
                         : gathered(at, step, depth - k);
      });
    }
    return (__m512)lane_sums(sum).v;
  }
  /// `count` elements that lie `step` apart, with zeros behind them.
  [[gnu::noinline]] static __m512bh gathered(const bfloat16* from, std::int64_t step,
                                             std::int64_t count) {
    alignas(64) bfloat16 copy[steps] = {};
    for (std::int64_t k = 0; k < count; ++k) copy[k] = from[k * step];
    return std::bit_cast<__m512bh>(_mm512_load_si512(copy));
  }
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
