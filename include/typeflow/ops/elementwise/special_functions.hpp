// SPDX-License-Identifier: Apache-2.0
#pragma once

// Special functions: erf, lgamma, digamma, trigamma, polygamma, igamma, igammac, betainc.
//
// erf runs on SIMD values. The others have branches and loops whose length depends on the element,
// so kernels call them lane by lane. They compute in double for every element type. Functions of
// doubles are templates here: those may be constexpr whatever they call, and nvcc asks no more of
// functions that both processors run.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/elementwise/polygamma.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The element type of a SIMD batch; for a number, its own type.
template <class V>
struct ScalarOf {
  using type = typename V::value_type;
};
template <>
struct ScalarOf<double> {
  using type = double;
};

/// a[0] x^(N-1) + ... + a[N-1].
template <class V, std::size_t N>
constexpr V polynomial(const V& x, const double (&a)[N]) {
  using T = typename ScalarOf<V>::type;
  V y(static_cast<T>(a[0]));
  for (std::size_t i = 1; i < N; ++i) y = y * x + V(static_cast<T>(a[i]));
  return y;
}

/// The logarithm of |gamma(x)|. (The C library's function writes the sign to a global variable,
/// which threads must not share.)
template <std::same_as<double> T>
constexpr T log_gamma(T x) {
#if defined(__GLIBC__) && !defined(__CUDA_ARCH__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

/// log(gamma(a) / (sqrt(2 pi / a) (a / e)^a)) for a >= 20: Stirling's series.
template <std::same_as<double> T>
constexpr T stirling_rest(T a) {
  const double r = 1 / (a * a);
  return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / a;
}

/// The derivative of log_gamma. NaN at negative integers, -inf at 0 (+inf at -0).
template <std::same_as<double> T>
constexpr T digamma(T x) {
  if (x == 0) return std::signbit(x) ? infinity : -infinity;
  double y = 0;
  if (x < 0) {  // digamma(1 - x) - pi / tan(pi x)
    const double rest = x - std::nearbyint(x);
    if (!(std::abs(rest) > 0)) return nan;  // an integer, or -inf
    y = -std::numbers::pi / std::tan(std::numbers::pi * rest);
    x = 1 - x;
  }
  for (; x < 10; ++x) y -= 1 / x;
  // Abramowitz and Stegun, Handbook of mathematical functions, 6.3.18
  constexpr double bernoulli[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                  1.0 / 252, -1.0 / 120,     1.0 / 12,  0};
  return y + std::log(x) - 0.5 / x - polynomial(1 / (x * x), bernoulli);
}

/// The derivative of digamma; infinite at 0 and at negative integers.
template <std::same_as<double> T>
constexpr T trigamma(T x) {
  double y = 0;
  double sign = 1;
  if (x <= 0) {  // (pi / sin(pi x))^2 - trigamma(1 - x)
    if (x == -infinity) return nan;
    const double rest = x - std::nearbyint(x);
    if (!(std::abs(rest) > 0)) return infinity;
    const double cosecant = std::numbers::pi / std::sin(std::numbers::pi * rest);
    y = cosecant * cosecant;
    sign = -1;
    x = 1 - x;
  }
  double z = 0;
  for (; x < 10; ++x) z += 1 / (x * x);
  // Abramowitz and Stegun, 6.4.12
  constexpr double bernoulli[] = {7.0 / 6,  -691.0 / 2730, 5.0 / 66, -1.0 / 30,
                                  1.0 / 42, -1.0 / 30,     1.0 / 6,  1};
  const double r = 1 / (x * x);
  return y + sign * (z + polynomial(r, bernoulli) / x + 0.5 * r);
}

/// Terms after which a series or continued fraction for a parameter n is given up.
template <std::same_as<double> T>
constexpr int most_terms(T n) {
  return 200 + static_cast<int>(std::fmin(20 * std::sqrt(n), 1e6));
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
  // x^a e^-x / gamma(a + 1), by Stirling's series where its logarithm would cancel
  const double mu = (x - a) / a;
  const double front = a < 20 ? std::exp(a * std::log(x) - x - log_gamma(a + 1))
                              : std::exp(-a * (mu - std::log1p(mu)) - stirling_rest(a)) /
                                    std::sqrt(2 * std::numbers::pi * a);
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

/// The incomplete beta function I_x(a, b) = integral of t^(a-1) (1-t)^(b-1) over [0, x], divided by
/// that over [0, 1]: Numerical Recipes, 6.4.
template <std::same_as<double> T>
constexpr T betainc(T a, T b, T x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0 || x == 1) return x;
  // x^a (1 - x)^b / beta(a, b), by Stirling's series where its logarithm would cancel
  const double n = a + b;
  const double off = x - a / n;
  const double front = a < 20 || b < 20
                           ? std::exp(log_gamma(n) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                      b * std::log1p(-x))
                           : std::exp(a * std::log1p(off * n / a) + b * std::log1p(-off * n / b) +
                                      stirling_rest(n) - stirling_rest(a) - stirling_rest(b)) *
                                 std::sqrt(a / n * b / (2 * std::numbers::pi));
  if (x < (a + 1) / (n + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace math

namespace ops {

struct Erf : floating {
  static constexpr std::string_view name = "Erf";
  static constexpr int flops = 40;
  template <class V>
  constexpr V operator()(V x) const {
    return math::erf(x);
  }
  static constexpr AnyExpr gradient(Erf, auto x, auto, auto dy) {
    return dy * (2 * std::numbers::inv_sqrtpi * exp(-square(x)));
  }
};

struct special : floating {
  static constexpr int flops = 100;
  static constexpr bool scalar_body = true;
};

struct Lgamma : special {
  static constexpr std::string_view name = "Lgamma";
  template <class V>
  constexpr V operator()(V x) const {
    return static_cast<V>(math::log_gamma(static_cast<double>(x)));
  }
  static constexpr AnyExpr gradient(Lgamma, auto x, auto, auto dy) { return dy * digamma(x); }
};

struct Digamma : special {
  static constexpr std::string_view name = "Digamma";
  template <class V>
  constexpr V operator()(V x) const {
    return static_cast<V>(math::digamma(static_cast<double>(x)));
  }
  static constexpr AnyExpr gradient(Digamma, auto x, auto, auto dy) { return dy * trigamma(x); }
};

struct Trigamma : special {
  static constexpr std::string_view name = "Trigamma";
  template <class V>
  constexpr V operator()(V x) const {
    return static_cast<V>(math::trigamma(static_cast<double>(x)));
  }
  static constexpr AnyExpr gradient(Trigamma, auto x, auto, auto dy) {
    return dy * detail::apply_untyped(Polygamma{{}, 2}, x);
  }
};

struct Igamma : special {
  static constexpr std::string_view name = "Igamma";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igamma(static_cast<double>(a), static_cast<double>(x)));
  }
};

struct Igammac : special {
  static constexpr std::string_view name = "Igammac";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igammac(static_cast<double>(a), static_cast<double>(x)));
  }
};

struct Betainc : special {
  static constexpr std::string_view name = "Betainc";
  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(
        math::betainc(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
  }
};

}  // namespace ops

/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) over [0, x], elementwise.
template <Tensor X>
constexpr auto erf(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "erf(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Erf{}, x);
}

/// The logarithm of |gamma(x)|, elementwise; infinite at 0 and at negative integers.
template <Tensor X>
constexpr auto lgamma(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "lgamma(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Lgamma{}, x);
}

/// The derivative of lgamma, elementwise; -inf at 0 (+inf at -0), NaN at negative integers.
template <Tensor X>
constexpr auto digamma(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "digamma(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Digamma{}, x);
}

/// The derivative of digamma, elementwise; infinite at 0 and at negative integers.
template <Tensor X>
constexpr auto trigamma(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "trigamma(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Trigamma{}, x);
}

/// The Nth derivative of digamma, elementwise: polygamma<0>(x) is digamma(x), polygamma<1>(x) is
/// trigamma(x). Infinite at 0; at negative integers infinite if N is odd, NaN if N is even.
template <int N, Tensor X>
constexpr auto polygamma(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(N >= 0 && N <= 100, "polygamma<n>(x): n must be from 0 to 100");
  static_assert(detail::in_domain<Domain::floating, X>,
                "polygamma<n>(x): x must be floating-point; convert with cast<float>(x)");
  if constexpr (N == 0) {
    return detail::apply_at(at, ops::Digamma{}, x);
  } else if constexpr (N == 1) {
    return detail::apply_at(at, ops::Trigamma{}, x);
  } else {
    return detail::apply_at(at, ops::Polygamma{{}, N}, x);
  }
}

/// The lower incomplete gamma function P(a, x), elementwise: the distribution function of a gamma
/// variable of shape a. NaN unless a > 0 and x >= 0. It has no gradient.
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
/// small, too. NaN unless a > 0 and x >= 0. It has no gradient.
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
/// beta variable. NaN unless a > 0, b > 0 and 0 <= x <= 1. It has no gradient.
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
