// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices whose elements are numbers of bfloat16, by AVX512-BF16. The operands come as
// bfloat16, or as float. They are packed as pairs of two steps of the depth; an instruction
// multiplies 16 pairs and adds both products to sums of float (packed_products.hpp).
//
// The instruction takes denormal operands for zeros, and flushes denormal sums. Elsewhere, and for
// small products, ProductLoops multiply the same operands as float.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/core/half.hpp"
#include "typeflow/cpu/packed_products.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512BF16__) && defined(__AVX512F__)

/// Words of operands that come as float.
struct PairsOfFloats {
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
      const __m512i high = rows == 2
                               ? _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from + pitch + j))
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

/// Words of operands of bfloat16, which are moved alone.
struct PairsOfBFloat16 {
  using Element = bfloat16;
  static void join(const bfloat16* from, std::int64_t count, Word* to) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *from);
    if (count % 2 != 0) {
      const bfloat16 last[2] = {from[count - 1], bfloat16::from_bits(0)};
      std::memcpy(to + count / 2, last, sizeof last);
    }
  }
  static void zip(const bfloat16* from, std::int64_t pitch, int rows, std::int64_t count,
                  Word* to) {
    std::int64_t j = 0;
    for (; j + 16 <= count; j += 16) {
      const __m512i low = words_at(from + j);
      const __m512i high = rows == 2 ? words_at(from + pitch + j) : _mm512_setzero_si512();
      _mm512_storeu_si512(to + j, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
    for (; j < count; ++j) {
      const bfloat16 pair[2] = {from[j], rows == 2 ? from[pitch + j] : bfloat16::from_bits(0)};
      std::memcpy(to + j, pair, sizeof pair);
    }
  }

 private:
  static __m512i words_at(const bfloat16* from) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
};

/// Products of operands A and B, float or bfloat16, for an instruction set whose vectors are of 64
/// bytes.
template <class A, class B, class Isa>
struct BFloat16Pairs {
  using Arch = Isa;
  using Sum = float;
  static constexpr int group = 2;
  static constexpr bool has_starts = false;
  using Sums = Vector<float, 16>;
  using Words = Vector<std::uint32_t, 16>;
  static_assert(TileShape<float, Isa>::lanes == 16);

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

  template <class T>
  using Packing = std::conditional_t<std::is_same_v<T, bfloat16>, PairsOfBFloat16, PairsOfFloats>;
  using Left = Packing<A>;
  using Right = Packing<B>;
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
