// SPDX-License-Identifier: Apache-2.0
#pragma once

// The logarithm of |gamma| of batches of floats, computed in double.
//
// From 8 on it is Stirling's series. Below, gamma(x + 1) = x gamma(x) leads to an argument y in
// [1, 2], where log gamma(y) = (y - 1)(y - 2) r(y), so that results near the zeros 1 and 2 are as
// precise as others. Below 0: gamma(x) gamma(1 - x) = pi / sin(pi x).

#include <type_traits>

#include "typeflow/cpu/vector_math/logarithm.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

struct LogGammaConstants {
  /// r(3/2 + t): Chebyshev, 5e-18
  static constexpr double ratio[] = {
      1.1820969445467145e-5, -1.8527803997032961e-5, 1.3584275459130942e-5, -2.1487702520625763e-5,
      4.2816428627947792e-5, -6.7937330273970465e-5, 1.0541715222185905e-4, -1.6857179450351722e-4,
      2.7130273545114008e-4, -4.3803516132580536e-4, 7.1152027520512986e-4, -1.164411377219605e-3,
      1.9229162321227923e-3, -3.2120742206072907e-3, 5.4464578422195529e-3, -9.425622444829649e-3,
      1.679709863121395e-2,  -3.1308487501053272e-2, 6.2911401074564846e-2, -1.4595989591430594e-1,
      4.8312895054098089e-1};
  /// Bernoulli number 2 k / (2 k (2 k - 1)), k from 8 to 1
  static constexpr double stirling[] = {
      -2.9550653594771242e-2, 6.4102564102564103e-3, -1.9175269175269175e-3, 8.4175084175084175e-4,
      -5.9523809523809524e-4, 7.9365079365079365e-4, -2.7777777777777778e-3, 8.3333333333333333e-2};
  static constexpr double half_log_two_pi = 0.91893853320467274178;
  /// sin(pi r) / (pi r) in r^2, |r| <= 1/2: Taylor, 3e-17
  static constexpr double sine[] = {-7.3047118222177748e-9, 2.5312174041370277e-7,
                                    -6.9758736616563805e-6, 1.48428793033071e-4,
                                    -2.3460810354558236e-3, 2.6147847817654801e-2,
                                    -1.9075182412208421e-1, 8.1174242528335364e-1,
                                    -1.6449340668482264,    1.0};
};

template <class T, class A>
struct LogGamma : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using typename Base::V;

  /// `one` computes it of a double; for doubles it is called for each lane.
  TYPEFLOW_INLINE static V log_gamma(const V& x, double (*one)(double)) {
    if constexpr (std::is_same_v<T, float>) {
      return in_double(x);
    } else {
      alignas(64) double all[V::size];
      x.store_aligned(all);
      for (double& e : all) e = one(e);
      return V::load_aligned(all);
    }
  }

  /// Of numbers that floats can hold.
  [[gnu::noinline]] static V of_float(const V& x) {
    const V zero(T(0));
    const V one(T(1));
    const auto negative = x < zero;
    V y = of_positive(select(negative, one - x, x));
    if (xsimd::any(negative)) {
      const V r = x - xsimd::floor(x + V(T(0.5)));
      const V sine = Base::magnitude(r) * Base::polynomial(r * r, C::sine);  // sin(pi x) / pi
      y = select(negative, Base::neg(Logs::log(sine)) - y, y);
    }
    const V any = select(Base::magnitude(x) == V(Base::infinity), V(Base::infinity), y);
    return select(x == x, any, x);
  }

 private:
  using C = LogGammaConstants;
  using Logs = Logarithms<T, A>;

  TYPEFLOW_INLINE static V of_positive(const V& x) {
    const V one(T(1));
    const V two(T(2));
    const auto large = x >= V(T(8));
    const auto below_one = x < one;
    V y = select(below_one, x + one, x);
    V product = select(below_one, x, one);  // gamma(x) = gamma(y) product, or / product below 1
    for (int i = 0; i < 6; ++i) {
      const auto above = (y >= two) & !large;
      if (!xsimd::any(above)) break;
      y = select(above, y - one, y);
      product = select(above, product * y, product);
    }
    const V log = Logs::log(select(large, x, product));
    V result = log;
    if (!xsimd::all(large)) {
      const V ratio = Base::long_polynomial(y - V(T(1.5)), C::ratio);
      const V rest = select(below_one, Base::neg(log), log);
      result = cpu_kernels::fma((y - one) * (y - two), ratio, rest);
    }
    if (xsimd::any(large)) {
      const V inverse = one / x;
      const V series = inverse * Base::polynomial(inverse * inverse, C::stirling);
      const V far =
          cpu_kernels::fma(x - V(T(0.5)), log, Base::neg(x)) + (V(C::half_log_two_pi) + series);
      result = select(large, far, result);
    }
    return result;
  }

  TYPEFLOW_INLINE static V in_double(const V& x) {
    using G = LogGamma<double, A>;
    using D = typename G::V;
#if defined(__AVX512F__)
    if constexpr (std::is_base_of_v<xsimd::avx512f, A>) {
      const __m512d both = _mm512_castps_pd(x);
      const __m256 low = _mm256_castpd_ps(_mm512_castpd512_pd256(both));
      const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(both, 1));
      const __m256 first = _mm512_cvtpd_ps(G::of_float(_mm512_cvtps_pd(low)));
      const __m256 second = _mm512_cvtpd_ps(G::of_float(_mm512_cvtps_pd(high)));
      return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(first)),
                                                 _mm256_castps_pd(second), 1));
    }
#endif
    alignas(64) float all[V::size];
    x.store_aligned(all);
    for (std::size_t i = 0; i < V::size; i += D::size) {
      alignas(64) double some[D::size];
      for (std::size_t k = 0; k < D::size; ++k) some[k] = double{all[i + k]};
      G::of_float(D::load_aligned(some)).store_aligned(some);
      for (std::size_t k = 0; k < D::size; ++k) all[i + k] = static_cast<float>(some[k]);
    }
    return V::load_aligned(all);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
