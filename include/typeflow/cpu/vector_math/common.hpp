// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of vector functions: polynomials, powers of two, exponents and signs of batches.
//
// No lane reads another one, and cpu_kernels::fma is the only fused multiply-add. So an element has
// the same bits anywhere in a batch, and in batches of any size. Products that must be exact for
// accuracy are exact without fused multiply-adds, too: constants that are multiplied by a whole
// number end with as many zero bits.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/lanes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The layout of IEEE 754's numbers.
template <class T>
struct Format {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  static constexpr Bits bias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr int width = 8 * static_cast<int>(sizeof(T));
  /// 1.5 * 2^mantissa. Adding it to a number below 2^(mantissa - 2) rounds that to a whole number,
  /// whose two's complement is then in the lower bits of the sum.
  static constexpr T rounder = static_cast<T>(Bits{3} << (mantissa - 1));
};

/// Whether cpu_kernels::fma is known to round once. (Without it, products are split.)
template <class A>
inline constexpr bool fma_rounds_once =
    std::is_base_of_v<xsimd::avx512f, A> || std::is_same_v<A, xsimd::fma3<xsimd::avx2>> ||
    std::is_same_v<A, xsimd::fma3<xsimd::avx>> || std::is_same_v<A, xsimd::fma3<xsimd::sse4_2>>;

/// a * b - c, rounded as fma(a, b, -c).
template <class T, class A>
TYPEFLOW_INLINE xsimd::batch<T, A> fms(const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b,
                                       const xsimd::batch<T, A>& c) {
#if defined(__AVX512F__)
  if constexpr (std::is_base_of_v<xsimd::avx512f, A> && std::is_same_v<T, float>) {
    return _mm512_fmsub_ps(a, b, c);
  } else if constexpr (std::is_base_of_v<xsimd::avx512f, A> && std::is_same_v<T, double>) {
    return _mm512_fmsub_pd(a, b, c);
  } else {
    return xsimd::fms(a, b, c);
  }
#else
  return xsimd::fms(a, b, c);
#endif
}

template <class T, class A>
struct VectorBase {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  using F = Format<T>;
  using V = xsimd::batch<T, A>;
  using U = xsimd::batch<typename F::Bits, A>;

  static constexpr T infinity = std::numeric_limits<T>::infinity();

  TYPEFLOW_INLINE static U bits(const V& x) { return xsimd::bitwise_cast<U>(x); }
  TYPEFLOW_INLINE static V number(const U& x) { return xsimd::bitwise_cast<V>(x); }

  /// a[0] x^(N-1) + ... + a[N-1].
  template <std::size_t N>
  TYPEFLOW_INLINE static V polynomial(const V& x, const T (&a)[N]) {
    V y = cpu_kernels::fma(V(a[0]), x, V(a[1]));
    for (std::size_t i = 2; i < N; ++i) y = cpu_kernels::fma(y, x, V(a[i]));
    return y;
  }

  /// The same, but high powers in two chains, of even and of odd ones, which a processor computes
  /// side by side. The four lowest follow in order, because they decide the rounding errors.
  template <std::size_t N>
  TYPEFLOW_INLINE static V long_polynomial(const V& x, const T (&a)[N]) {
    constexpr std::size_t high = N - 4;
    const V square = x * x;
    const V first = every_second<0>(square, a, std::make_index_sequence<(high - 1) / 2>{});
    const V second = every_second<1>(square, a, std::make_index_sequence<high / 2 - 1>{});
    V y = high % 2 == 0 ? cpu_kernels::fma(first, x, second) : cpu_kernels::fma(second, x, first);
    for (std::size_t i = high; i < N; ++i) y = cpu_kernels::fma(y, x, V(a[i]));
    return y;
  }

  /// An unevaluated sum of two numbers, the second much smaller than the first.
  struct Sum {
    V high;
    V low;
  };
  /// a + b without error, for |a| >= |b| or a = 0.
  TYPEFLOW_INLINE static Sum exact_sum(const V& a, const V& b) {
    const V high = a + b;
    return {high, b - (high - a)};
  }
  /// a b without error, unless a part of it overflows or is subnormal. Without fused multiply-adds
  /// by halves (T. J. Dekker, A floating-point technique for extending the available precision,
  /// 1971).
  TYPEFLOW_INLINE static Sum exact_product(const V& a, const V& b) {
    const V high = a * b;
    if constexpr (fma_rounds_once<A>) {
      return {high, cpu_kernels::fms(a, b, high)};
    } else {
      const Sum x = halves(a);
      const Sum y = halves(b);
      return {high, ((x.high * y.high - high) + x.high * y.low + x.low * y.high) + x.low * y.low};
    }
  }

  /// NaN stays NaN: x86's instructions then return their second operand, here x; others return NaN.
  TYPEFLOW_INLINE static V at_most(const V& x, T limit) { return xsimd::min(V(limit), x); }
  TYPEFLOW_INLINE static V at_least(const V& x, T limit) { return xsimd::max(V(limit), x); }

  TYPEFLOW_INLINE static V sign_of(const V& x) { return x & V(T(-0.0)); }
  TYPEFLOW_INLINE static V magnitude(const V& x) { return xsimd::abs(x); }

  TYPEFLOW_INLINE static V neg(const V& x) { return x ^ V(T(-0.0)); }
  TYPEFLOW_INLINE static V floor(const V& x) { return xsimd::floor(x) | sign_of(x); }
  TYPEFLOW_INLINE static V ceil(const V& x) { return xsimd::ceil(x) | sign_of(x); }

  /// 2^n, which must be a normal number, for t = n + rounder.
  TYPEFLOW_INLINE static V power_of_two(const V& t) {
    return number((bits(t) << F::mantissa) + U(F::bias << F::mantissa));
  }
  /// x 2^n, rounded once if it is too small for a normal number. |n| <= 2 bias, x in [1/2, 2].
  TYPEFLOW_INLINE static V scaled(const V& x, const V& n, const V& t) {
#if defined(__AVX512F__)
    if constexpr (std::is_base_of_v<xsimd::avx512f, A>) {
      if constexpr (std::is_same_v<T, float>) {
        return _mm512_scalef_ps(x, n);
      } else {
        return _mm512_scalef_pd(x, n);
      }
    } else {
      return scaled_in_two(x, t);
    }
#else
    static_cast<void>(n);
    return scaled_in_two(x, t);
#endif
  }

  /// F of each half of a batch of floats in double, rounded to float. F takes a batch of doubles.
  template <auto F>
  TYPEFLOW_INLINE static V in_double(const V& x) {
    using D = xsimd::batch<double, A>;
#if defined(__AVX512F__)
    if constexpr (std::is_base_of_v<xsimd::avx512f, A>) {
      const __m512d both = _mm512_castps_pd(x);
      const __m256 low = _mm256_castpd_ps(_mm512_castpd512_pd256(both));
      const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(both, 1));
      const __m256 first = _mm512_cvtpd_ps(F(_mm512_cvtps_pd(low)));
      const __m256 second = _mm512_cvtpd_ps(F(_mm512_cvtps_pd(high)));
      return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(first)),
                                                 _mm256_castps_pd(second), 1));
    }
#endif
    alignas(64) float all[V::size];
    x.store_aligned(all);
    for (std::size_t i = 0; i < V::size; i += D::size) {
      alignas(64) double some[D::size];
      for (std::size_t k = 0; k < D::size; ++k) some[k] = double{all[i + k]};
      F(D::load_aligned(some)).store_aligned(some);
      for (std::size_t k = 0; k < D::size; ++k) all[i + k] = static_cast<float>(some[k]);
    }
    return V::load_aligned(all);
  }

 private:
  /// A fold, not a loop, which g++ does not unroll if it is long.
  template <std::size_t First, std::size_t N, std::size_t... I>
  TYPEFLOW_INLINE static V every_second(const V& square, const T (&a)[N],
                                        std::index_sequence<I...>) {
    V y(a[First]);
    ((y = cpu_kernels::fma(y, square, V(a[First + 2 + 2 * I]))), ...);
    return y;
  }
  TYPEFLOW_INLINE static Sum halves(const V& x) {
    constexpr auto shift = typename F::Bits{1} << (F::mantissa / 2 + 1);
    const V shifted = x * V(static_cast<T>(shift + 1));
    const V high = shifted - (shifted - x);
    return {high, x - high};
  }
  TYPEFLOW_INLINE static V scaled_in_two(const V& x, const V& t) {
    const U biased = bits(t) - bits(V(F::rounder)) + U(2 * F::bias);  // n + 2 bias >= 0
    const U half = biased >> 1;
    return x * number(half << F::mantissa) * number((biased - half) << F::mantissa);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
