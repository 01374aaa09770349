// SPDX-License-Identifier: Apache-2.0
#pragma once

// argmax and argmin over short rows of 1 or 2-byte elements, in registers full of them. Positions
// have the width of the elements, which is enough: a short row has at most 32.
//
// 16-bit floating-point numbers are compared as integers in the numbers' order. Both zeros are one
// integer, and NaN is an integer that never wins.

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "typeflow/cpu/folds.hpp"
#include "typeflow/cpu/narrow_lanes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A lane for each row. So lanes are never merged.
template <int Bytes, class A, ArgFold O, class T>
struct FoldState<NarrowLanes<Bytes, A>, O, T> {
  using L = NarrowLanes<Bytes, A>;
  using Element = typename L::template Stored<T>;
  using V = typename L::template of<T>;
  using Positions = typename L::Mask;
  using Extreme = typename O::extreme;
  static constexpr bool is_max = std::is_same_v<Extreme, ops::Max>;
  /// An element that is never taken.
  static constexpr Element worst = Extreme::template identity<Element>();

  V best;
  Positions place;  ///< the first element's where none was taken

  TYPEFLOW_INLINE void reset() {
    best = V(worst);
    place = Positions(0);
  }
  TYPEFLOW_INLINE void step(const V& element, std::int64_t at) {
    const V x = key(element);
    place = placed(x, Positions(static_cast<typename L::Carrier>(at)));
    best = call_integers(Extreme{}, best, x);
  }
  /// By parts of the vectors that kernels store, as compilers have no code for wider ones.
  TYPEFLOW_INLINE Vector<std::int32_t, L::size> result() const {
    constexpr int part = L::size * Bytes / 4;
    Vector<std::int32_t, L::size> r;
    const auto* from = reinterpret_cast<const char*>(&place.v);
    auto* to = reinterpret_cast<char*>(&r.v);
    for (int k = 0; k < 4 / Bytes; ++k) {
      Vector<typename L::Carrier, part> x;
      std::memcpy(&x.v, from + k * static_cast<int>(sizeof x.v), sizeof x.v);
      const auto y = resized<std::int32_t>(x);
      std::memcpy(to + k * static_cast<int>(sizeof y.v), &y.v, sizeof y.v);
    }
    return r;
  }

 private:
  TYPEFLOW_INLINE static V key(const V& x) {
    if constexpr (detail::is_half<T>) {
      const V magnitude = x & V(std::int16_t{0x7FFF});
      const V sign = x >> 15;
      const V infinity(static_cast<std::int16_t>(std::numeric_limits<T>::infinity().bits));
      return select(infinity < magnitude, V(worst), (magnitude ^ sign) - sign);
    } else {
      return x;
    }
  }
  /// `at` where x is better than the best.
  TYPEFLOW_INLINE Positions placed(const V& x, const Positions& at) const {
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64) {  // g++ 12 makes vectors of comparisons' masks
      constexpr int better = is_max ? _MM_CMPINT_NLE : _MM_CMPINT_LT;
      const __m512i a = (__m512i)x.v;
      const __m512i b = (__m512i)best.v;
      const __m512i old = (__m512i)place.v;
      const __m512i now = (__m512i)at.v;
      using P = typename Positions::V;
      if constexpr (Bytes == 1) {
        const __mmask64 where = std::is_signed_v<Element> ? _mm512_cmp_epi8_mask(a, b, better)
                                                          : _mm512_cmp_epu8_mask(a, b, better);
        return Positions::of((P)_mm512_mask_mov_epi8(old, where, now));
      } else {
        const __mmask32 where = std::is_signed_v<Element> ? _mm512_cmp_epi16_mask(a, b, better)
                                                          : _mm512_cmp_epu16_mask(a, b, better);
        return Positions::of((P)_mm512_mask_mov_epi16(old, where, now));
      }
    }
#endif
    return select(is_max ? best < x : x < best, at, place);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
