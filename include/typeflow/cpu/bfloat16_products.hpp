// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices whose elements are numbers of bfloat16, by AVX512-BF16. The operands come as
// float. They are packed as pairs of two steps of the depth; an instruction multiplies 16 pairs and
// adds both products to sums of float (packed_products.hpp).
//
// The instruction takes denormal operands for zeros, and flushes denormal sums. Elsewhere, and for
// small products, ProductLoops multiply the same operands as float.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "typeflow/cpu/packed_products.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512BF16__) && defined(__AVX512F__)

/// For an instruction set whose vectors are of 64 bytes.
template <class A>
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
    return extents[Extents::rows] >= 32 && extents[Extents::columns] >= 32 &&
           extents[Extents::depth] >= 32;
  }

  TYPEFLOW_INLINE static Sums add(const Sums& sum, const Words& left, const Words& right) {
    return Sums::of((typename Sums::V)_mm512_dpbf16_ps(
        (__m512)sum.v, std::bit_cast<__m512bh>(left.v), std::bit_cast<__m512bh>(right.v)));
  }

  struct Left {
    using Element = float;
    static void join(const float* from, std::int64_t count, Word* to) {
      for (std::int64_t k = 0; k < count; k += 32) {
        const std::int64_t left = count - k;
        const __m512 low = _mm512_maskz_loadu_ps(lanes_of(left), from + k);
        const __m512 high = left > 16 ? _mm512_maskz_loadu_ps(lanes_of(left - 16), from + k + 16)
                                      : _mm512_setzero_ps();
        const auto both = std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
        _mm512_mask_storeu_epi32(to + k / 2, lanes_of((left + 1) / 2), both);
      }
    }
    static void zip(const float* from, std::int64_t pitch, int rows, std::int64_t count, Word* to) {
      for (std::int64_t j = 0; j < count; j += 16) {
        const __mmask16 lanes = lanes_of(count - j);
        const __m512i low = _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from + j));
        const __m512i high =
            rows == 2 ? _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from + pitch + j))
                      : _mm512_setzero_si512();
        // Operands are numbers of bfloat16, so their last 16 bits are zeros.
        _mm512_mask_storeu_epi32(to + j, lanes, _mm512_or_si512(_mm512_srli_epi32(low, 16), high));
      }
    }

   private:
    static __mmask16 lanes_of(std::int64_t count) {
      return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(count, 0, 16)) - 1u);
    }
  };
  using Right = Left;
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
