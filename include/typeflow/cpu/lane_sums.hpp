// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sums of the lanes of many registers at once, for AVX-512.

#include <type_traits>

#include "typeflow/cpu/unrolled.hpp"
#include "typeflow/cpu/vectors.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512F__)

/// The sums of the lanes of each of 16 registers of float or int32, in their order. Lanes are added
/// in pairs, and their sums again, always the same ones.
template <class T>
TYPEFLOW_INLINE Vector<T, 16> lane_sums(const Vector<T, 16> (&x)[16]) {
  using V = Vector<T, 16>;
  static_assert(sizeof(V) == sizeof(__m512));
  const auto sum = [](const __m512& a, const __m512& b) TYPEFLOW_INLINE_LAMBDA {
    if constexpr (std::is_same_v<T, float>) {
      return _mm512_add_ps(a, b);
    } else {
      return (__m512)_mm512_add_epi32((__m512i)a, (__m512i)b);
    }
  };
  const auto halves = [&](const V& v, const V& w) TYPEFLOW_INLINE_LAMBDA {
    const auto a = (__m512)v.v;
    const auto b = (__m512)w.v;
    return (__m512d)sum(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  };
  const auto quarters = [&](const __m512d& a, const __m512d& b) TYPEFLOW_INLINE_LAMBDA {
    return sum((__m512)_mm512_unpacklo_pd(a, b), (__m512)_mm512_unpackhi_pd(a, b));
  };
  const auto fours = [&](const __m512& a, const __m512& b) TYPEFLOW_INLINE_LAMBDA {
    return sum(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
  };
  __m512 four[4];
  unrolled<4>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
    four[i] = quarters(halves(x[4 * i], x[4 * i + 1]), halves(x[4 * i + 2], x[4 * i + 3]));
  });
  return V::of((typename V::V)fours(fours(four[0], four[1]), fours(four[2], four[3])));
}

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
