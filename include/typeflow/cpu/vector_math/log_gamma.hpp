// SPDX-License-Identifier: Apache-2.0
#pragma once

// The logarithm of |gamma| of batches. Floats are computed in double. Doubles below 0 are computed
// one by one, because the logarithm has a zero between -3 and -2 and near every lower integer.
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

  /// `one` computes it of a double below 0.
  TYPEFLOW_INLINE static V log_gamma(const V& x, double (*one)(double)) {
    if constexpr (std::is_same_v<T, float>) {
      return Base::template in_double<&LogGamma<double, A>::of_float>(x);
    } else {
      return of_double(x, one);
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

  [[gnu::noinline]] static V of_double(const V& x, double (*one)(double)) {
    const auto negative = x < V(T(0));
    V y = of_positive(Base::magnitude(x));
    if (xsimd::any(negative)) {
      alignas(64) double from[V::size];
      alignas(64) double to[V::size];
      x.store_aligned(from);
      y.store_aligned(to);
      for (std::size_t i = 0; i < V::size; ++i) {
        if (from[i] < 0) to[i] = one(from[i]);
      }
      y = V::load_aligned(to);
    }
    const V any = select(Base::magnitude(x) == V(Base::infinity), V(Base::infinity), y);
    return select(x == x, any, x);
  }

  TYPEFLOW_INLINE static V of_positive(const V& x) {
    const V one(T(1));
    const auto large = x >= V(T(8));
    const auto below_one = x < one;
    V rest = select(below_one, x, x - one);  // y - 1, which has all its digits near 0 and 1
    V product = select(below_one, x, one);   // gamma(x) = gamma(y) product, or / product below 1
    for (int i = 0; i < 6; ++i) {
      const auto above = (rest >= one) & !large;
      if (!xsimd::any(above)) break;
      product = select(above, product * rest, product);
      rest = select(above, rest - one, rest);
    }
    const V log = Logs::log(select(large, x, product));
    V result = log;
    if (!xsimd::all(large)) {
      const V ratio = Base::long_polynomial(rest - V(T(0.5)), C::ratio);
      const V of_product = select(below_one, Base::neg(log), log);
      result = cpu_kernels::fma(rest * (rest - one), ratio, of_product);
    }
    if (xsimd::any(large)) {
      const V inverse = one / x;
      const V series = inverse * Base::polynomial(inverse * inverse, C::stirling);
      // Halves, because x log x may be infinite where the result is not.
      const V half = V(T(0.5)) * x;
      const V main = cpu_kernels::fma(half - V(T(0.25)), log, Base::neg(half));
      const V far = (main + main) + (V(C::half_log_two_pi) + series);
      result = select(large, far, result);
    }
    return result;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
