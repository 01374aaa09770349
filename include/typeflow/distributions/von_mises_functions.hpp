// SPDX-License-Identifier: Apache-2.0
#pragma once

// The distribution function of the von Mises distribution around 0, and its inverse, as elementwise
// operations. They compute in double for every element type.

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <string_view>

#include "typeflow/random/von_mises_integrals.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// The logarithm of the probability of [-pi, x], for x in [-pi, pi].
template <std::same_as<double> T>
constexpr T von_mises_log_cdf(T concentration, T x) {
  if (!(x < 0)) return std::log1p(-von_mises_cdf(concentration, -x));
  const double share = von_mises_cdf(concentration, x);
  if (share > 1e-200 || !(x > -std::numbers::pi)) return std::log(share);
  const double s = std::sin(x / 2);
  return std::log(
             gauss_integral(von_mises_start(concentration, x), x, VonMisesRatio{concentration, x}) /
             (2 * std::numbers::pi * bessel_i(0, true, concentration))) -
         concentration * s * (2 * s);
}

/// The x in [-pi, pi] with von_mises_cdf(concentration, x) = p: Newton's method on its logarithm,
/// in a bracket.
template <std::same_as<double> T>
constexpr T von_mises_quantile(T concentration, T p) {
  constexpr double pi = std::numbers::pi;
  if (!(concentration >= 0 && concentration <= std::numeric_limits<double>::max()) ||
      !(p >= 0 && p <= 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double tail = std::fmin(p, 1 - p);
  double x = 0;
  if (tail == 0) {
    x = -pi;
  } else if (tail < 0.5) {
    const double log_tail = std::log(tail);
    const double log_scale = -std::log(2 * pi * bessel_i(0, true, concentration));
    double low = -pi;
    double high = 0;
    // Where a normal number with the bound e^(-z^2/2) of its tail would be
    x = std::fmax(-std::sqrt(-2 * log_tail / (concentration + 0.1)), -pi / 2);
    for (int i = 0; i < 100; ++i) {
      const double s = std::sin(x / 2);
      const double relative =
          gauss_integral(von_mises_start(concentration, x), x, VonMisesRatio{concentration, x});
      const double log_error =
          std::log(relative) - concentration * s * (2 * s) + log_scale - log_tail;
      const double step = log_error * relative;
      if (std::abs(log_error) < 1e-8) {  // the next error is its square
        x = std::fmax(x - step, -pi);
        break;
      }
      (log_error > 0 ? high : low) = x;
      const bool inside = x - step > low && x - step < high;
      x = inside ? x - step : low + (high - low) / 2;
    }
  }
  return p > 0.5 ? -x : x;
}

}  // namespace math

namespace ops {

/// The probability of [-pi, x], for x in [-pi, pi]. Its gradient for the concentration has no
/// gradient.
struct VonMisesCdf : special {
  static constexpr std::string_view name = "VonMisesCdf";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V concentration, V x) const {
    return static_cast<V>(
        math::von_mises_cdf(static_cast<double>(concentration), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(VonMisesCdf, auto concentration, auto x, auto,
                                                   auto dy) {
    const AnyExpr density =
        exp(concentration * (cos(x) - 1)) / (2 * std::numbers::pi * bessel_i0e(concentration));
    const AnyExpr scaled = dy * density;
    return {-scaled * detail::apply_untyped(VonMisesSlope{}, concentration, x), scaled};
  }
};

/// The logarithm of VonMisesCdf. Its gradient for the concentration has no gradient.
struct VonMisesLogCdf : special {
  static constexpr std::string_view name = "VonMisesLogCdf";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V concentration, V x) const {
    return static_cast<V>(
        math::von_mises_log_cdf(static_cast<double>(concentration), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(VonMisesLogCdf, auto concentration, auto x,
                                                   auto y, auto dy) {
    const AnyExpr log_density = -2 * concentration * square(sin(0.5 * x)) -
                                log(2 * std::numbers::pi * bessel_i0e(concentration));
    const AnyExpr scaled = dy * exp(log_density - y);
    return {-scaled * detail::apply_untyped(VonMisesSlope{}, concentration, x), scaled};
  }
};

/// The x in [-pi, pi] whose VonMisesCdf is p. Its gradient for the concentration has no gradient.
struct VonMisesQuantile : special {
  static constexpr std::string_view name = "VonMisesQuantile";
  static constexpr int flops = 5000;
  template <class V>
  constexpr V operator()(V concentration, V p) const {
    return static_cast<V>(
        math::von_mises_quantile(static_cast<double>(concentration), static_cast<double>(p)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(VonMisesQuantile, auto concentration, auto,
                                                   auto x, auto dy) {
    const AnyExpr density =
        exp(concentration * (cos(x) - 1)) / (2 * std::numbers::pi * bessel_i0e(concentration));
    return {dy * detail::apply_untyped(VonMisesSlope{}, concentration, x), dy / density};
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
