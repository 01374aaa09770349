// SPDX-License-Identifier: Apache-2.0
#pragma once

// Quantiles of truncated normal distributions: an elementwise operation that computes in double.

#include <cmath>
#include <concepts>
#include <numbers>
#include <string_view>

#include "typeflow/ops/elementwise/error_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// The z that a standard normal number exceeds with probability p, 0 < p <= 1/2.
template <std::same_as<double> T>
constexpr T normal_tail_quantile(T p) {
  return p > 0.075 ? std::numbers::sqrt2 * erfinv(1 - 2 * p) : normal_tail(std::sqrt(-std::log(p)));
}
/// The logarithm of the probability of a standard normal number above z >= 30.
template <std::same_as<double> T>
constexpr T log_far_tail(T z) {
  if (z == infinity) return -infinity;
  // Abramowitz and Stegun, 26.2.12
  const double r = 1 / (z * z);
  const double series = -r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r))));
  return -0.5 * z * z - std::log(z) - 0.5 * std::log(2 * std::numbers::pi) + std::log1p(series);
}
/// Its inverse, by Newton's method.
template <std::same_as<double> T>
constexpr T far_tail_quantile(T log_p) {
  if (log_p == -infinity) return infinity;
  double z = std::sqrt(-2 * log_p);
  for (int i = 0; i < 4; ++i) z += (log_far_tail(z) - log_p) / (z + 1 / z);
  return z;
}

/// The t in [0, w] below which a share q lies of the numbers with density e^(-a t - t^2 / 2), where
/// the exponent is small: Newton's method, with Gauss's quadrature of 5 points.
template <std::same_as<double> T>
constexpr T narrow_quantile(T a, T w, T q) {
  constexpr double places[] = {0.04691007703066800, 0.23076534494715845, 0.5, 0.76923465505284155,
                               0.95308992296933200};
  constexpr double weights[] = {0.11846344252809454, 0.23931433524968324, 0.28444444444444444,
                                0.23931433524968324, 0.11846344252809454};
  const auto below = [&](double t) {
    double sum = 0;
    for (int i = 0; i < 5; ++i) {
      const double s = t * places[i];
      sum += weights[i] * std::exp(-s * (a + 0.5 * s));
    }
    return t * sum;
  };
  const double level = q * below(w);
  double t = q * w;
  for (int i = 0; i < 4; ++i) t -= (below(t) - level) * std::exp(t * (a + 0.5 * t));
  return t;
}

/// The quantile of q of the normal distribution of loc and scale within [low, high].
template <std::same_as<double> T>
constexpr T truncated_normal_quantile(T loc, T scale, T low, T high, T q) {
  if (!(q >= 0 && q <= 1) || !(low <= high)) return nan;
  if (q == 0 || low == high) return low;
  if (q == 1) return high;
  // The bound that is nearer to the mean shall be below.
  const double side = low - loc < loc - high ? -1 : 1;
  const double a = side * ((side > 0 ? low : high) - loc) / scale;
  const double b = side * ((side > 0 ? high : low) - loc) / scale;
  const double p = side > 0 ? q : 1 - q;
  const double w = (high - low) / scale;
  if (w * (1 + std::abs(a)) < 0.5) {
    return (side > 0 ? low : high) + side * scale * narrow_quantile(a, w, p);
  }
  double z = 0;
  if (a > 30) {  // where the tail may underflow
    const double most = log_far_tail(a);
    z = far_tail_quantile(most + std::log1p(p * std::expm1(log_far_tail(b) - most)));
  } else {
    const auto tail = [](double y) { return 0.5 * std::erfc(y / std::numbers::sqrt2); };
    const double of_a = tail(std::abs(a));
    const double of_b = tail(b);
    const double above = (1 - p) * (a < 0 ? 1 - of_a : of_a) + p * of_b;
    const double below = (1 - p) * (a < 0 ? of_a : 1 - of_a) + p * (1 - of_b);
    z = below < above ? -normal_tail_quantile(below) : normal_tail_quantile(above);
  }
  return std::fmin(std::fmax(loc + side * scale * z, low), high);
}

}  // namespace math

namespace ops {

/// Its gradient is that of TruncatedNormal.quantile.
struct TruncatedNormalQuantile : special {
  static constexpr std::string_view name = "TruncatedNormalQuantile";
  template <class V>
  constexpr V operator()(V loc, V scale, V low, V high, V p) const {
    return static_cast<V>(math::truncated_normal_quantile(
        static_cast<double>(loc), static_cast<double>(scale), static_cast<double>(low),
        static_cast<double>(high), static_cast<double>(p)));
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
