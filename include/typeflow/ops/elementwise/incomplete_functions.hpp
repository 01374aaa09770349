// SPDX-License-Identifier: Apache-2.0
#pragma once

// The incomplete gamma and beta functions igamma, igammac and betainc, with their gradients.
//
// Derivatives for the parameters are those of the series and continued fractions, term by term. All
// compute in double for every element type.

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// Terms after which a series or continued fraction for a parameter n is given up.
template <std::same_as<double> T>
constexpr int most_terms(T n) {
  return 200 + static_cast<int>(std::fmin(20 * std::sqrt(n), 1e6));
}

/// x^a e^-x / gamma(a + 1), by Stirling's series where its logarithm would cancel.
template <std::same_as<double> T>
constexpr T gamma_front(T a, T x) {
  const double mu = (x - a) / a;
  return a < 20 ? std::exp(a * std::log(x) - x - log_gamma(a + 1))
                : std::exp(-a * (mu - std::log1p(mu)) - stirling_rest(a)) /
                      std::sqrt(2 * std::numbers::pi * a);
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
  const double front = gamma_front(a, x);
  const double epsilon = std::numeric_limits<double>::epsilon();
  const int terms = most_terms(a);
  if (x < a + 1) {  // the series
    double sum = 1;
    double term = 1;
    for (int n = 1; n <= terms && term > sum * epsilon; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return Upper ? 1 - front * sum : front * sum;
  }
  // Of 1 - P, the continued fraction by Lentz's method
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
  return Upper ? front * a * h : 1 - front * a * h;
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

/// x^a (1 - x)^b / beta(a, b), by Stirling's series where its logarithm would cancel.
template <std::same_as<double> T>
constexpr T beta_front(T a, T b, T x) {
  if (a < 20 || b < 20) {
    return std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                    b * std::log1p(-x));
  }
  const double n = a + b;
  const double off = x - a / n;
  const double of_a = off * n / a;
  const double of_b = -off * n / b;
  const double log_a = of_a < -0.5 ? std::log(x * (n / a)) : std::log1p(of_a);
  const double log_b = of_b < -0.5 ? std::log((1 - x) * (n / b)) : std::log1p(of_b);
  return std::exp(a * log_a + b * log_b + stirling_rest(n) - stirling_rest(a) - stirling_rest(b)) *
         std::sqrt(a / n * b / (2 * std::numbers::pi));
}

/// The incomplete beta function I_x(a, b) = integral of t^(a-1) (1-t)^(b-1) over [0, x], divided by
/// that over [0, 1]: Numerical Recipes, 6.4.
template <std::same_as<double> T>
constexpr T betainc(T a, T b, T x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0 || x == 1) return x;
  const double n = a + b;
  const double front = beta_front(a, b, x);
  if (x < (a + 1) / (n + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// The density x^(a-1) e^-x / gamma(a) of gamma numbers: the derivative of P(a, x) for x.
template <std::same_as<double> T>
constexpr T gamma_density(T a, T x) {
  if (!(a > 0) || !(x >= 0) || a == infinity) return nan;
  if (x == infinity) return 0;
  if (x == 0) return a > 1 ? 0 : a == 1 ? 1 : infinity;
  return gamma_front(a, x) * (a / x);
}

/// The derivative of P(a, x) for a: that of the series or, beyond the mean, of the continued
/// fraction, term by term.
template <std::same_as<double> T>
constexpr T igamma_slope(T a, T x) {
  if (!(a > 0) || !(x >= 0) || a == infinity) return nan;
  if (x == 0 || x == infinity) return 0;
  const double epsilon = std::numeric_limits<double>::epsilon();
  const int terms = most_terms(a);
  const double front = gamma_front(a, x);
  const double log_x = std::log(x);
  if (x < a + 1) {
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
    return front * sum;
  }
  // Of Q = front a h(a, x); g is the derivative of log h.
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
  return -front * a * h * (log_x - digamma(a) + g);
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

/// The derivative of I_x(a, b) for a, or for b.
template <std::same_as<double> T>
constexpr T betainc_slope(T a, T b, T x, bool for_b) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0 || x == 1) return 0;
  const double front = beta_front(a, b, x);
  const double of_sum = digamma(a + b);
  if (x < (a + 1) / (a + b + 2)) {
    const BetaFraction h = beta_fraction_slopes(a, b, x);
    const double log_slope = for_b ? std::log1p(-x) - digamma(b) + of_sum + h.for_b
                                   : std::log(x) - digamma(a + 1) + of_sum + h.for_a;
    return front * h.value / a * log_slope;
  }
  const BetaFraction h = beta_fraction_slopes(b, a, 1 - x);
  const double log_slope = for_b ? std::log1p(-x) - digamma(b + 1) + of_sum + h.for_a
                                 : std::log(x) - digamma(a) + of_sum + h.for_b;
  return -front * h.value / b * log_slope;
}

}  // namespace math

namespace ops {

/// The density of gamma numbers of shape a.
struct GammaDensity : special {
  static constexpr std::string_view name = "GammaDensity";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::gamma_density(static_cast<double>(a), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(GammaDensity, auto a, auto x, auto y, auto dy) {
    const AnyExpr scaled = dy * y;
    return {scaled * (log(x) - digamma(a)), scaled * ((a - 1) / x - 1)};
  }
};

/// The derivative of igamma(a, x) for a. It has no gradient.
struct IgammaGradA : special {
  static constexpr std::string_view name = "IgammaGradA";
  static constexpr int flops = 200;
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igamma_slope(static_cast<double>(a), static_cast<double>(x)));
  }
};

struct Igamma : special {
  static constexpr std::string_view name = "Igamma";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igamma(static_cast<double>(a), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(Igamma, auto a, auto x, auto, auto dy) {
    return {dy * detail::apply_untyped(IgammaGradA{}, a, x),
            dy * detail::apply_untyped(GammaDensity{}, a, x)};
  }
};

struct Igammac : special {
  static constexpr std::string_view name = "Igammac";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igammac(static_cast<double>(a), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(Igammac, auto a, auto x, auto, auto dy) {
    return {-dy * detail::apply_untyped(IgammaGradA{}, a, x),
            -dy * detail::apply_untyped(GammaDensity{}, a, x)};
  }
};

/// The density of beta numbers.
struct BetaDensity : special {
  static constexpr std::string_view name = "BetaDensity";
  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(
        math::beta_density(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 3> gradient(BetaDensity, auto a, auto b, auto x, auto y,
                                                   auto dy) {
    const AnyExpr scaled = dy * y;
    const AnyExpr of_sum = digamma(a + b);
    return {scaled * (log(x) - digamma(a) + of_sum), scaled * (log1p(-x) - digamma(b) + of_sum),
            scaled * ((a - 1) / x - (b - 1) / (1 - x))};
  }
};

/// The derivative of betainc(a, b, x) for a or b. It has no gradient.
struct BetaincGrad : special {
  static constexpr std::string_view name = "BetaincGrad";
  static constexpr int flops = 200;
  std::uint32_t for_b;

  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(math::betainc_slope(static_cast<double>(a), static_cast<double>(b),
                                              static_cast<double>(x), for_b != 0));
  }
};

struct Betainc : special {
  static constexpr std::string_view name = "Betainc";
  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(
        math::betainc(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 3> gradient(Betainc, auto a, auto b, auto x, auto, auto dy) {
    return {dy * detail::apply_untyped(BetaincGrad{{}, 0}, a, b, x),
            dy * detail::apply_untyped(BetaincGrad{{}, 1}, a, b, x),
            dy * detail::apply_untyped(BetaDensity{}, a, b, x)};
  }
};

}  // namespace ops

/// The lower incomplete gamma function P(a, x), elementwise: the distribution function of a gamma
/// variable of shape a. NaN unless a > 0 and x >= 0. Its gradient for a has no gradient.
template <class A, class X>
  requires Operands<A, X>
constexpr auto igamma(const A& a, const X& x,
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, X>,
                "igamma(a, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, X>, "igamma(a, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, X>,
                "igamma(a, x): a and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Igamma{}, a, x);
}

/// The upper incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise, precise where it is
/// small, too. NaN unless a > 0 and x >= 0. Its gradient for a has no gradient.
template <class A, class X>
  requires Operands<A, X>
constexpr auto igammac(const A& a, const X& x,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, X>,
                "igammac(a, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, X>, "igammac(a, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, X>,
                "igammac(a, x): a and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Igammac{}, a, x);
}

/// The regularised incomplete beta function I_x(a, b), elementwise: the distribution function of a
/// beta variable. NaN unless a > 0, b > 0 and 0 <= x <= 1. Its gradients for a and b have no
/// gradient.
template <class A, class B, class X>
  requires Operands<A, B, X>
constexpr auto betainc(const A& a, const B& b, const X& x,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B, X>,
                "betainc(a, b, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B, X>, "betainc(a, b, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, B, X>,
                "betainc(a, b, x): a, b and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Betainc{}, a, b, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
