// SPDX-License-Identifier: Apache-2.0
#pragma once

// Integrals of the von Mises density exp(concentration cos(t)), and how its quantiles move with the
// concentration.
//
// The density grows up to its mode, so an integral from the left is one over the last part alone,
// where it is above e^-40 of its last value. Gauss' formula of 32 points gives 14 digits of that.

#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <string_view>

#include "typeflow/ops/elementwise/bessel.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// The integral of f(t) over [low, high].
template <class F>
constexpr double gauss_integral(double low, double high, const F& f) {
  constexpr double points[16][2] = {
      {0.048307665687738324, 0.096540088514727659}, {0.14447196158279649, 0.095638720079274708},
      {0.23928736225213706, 0.093844399080804511},  {0.33186860228212767, 0.09117387869576378},
      {0.42135127613063533, 0.087652093004403783},  {0.50689990893222936, 0.083311924226946707},
      {0.5877157572407623, 0.078193895787070228},   {0.66304426693021523, 0.072345794108848338},
      {0.73218211874028971, 0.065822222776361683},  {0.79448379596794239, 0.058684093478535565},
      {0.84936761373256997, 0.050998059262376091},  {0.89632115576605209, 0.042835898022226836},
      {0.93490607593773967, 0.034273862913021765},  {0.96476225558750639, 0.025392065309262024},
      {0.98561151154526838, 0.016274394730905743},  {0.99726386184948157, 0.0070186100094705058},
  };
  const double centre = low + (high - low) / 2;
  const double half = (high - low) / 2;
  double sum = 0;
  for (const auto& p : points) sum += p[1] * (f(centre - half * p[0]) + f(centre + half * p[0]));
  return half * sum;
}

/// The density at t, divided by that at x.
struct VonMisesRatio {
  double concentration;
  double x;
  constexpr double operator()(double t) const {
    // cos(t) - cos(x), without its cancellation, and without overflow
    return std::exp(concentration * std::sin((x - t) / 2) * (2 * std::sin((x + t) / 2)));
  }
};

/// Where, left of x in [-pi, 0], the density is e^-40 of its value at x; -pi if it is not.
template <std::same_as<double> T>
constexpr T von_mises_start(T concentration, T x) {
  const double s = std::sin(x / 2);
  const double square = s * s + 20 / concentration;
  return square < 1 ? -2 * std::asin(std::sqrt(square)) : -std::numbers::pi;
}

/// The probability of [-pi, x], for x in [-pi, pi].
template <std::same_as<double> T>
constexpr T von_mises_cdf(T concentration, T x) {
  if (!(concentration >= 0 && concentration <= std::numeric_limits<double>::max()) ||
      !(std::abs(x) <= 4)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double left = -std::fmin(std::abs(x), std::numbers::pi);
  const double s = std::sin(left / 2);
  const double share = gauss_integral(von_mises_start(concentration, left), left,
                                      VonMisesRatio{concentration, left}) *
                       std::exp(concentration * s * (-2 * s)) /
                       (2 * std::numbers::pi * bessel_i(0, true, concentration));
  return x > 0 ? 1 - share : share;
}

/// The derivative for the concentration of the quantile of a constant probability, which is x:
/// -(dF/dconcentration) / (dF/dx) of the distribution function F. The integrand cos(t) - cos(y),
/// where cos(y) is its mean, has one sign on each side of y; so has the integral up to x, or
/// that from x to the mode, where F is 1/2.
template <std::same_as<double> T>
constexpr T von_mises_slope(T concentration, T x) {
  if (!(concentration >= 0 && concentration <= std::numeric_limits<double>::max()) ||
      !(std::abs(x) <= 4)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (concentration > 1e6) return -x / 2 / concentration;  // a normal number
  const double left = -std::fmin(std::abs(x), std::numbers::pi);
  const double spread = 1 - bessel_i(1, true, concentration) / bessel_i(0, true, concentration);
  const VonMisesRatio ratio{concentration, left};
  const auto moved = [&](double t) {
    const double s = std::sin(t / 2);
    return (spread - 2 * s * s) * ratio(t);
  };
  const double s = std::sin(left / 2);
  const double slope = 2 * s * s < spread
                           ? gauss_integral(left, 0.0, moved)
                           : -gauss_integral(von_mises_start(concentration, left), left, moved);
  return x > 0 ? -slope : slope;
}

}  // namespace math

namespace ops {

/// The slope of a von Mises number for the concentration that it was drawn with. It has no
/// gradient.
struct VonMisesSlope : special {
  static constexpr std::string_view name = "VonMisesSlope";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V concentration, V x) const {
    return static_cast<V>(
        math::von_mises_slope(static_cast<double>(concentration), static_cast<double>(x)));
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
