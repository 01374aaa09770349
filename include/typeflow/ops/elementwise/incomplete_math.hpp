// SPDX-License-Identifier: Apache-2.0
#pragma once

// The incomplete gamma and beta functions of doubles, with their derivatives.
//
// A function is computed, or its complement, whichever converges: a front factor, which may
// underflow, times a series or continued fraction. Derivatives for the parameters are those of the
// series and fractions, term by term.

#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

#include "typeflow/ops/elementwise/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// Terms after which a series or continued fraction for a parameter n is given up.
template <std::same_as<double> T>
constexpr int most_terms(T n) {
  return 200 + static_cast<int>(std::fmin(20 * std::sqrt(n), 1e6));
}

/// The logarithm of x^a e^-x / gamma(a + 1), by Stirling's series where it would cancel.
template <std::same_as<double> T>
constexpr T log_gamma_front(T a, T x) {
  if (a < 20) return a * std::log(x) - x - log_gamma(a + 1);
  const double mu = (x - a) / a;
  const double log_ratio = mu < -0.5 ? std::log(x / a) : std::log1p(mu);
  return -a * (mu - log_ratio) - stirling_rest(a) - 0.5 * std::log(2 * std::numbers::pi * a);
}
template <std::same_as<double> T>
constexpr T gamma_front(T a, T x) {
  return std::exp(log_gamma_front(a, x));
}

/// Whether the upper of the two incomplete gamma functions is computed, and the lower one from it.
template <std::same_as<double> T>
constexpr bool from_upper(T a, T x) {
  return !(x < a + 1);
}
/// The computed one of the two over gamma_front(a, x), for finite a > 0 and x > 0.
template <std::same_as<double> T>
constexpr T gamma_factor(T a, T x) {
  const double epsilon = std::numeric_limits<double>::epsilon();
  const int terms = most_terms(a);
  if (!from_upper(a, x)) {  // the series
    double sum = 1;
    double term = 1;
    for (int n = 1; n <= terms && term > sum * epsilon; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return sum;
  }
  // The continued fraction by Lentz's method
  const double tiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double h = d;
  for (int n = 1; n <= terms; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < tiny) d = tiny;
    c = b + an / c;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) < epsilon) break;
  }
  return a * h;
}

/// Whether 1 - P(a, x) may be so small that 1 minus the series is no digit of it.
template <std::same_as<double> T>
constexpr bool is_low_gamma(T a, T x) {
  return a < 0.1 && !from_upper(a, x);
}
/// 1 - P(a, x) there: 1 - x^a / gamma(a + 1) (1 + a sum of (-x)^n / (n! (a + n)) over n > 0).
template <std::same_as<double> T>
constexpr T low_igammac(T a, T x) {
  const double next = a + 1;
  const double lost = a - (next - 1);
  const double log_power = a * std::log(x) - log_gamma(next) - lost * digamma(next);
  double term = 1;
  double sum = 0;
  for (int n = 1; n <= 20; ++n) {
    term *= -x / n;
    sum += term / (a + n);
  }
  return -std::expm1(log_power) - a * std::exp(log_power) * sum;
}

/// The lower incomplete gamma function P(a, x) = integral of t^(a-1) e^-t over [0, x] / gamma(a),
/// or the upper one, 1 - P(a, x): Press et al., Numerical Recipes, 3rd edition, 6.2.
template <bool Upper, std::same_as<double> T>
constexpr T incomplete_gamma(T a, T x) {
  const double none = Upper ? 1 : 0;  // of P = 0
  if (!(a > 0) || !(x >= 0)) return nan;
  if (x == 0) return none;
  if (a == infinity) return x == infinity ? nan : none;
  if (x == infinity) return 1 - none;
  if (Upper && is_low_gamma(a, x)) return low_igammac(a, x);
  const double part = gamma_front(a, x) * gamma_factor(a, x);
  return Upper == from_upper(a, x) ? part : 1 - part;
}
template <std::same_as<double> T>
constexpr T igamma(T a, T x) {
  return incomplete_gamma<false>(a, x);
}
template <std::same_as<double> T>
constexpr T igammac(T a, T x) {
  return incomplete_gamma<true>(a, x);
}

/// The continued fraction of the incomplete beta function.
template <std::same_as<double> T>
constexpr T beta_fraction(T a, T b, T x) {
  const double tiny = 1e-300;
  const auto bounded = [&](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1;
  double d = 1 / bounded(1 - (a + b) * x / (a + 1));
  double h = d;
  const int terms = most_terms(std::fmax(a, b));
  for (int n = 1; n <= terms; ++n) {
    const double even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
    d = 1 / bounded(1 + even * d);
    c = bounded(1 + even / c);
    h *= d * c;
    const double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
    d = 1 / bounded(1 + odd * d);
    c = bounded(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return h;
}

/// log(gamma(a + more) / gamma(a)), by Stirling's series where the difference would cancel.
template <std::same_as<double> T>
constexpr T log_gamma_growth(T a, T more) {
  if (a < 20) return log_gamma(a + more) - log_gamma(a);
  return (a - 0.5) * std::log1p(more / a) + more * (std::log(a + more) - 1) +
         stirling_rest(a + more) - stirling_rest(a);
}
/// The logarithm of x^a (1 - x)^b / beta(a, b), by Stirling's series where it would cancel.
template <std::same_as<double> T>
constexpr T log_beta_front(T a, T b, T x) {
  if (a < 20 || b < 20) {
    return log_gamma_growth(std::fmax(a, b), std::fmin(a, b)) - log_gamma(std::fmin(a, b)) +
           a * std::log(x) + b * std::log1p(-x);
  }
  const double n = a + b;
  const double off = x - a / n;
  const double of_a = off * n / a;
  const double of_b = -off * n / b;
  const double log_a = of_a < -0.5 ? std::log(x * (n / a)) : std::log1p(of_a);
  const double log_b = of_b < -0.5 ? std::log((1 - x) * (n / b)) : std::log1p(of_b);
  return a * log_a + b * log_b + stirling_rest(n) - stirling_rest(a) - stirling_rest(b) +
         0.5 * std::log(a / n * b / (2 * std::numbers::pi));
}
template <std::same_as<double> T>
constexpr T beta_front(T a, T b, T x) {
  return std::exp(log_beta_front(a, b, x));
}

/// Whether 1 - I_x(a, b) is computed, and I_x(a, b) from it.
template <std::same_as<double> T>
constexpr bool from_upper_beta(T a, T b, T x) {
  return !(x < (a + 1) / (a + b + 2));
}
/// The computed one of the two over beta_front(a, b, x), for x in (0, 1).
template <std::same_as<double> T>
constexpr T beta_factor(T a, T b, T x) {
  return from_upper_beta(a, b, x) ? beta_fraction(b, a, 1 - x) / b : beta_fraction(a, b, x) / a;
}

/// The incomplete beta function I_x(a, b) = integral of t^(a-1) (1-t)^(b-1) over [0, x], divided by
/// that over [0, 1], or the upper one, 1 - I_x(a, b): Numerical Recipes, 6.4.
template <bool Upper, std::same_as<double> T>
constexpr T incomplete_beta(T a, T b, T x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0 || x == 1) return Upper ? 1 - x : x;
  const double part = beta_front(a, b, x) * beta_factor(a, b, x);
  return Upper == from_upper_beta(a, b, x) ? part : 1 - part;
}
template <std::same_as<double> T>
constexpr T betainc(T a, T b, T x) {
  return incomplete_beta<false>(a, b, x);
}

/// The density x^(a-1) e^-x / gamma(a) of gamma numbers: the derivative of P(a, x) for x.
template <std::same_as<double> T>
constexpr T gamma_density(T a, T x) {
  if (!(a > 0) || !(x >= 0) || a == infinity) return nan;
  if (x == infinity) return 0;
  if (x == 0) return a > 1 ? 0 : a == 1 ? 1 : infinity;
  return gamma_front(a, x) * (a / x);
}

/// The derivative of P(a, x) for a over gamma_front(a, x): that of the series or, beyond the mean,
/// of the continued fraction, term by term.
template <std::same_as<double> T>
constexpr T gamma_slope_factor(T a, T x) {
  const double epsilon = std::numeric_limits<double>::epsilon();
  const int terms = most_terms(a);
  const double log_x = std::log(x);
  if (!from_upper(a, x)) {
    double psi = digamma(a + 1);
    double term = 1;
    double sum = log_x - psi;
    for (int n = 1; n <= terms; ++n) {
      term *= x / (a + n);
      psi += 1 / (a + n);
      const double part = term * (log_x - psi);
      sum += part;
      if (term < epsilon && std::abs(part) <= std::abs(sum) * epsilon) break;
    }
    return sum;
  }
  // 1 - P is front a h(a, x); g is the derivative of log h.
  const double tiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double h = d;
  double slope_c = 0;
  double slope_d = d * d;
  double g = slope_d / d;
  for (int n = 1; n <= terms; ++n) {
    const double an = -n * (n - a);
    b += 2;
    double s = n * d + an * slope_d - 1;
    d = an * d + b;
    if (std::abs(d) < tiny) d = tiny;
    slope_c = n / c - an * slope_c / (c * c) - 1;
    c = b + an / c;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    slope_d = -s * d * d;
    const double step = slope_d / d + slope_c / c;
    h *= d * c;
    g += step;
    if (std::abs(d * c - 1) < epsilon && std::abs(step) < epsilon) break;
  }
  return -a * h * (log_x - digamma(a) + g);
}
/// The derivative of P(a, x) for a.
template <std::same_as<double> T>
constexpr T igamma_slope(T a, T x) {
  if (!(a > 0) || !(x >= 0) || a == infinity) return nan;
  if (x == 0 || x == infinity) return 0;
  return gamma_front(a, x) * gamma_slope_factor(a, x);
}

/// The density x^(a-1) (1-x)^(b-1) / beta(a, b) of beta numbers: the derivative of I_x(a, b) for x.
template <std::same_as<double> T>
constexpr T beta_density(T a, T b, T x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0) return a > 1 ? 0 : a == 1 ? b : infinity;
  if (x == 1) return b > 1 ? 0 : b == 1 ? a : infinity;
  return beta_front(a, b, x) / x / (1 - x);
}

/// The continued fraction of the incomplete beta function with the derivatives of its logarithm.
struct BetaFraction {
  double value;
  double for_a;
  double for_b;
};
template <std::same_as<double> T>
constexpr BetaFraction beta_fraction_slopes(T a, T b, T x) {
  const double tiny = 1e-300;
  const double epsilon = std::numeric_limits<double>::epsilon();
  const auto bounded = [&](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1;
  double d = 1 / bounded(1 - (a + b) * x / (a + 1));
  double h = d;
  // The derivatives for a and b: of 1 / d - 1, a step's coefficient is e, with derivatives ea, eb.
  double ca = 0;
  double cb = 0;
  double da = -(-x * (1 - b) / ((a + 1) * (a + 1))) * d * d;
  double db = x / (a + 1) * d * d;
  double ga = da / d;
  double gb = db / d;
  double largest = 0;
  const auto step = [&](double e, double ea, double eb) {
    const double sa = ea * d + e * da;
    const double sb = eb * d + e * db;
    d = 1 / bounded(1 + e * d);
    da = -sa * d * d;
    db = -sb * d * d;
    ca = (ea - e * ca / c) / c;
    cb = (eb - e * cb / c) / c;
    c = bounded(1 + e / c);
    h *= d * c;
    const double more_a = da / d + ca / c;
    const double more_b = db / d + cb / c;
    ga += more_a;
    gb += more_b;
    largest =
        std::fmax(std::abs(more_a) / (1 + std::abs(ga)), std::abs(more_b) / (1 + std::abs(gb)));
  };
  const int terms = most_terms(std::fmax(a, b));
  for (int n = 1; n <= terms; ++n) {
    const double k = a + 2 * n;
    const double even = n * (b - n) * x / ((k - 1) * k);
    step(even, -even * (1 / (k - 1) + 1 / k), n * x / ((k - 1) * k));
    const double of_even = largest;
    const double odd = -(a + n) * (a + b + n) * x / (k * (k + 1));
    step(odd, odd * (1 / (a + n) + 1 / (a + b + n) - 1 / k - 1 / (k + 1)),
         -(a + n) * x / (k * (k + 1)));
    if (std::abs(d * c - 1) < epsilon && largest < epsilon && of_even < epsilon) break;
  }
  return {h, ga, gb};
}

/// The derivative of I_x(a, b) for a, or for b, over beta_front(a, b, x).
template <std::same_as<double> T>
constexpr T beta_slope_factor(T a, T b, T x, bool for_b) {
  const double of_sum = digamma(a + b);
  if (!from_upper_beta(a, b, x)) {
    const BetaFraction h = beta_fraction_slopes(a, b, x);
    const double log_slope = for_b ? std::log1p(-x) - digamma(b) + of_sum + h.for_b
                                   : std::log(x) - digamma(a + 1) + of_sum + h.for_a;
    return h.value / a * log_slope;
  }
  const BetaFraction h = beta_fraction_slopes(b, a, 1 - x);
  const double log_slope = for_b ? std::log1p(-x) - digamma(b + 1) + of_sum + h.for_a
                                 : std::log(x) - digamma(a) + of_sum + h.for_b;
  return -h.value / b * log_slope;
}
template <std::same_as<double> T>
constexpr T betainc_slope(T a, T b, T x, bool for_b) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0 || x == 1) return 0;
  return beta_front(a, b, x) * beta_slope_factor(a, b, x, for_b);
}

}  // namespace math

}  // namespace typeflow::inline TYPEFLOW_ISA
