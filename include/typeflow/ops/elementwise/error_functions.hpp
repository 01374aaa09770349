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

/// The x > 0 that a standard normal number exceeds with probability p = e^(-r^2), p from 1e-316 to
/// 0.075: Wichura, Algorithm AS 241 (Applied Statistics 37, 1988), PPND16.
template <std::same_as<double> T>
constexpr T normal_tail(T r) {
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
  return r <= 5 ? polynomial(r - 1.6, c) / polynomial(r - 1.6, d)
                : polynomial(r - 5, e) / polynomial(r - 5, f);
}

/// erfinv: x in (-1, 1) -> the y with erf(y) = x, by the same algorithm.
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
  const double size = std::abs(x);
  if (!(size <= 1)) return nan;
  if (size == 1) return x * infinity;
  if (size <= 0.85) {
    const double r = 0.180625 - 0.25 * x * x;
    return x * polynomial(r, a) / polynomial(r, b) * (0.5 / std::numbers::sqrt2);
  }
  const double r = std::sqrt(std::numbers::ln2 - std::log1p(-size));
  return std::copysign(normal_tail(r) / std::numbers::sqrt2, x);
}

}  // namespace math

namespace ops {

struct Erfc : floating {
  static constexpr std::string_view name = "Erfc";
  static constexpr int flops = 50;
  template <class V>
  constexpr V operator()(V x) const {
    return math::erfc(x);
  }
  static constexpr AnyExpr gradient(Erfc, auto x, auto, auto dy) {
    return dy * (-2 * std::numbers::inv_sqrtpi * exp(-square(x)));
  }
};

struct Erfinv : floating {
  static constexpr std::string_view name = "Erfinv";
  static constexpr int flops = 80;
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (Element<V>) {
      return static_cast<V>(math::erfinv(static_cast<double>(x)));
    } else {
      return math::OfBatch<V>::erfinv(x);
    }
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
