// SPDX-License-Identifier: Apache-2.0
#pragma once

// erfc, precise where 1 - erf(x) would cancel, and erfinv.

#include <cmath>
#include <numbers>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// e^(-x^2) for a SIMD batch, with the precision of exp. The rounding error of x^2 is found by
/// splitting x in halves (Dekker, A floating-point technique for extending the available precision,
/// 1971).
template <class V>
constexpr V exp_of_minus_square(const V& x) {
  constexpr bool wide = sizeof(typename V::value_type) == 8;
  const V shifted = x * V(static_cast<typename V::value_type>(wide ? 0x1p27 + 1 : 0x1p12 + 1));
  const V high = shifted - (shifted - x);
  const V low = x - high;
  const V square = x * x;
  const V lost = ((high * high - square) + (high + high) * low) + low * low;
  const V y = math::exp(-square);
  return y - y * lost;
}

/// erfinv: x in (-1, 1) -> the y with erf(y) = x, from the quantile of the normal distribution:
/// Wichura, Algorithm AS 241 (Applied Statistics 37, 1988), PPND16.
template <std::same_as<double> T>
constexpr T erfinv(T x) {
  constexpr double a[] = {2.5090809287301226727e+3, 3.3430575583588128105e+4,
                          6.7265770927008700853e+4, 4.5921953931549871457e+4,
                          1.3731693765509461125e+4, 1.9715909503065514427e+3,
                          1.3314166789178437745e+2, 3.3871328727963666080e+0};
  constexpr double b[] = {5.2264952788528545610e+3, 2.8729085735721942674e+4,
                          3.9307895800092710610e+4, 2.1213794301586595867e+4,
                          5.3941960214247511077e+3, 6.8718700749205790830e+2,
                          4.2313330701600911252e+1, 1};
  constexpr double c[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                          2.41780725177450611770e-1, 1.27045825245236838258e+0,
                          3.64784832476320460504e+0, 5.76949722146069140550e+0,
                          4.63033784615654529590e+0, 1.42343711074968357734e+0};
  constexpr double d[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                          1.51986665636164571966e-2, 1.48103976427480074590e-1,
                          6.89767334985100004550e-1, 1.67638483018380384940e+0,
                          2.05319162663775882187e+0, 1};
  constexpr double e[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                          1.24266094738807843860e-3, 2.65321895265761230930e-2,
                          2.96560571828504891230e-1, 1.78482653991729133580e+0,
                          5.46378491116411436990e+0, 6.65790464350110377720e+0};
  constexpr double f[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                          1.84631831751005468180e-5,  7.86869131145613259100e-4,
                          1.48753612908506148525e-2,  1.36929880922735805310e-1,
                          5.99832206555887937690e-1,  1};
  const double size = std::abs(x);
  if (!(size <= 1)) return nan;
  if (size == 1) return x * infinity;
  if (size <= 0.85) {
    const double r = 0.180625 - 0.25 * x * x;
    return x * polynomial(r, a) / polynomial(r, b) * (0.5 / std::numbers::sqrt2);
  }
  const double r = std::sqrt(std::numbers::ln2 - std::log1p(-size));
  const double quantile = r <= 5 ? polynomial(r - 1.6, c) / polynomial(r - 1.6, d)
                                 : polynomial(r - 5, e) / polynomial(r - 5, f);
  return std::copysign(quantile / std::numbers::sqrt2, x);
}

}  // namespace math

namespace ops {

struct Erfc : floating {
  static constexpr std::string_view name = "Erfc";
  static constexpr int flops = 50;
  /// e^(-x^2) P(q) / (x + 3), q = (x - 3) / (x + 3), for x >= 0. P interpolates
  /// (x + 3) e^(x^2) erfc(x) at Chebyshev nodes, up to where erfc is 0: within 6e-9 for floats,
  /// 2e-17 for doubles. At most 4 units in the last place are wrong.
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (std::is_arithmetic_v<V>) {
      return std::erfc(x);
    } else {
      const V size = abs(x);
      const V a = select(size < V(28), size, V(28));
      const V r = V(1) / (a + V(3));
      const V tail = math::exp_of_minus_square(a) * r * scaled((a - V(3)) * r);
      const V y = select(x < V(0), V(2) - tail, tail);
      return select(x == x, y, x);
    }
  }
  static constexpr AnyExpr gradient(Erfc, auto x, auto, auto dy) {
    return dy * (-2 * std::numbers::inv_sqrtpi * exp(-square(x)));
  }

 private:
  template <class V>
  static constexpr V scaled(const V& q) {
    if constexpr (sizeof(typename V::value_type) == 4) {
      return math::polynomial(q, for_floats);
    } else {
      return math::polynomial(q, for_doubles);
    }
  }
  static constexpr double for_floats[] = {-3.34029802844848353e-4, -4.99675943011762574e-4,
                                          3.07756915504540829e-3,  -1.21691780677670003e-3,
                                          -2.68364423651880265e-2, 1.19527276398804073e-1,
                                          -3.10466634550236197e-1, 5.9022841778975448e-1,
                                          -8.8339446054031268e-1,  1.07400690631846015e+0};
  static constexpr double for_doubles[] = {
      -1.631694506743905e-9,   -6.43652903296478411e-9, 2.49377616491100266e-9,
      4.89628591460956845e-8,  4.01605623236278758e-8,  -2.33364576118012981e-7,
      -4.02612101619096114e-7, 9.9961194370366995e-7,   2.76244717546549492e-6,
      -4.74982135694693163e-6, -1.74695461769730475e-5, 3.03983974825577815e-5,
      1.07561264002592139e-4,  -2.76777898509419356e-4, -5.4830966209763944e-4,
      3.03406200785665489e-3,  -1.21241662946245233e-3, -2.68272346249334999e-2,
      1.19527761287376192e-1,  -3.10467261900553452e-1, 5.90228357104100584e-1,
      -8.83394453169883754e-1, 1.07400690708833971e+0};
};

struct Erfinv : special {
  static constexpr std::string_view name = "Erfinv";
  template <class V>
  constexpr V operator()(V x) const {
    return static_cast<V>(math::erfinv(static_cast<double>(x)));
  }
  static constexpr AnyExpr gradient(Erfinv, auto, auto y, auto dy) {
    return dy * (0.5 / std::numbers::inv_sqrtpi * exp(square(y)));
  }
};

}  // namespace ops

/// The complementary error function, 1 - erf(x), elementwise; precise for large x, where erf(x)
/// rounds to 1.
template <Tensor X>
constexpr auto erfc(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "erfc(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Erfc{}, x);
}

/// The number whose error function is x, elementwise; infinite at -1 and 1, NaN beyond.
template <Tensor X>
constexpr auto erfinv(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "erfinv(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Erfinv{}, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
