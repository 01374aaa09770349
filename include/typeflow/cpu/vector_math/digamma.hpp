// SPDX-License-Identifier: Apache-2.0
#pragma once

// digamma and trigamma of batches. Floats are computed in double.
//
// From 10 on both are asymptotic series (Abramowitz and Stegun, Handbook of mathematical functions,
// 6.3.18 and 6.4.12). Below, digamma(x + 1) = digamma(x) + 1 / x leads to an argument y in [1, 2],
// where digamma(y) = (y - root) r(y), so that results near the root are as precise as others;
// trigamma(x + 1) = trigamma(x) - 1 / x^2 leads to x + 10. Sums of such fractions are one fraction,
// which needs one division. Below 0 both are reflected: pi / tan(pi x) and (pi / sin(pi x))^2.

#include <limits>
#include <type_traits>

#include "typeflow/cpu/vector_math/log_gamma.hpp"
#include "typeflow/cpu/vector_math/trigonometry.hpp"
#include "typeflow/ops/elementwise/digamma_constants.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

struct DigammaConstants {
  static constexpr math::DigammaRatio ratio = math::digamma_ratio();
  /// Bernoulli number 2 k / (2 k), and Bernoulli number 2 k; k from 7 to 1
  static constexpr double series[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                      1.0 / 252, -1.0 / 120,     1.0 / 12};
  static constexpr double slope_series[] = {7.0 / 6,  -691.0 / 2730, 5.0 / 66, -1.0 / 30,
                                            1.0 / 42, -1.0 / 30,     1.0 / 6};
};

template <class T, class A>
struct DigammaFunctions : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using typename Base::V;

  TYPEFLOW_INLINE static V digamma(const V& x) {
    if constexpr (std::is_same_v<T, float>) {
      return Base::template in_double<&DigammaFunctions<double, A>::digamma_of_double>(x);
    } else {
      return digamma_of_double(x);
    }
  }
  TYPEFLOW_INLINE static V trigamma(const V& x) {
    if constexpr (std::is_same_v<T, float>) {
      return Base::template in_double<&DigammaFunctions<double, A>::trigamma_of_double>(x);
    } else {
      return trigamma_of_double(x);
    }
  }

  /// -infinity at 0, infinity at -0, NaN at negative integers.
  [[gnu::noinline]] static V digamma_of_double(const V& x) {
    const V one(T(1));
    const auto negative = x < V(T(0));
    V y = digamma_of_positive(select(negative, one - x, x));
    if (xsimd::any(negative)) {
      // The cotangent of pi r; near 1/2, where it is 0, by the tangent of the rest.
      const V r = from_nearest(x);
      const V other = V(T(0.5)) - Base::magnitude(r);
      const auto near_half = other < V(T(0.25));
      const V tangent = Trigonometry<T, A>::tan(V(T(pi)) * select(near_half, other, r));
      const V cotangent = select(near_half, tangent | Base::sign_of(r), one / tangent);
      const V reflected = y - V(T(pi)) * cotangent;
      const V defined = select(r == V(T(0)), V(std::numeric_limits<T>::quiet_NaN()), reflected);
      y = select(negative, defined, y);
    }
    return y;
  }
  /// Infinite at 0 and at negative integers.
  [[gnu::noinline]] static V trigamma_of_double(const V& x) {
    const V one(T(1));
    const auto negative = x < V(T(0));
    V y = trigamma_of_positive(select(negative, one - x, Base::magnitude(x)));
    if (xsimd::any(negative)) {
      const V r = from_nearest(x);
      const V sine = r * Base::polynomial(r * r, LogGammaConstants::sine);  // sin(pi x) / pi
      y = select(negative, one / (sine * sine) - y, y);
    }
    return y;
  }

 private:
  using C = DigammaConstants;
  static constexpr double pi = 3.14159265358979324;

  /// x less the nearest whole number; NaN for infinities.
  TYPEFLOW_INLINE static V from_nearest(const V& x) {
    constexpr T whole_or_half = T(0x1p51);  // adding 1/2 rounds from here on
    const V half = select(Base::magnitude(x) < V(whole_or_half), V(T(0.5)), V(T(0)));
    return x - xsimd::floor(x + half);
  }

  TYPEFLOW_INLINE static V digamma_of_positive(const V& x) {
    const V one(T(1));
    const auto large = x >= V(T(10));
    V result(T(0));
    if (!xsimd::all(large)) {
      // digamma(x) is digamma(1 + rest) + over / under.
      const auto below_one = x < one;
      V rest = select(below_one, x, x - one);
      V over = select(below_one, V(T(-1)), V(T(0)));
      V under = select(below_one, x, one);
      for (int i = 0; i < 8; ++i) {
        const auto above = (rest >= one) & !large;
        if (!xsimd::any(above)) break;
        over = select(above, cpu_kernels::fma(over, rest, under), over);
        under = select(above, under * rest, under);
        rest = select(above, rest - one, rest);
      }
      const V from_root = (rest - V(T(math::digamma_root))) - V(T(math::digamma_root_rest));
      result = cpu_kernels::fma(from_root, Base::long_polynomial(rest - V(T(0.5)), C::ratio.v),
                                over / under);
    }
    if (xsimd::any(large)) {
      const V inverse = one / x;
      const V square = inverse * inverse;
      const V rest =
          cpu_kernels::fma(square, Base::polynomial(square, C::series), V(T(0.5)) * inverse);
      result = select(large, Logarithms<T, A>::log(x) - rest, result);
    }
    return result;
  }

  TYPEFLOW_INLINE static V trigamma_of_positive(const V& x) {
    const V one(T(1));
    const auto large = x >= V(T(10));
    V sum(T(0));
    V y = x;
    if (!xsimd::all(large)) {
      V over(T(0));
      V under = one;
      for (int i = 0; i < 10; ++i) {
        const V next = x + V(static_cast<T>(i));
        const V square = next * next;
        over = cpu_kernels::fma(over, square, under);
        under = under * square;
      }
      sum = select(large, sum, over / under);
      y = select(large, x, x + V(T(10)));
    }
    const V inverse = one / y;
    const V square = inverse * inverse;
    const V cubes = square * inverse * Base::polynomial(square, C::slope_series);
    return sum + (inverse + cpu_kernels::fma(V(T(0.5)), square, cubes));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
