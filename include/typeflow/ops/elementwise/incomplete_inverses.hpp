// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inverses of the incomplete gamma and beta functions: igammainv, igammacinv, betaincinv.
//
// The logarithms of both tails are concave functions of log(x), or of log(x / (1 - x)) for beta, so
// Newton's method on them converges from everywhere. A bracket and bisection guard it against
// rounding. All compute in double for every element type.

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/incomplete_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// The standard normal quantile of p <= 1/2, to 4.5e-4: Abramowitz and Stegun, 26.2.23.
template <std::same_as<double> T>
constexpr T rough_normal_quantile(T log_p) {
  const double t = std::sqrt(-2 * log_p);
  return (2.515517 + t * (0.802853 + t * 0.010328)) /
             (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
         t;
}

/// The x with P(a, x) = p, where q is 1 - p. The smaller of the two must have all its digits.
template <std::same_as<double> T>
constexpr T gamma_quantile(T a, T p, T q) {
  if (!(a > 0) || a == infinity || !(p >= 0 && p <= 1 && q >= 0 && q <= 1)) return nan;
  if (p == 0) return 0;
  if (q == 0) return infinity;
  const bool lower = p < q;
  const double log_p = lower ? std::log(p) : std::log1p(-q);
  const double log_q = lower ? std::log1p(-p) : std::log(q);
  // P(a, x) < x^a / gamma(a + 1), so this is a lower bound of log(x), and x if it is tiny.
  const double least = (log_p + log_gamma(a + 1)) / a;
  if (least < -40) return std::exp(least);
  double low = std::exp(least);
  // Chernoff's bound: Boucheron, Lugosi and Massart, Concentration inequalities, 2.4.
  double high = a + std::sqrt(-2 * a * log_q) - log_q;
  // Wilson and Hilferty's approximation, Abramowitz and Stegun, 26.4.17
  const double z = lower ? rough_normal_quantile(log_p) : -rough_normal_quantile(log_q);
  const double root = 1 - 1 / (9 * a) + z / (3 * std::sqrt(a));
  double x = a * root * root * root;
  if (!(root > 0 && x > low)) x = low;
  if (!(x < high)) x = high;
  for (int i = 0; i < 100; ++i) {
    const double tail = incomplete_gamma<false>(a, x);
    const double rest = incomplete_gamma<true>(a, x);
    const double log_error = lower ? std::log(tail) - log_p : log_q - std::log(rest);
    (log_error > 0 ? high : low) = x;
    const double slope = gamma_front(a, x) * a / (lower ? tail : rest);  // for log(x)
    const double step = -log_error / slope;
    double next = x * std::exp(step);
    if (!(next >= low && next <= high)) next = low + (high - low) / 2;
    const double change = std::abs(next - x);
    x = next;
    if (!(change > 1e-9 * x)) break;
  }
  return x;
}

/// The x with P(a, x) = p, and that with Q(a, x) = q.
template <std::same_as<double> T>
constexpr T igammainv(T a, T p) {
  return gamma_quantile(a, p, 1 - p);
}
template <std::same_as<double> T>
constexpr T igammacinv(T a, T q) {
  return gamma_quantile(a, 1 - q, q);
}

/// The logarithm of I_x(a, b), or of the rest to 1, at x = 1 / (1 + e^-u), and its derivative for
/// u.
struct BetaTail {
  double log_tail;
  double slope;
};
template <std::same_as<double> T>
constexpr BetaTail beta_tail(T a, T b, T u, bool lower) {
  const double x = 1 / (1 + std::exp(-u));
  const double y = 1 / (1 + std::exp(u));
  const bool left = x < (a + 1) / (a + b + 2);
  const bool flip = y < 0.5;
  // The logarithm of the front, which may underflow
  const double n = a + b;
  const double of_a = flip ? (b / n - y) * n / a : (x - a / n) * n / a;
  const double of_b = flip ? (y - b / n) * n / b : (a / n - x) * n / b;
  const double log_x = flip ? std::log1p(-y) : std::log(x);
  const double log_y = flip ? std::log(y) : std::log1p(-x);
  const auto power = [](double c, double of, double log_value, double share) {
    return c * (std::abs(of) < 0.5 ? std::log1p(of) : log_value - std::log(share));
  };
  const double log_front = a < 20 || b < 20
                               ? log_gamma(n) - log_gamma(a) - log_gamma(b) + a * log_x + b * log_y
                               : power(a, of_a, log_x, a / n) + power(b, of_b, log_y, b / n) +
                                     stirling_rest(n) - stirling_rest(a) - stirling_rest(b) +
                                     0.5 * std::log(a / n * b / (2 * std::numbers::pi));
  const double log_part =
      log_front + std::log(left ? beta_fraction(a, b, x) / a : beta_fraction(b, a, y) / b);
  const double log_tail = left == lower ? log_part : std::log1p(-std::exp(std::fmin(log_part, 0)));
  return {log_tail, std::exp(log_front - log_tail)};
}

/// The x with I_x(a, b) = p.
template <std::same_as<double> T>
constexpr T betaincinv(T a, T b, T p) {
  if (!(a > 0) || !(b > 0) || a == infinity || b == infinity || !(p >= 0 && p <= 1)) return nan;
  if (p == 0 || p == 1) return p;
  const double q = 1 - p;
  const bool lower = p < q;
  const double log_p = lower ? std::log(p) : std::log1p(-q);
  const double log_q = lower ? std::log1p(-p) : std::log(q);
  // Near the ends the first term of the series is all.
  const double log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  const double tiny_x = (log_p + std::log(a) + log_beta) / a;
  if (tiny_x < -38 - std::log1p(b)) return std::exp(tiny_x);
  const double tiny_y = (log_q + std::log(b) + log_beta) / b;
  if (tiny_y < -38 - std::log1p(a)) return 1;
  const double z = lower ? rough_normal_quantile(log_p) : -rough_normal_quantile(log_q);
  double u = digamma(a) - digamma(b) + z * std::sqrt(trigamma(a) + trigamma(b));
  double low = -700;
  double high = 700;
  if (!(u > low && u < high)) u = 0;
  for (int i = 0; i < 200; ++i) {
    const BetaTail tail = beta_tail(a, b, u, lower);
    const double log_error = lower ? tail.log_tail - log_p : log_q - tail.log_tail;
    (log_error > 0 ? high : low) = u;
    double next = u - log_error / tail.slope;
    if (!(next >= low && next <= high)) next = low + (high - low) / 2;
    const double change = std::abs(next - u);
    u = next;
    if (!(change > 1e-9)) break;
  }
  return 1 / (1 + std::exp(-u));
}

}  // namespace math

namespace ops {

/// What igammainv and igammacinv share. sign is that of the slope for the probability.
struct gamma_inverse : special {
  static constexpr int flops = 1000;
  static constexpr std::array<AnyExpr, 2> slopes(int sign, auto a, auto x, auto dy) {
    const AnyExpr scaled = dy / detail::apply_untyped(GammaDensity{}, a, x);
    return {-scaled * detail::apply_untyped(IgammaGradA{}, a, x), sign > 0 ? scaled : -scaled};
  }
};

struct Igammainv : gamma_inverse {
  static constexpr std::string_view name = "Igammainv";
  template <class V>
  constexpr V operator()(V a, V p) const {
    return static_cast<V>(math::igammainv(static_cast<double>(a), static_cast<double>(p)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(Igammainv, auto a, auto, auto x, auto dy) {
    return slopes(1, a, x, dy);
  }
};

struct Igammacinv : gamma_inverse {
  static constexpr std::string_view name = "Igammacinv";
  template <class V>
  constexpr V operator()(V a, V q) const {
    return static_cast<V>(math::igammacinv(static_cast<double>(a), static_cast<double>(q)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(Igammacinv, auto a, auto, auto x, auto dy) {
    return slopes(-1, a, x, dy);
  }
};

struct Betaincinv : special {
  static constexpr std::string_view name = "Betaincinv";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V a, V b, V p) const {
    return static_cast<V>(
        math::betaincinv(static_cast<double>(a), static_cast<double>(b), static_cast<double>(p)));
  }
  static constexpr std::array<AnyExpr, 3> gradient(Betaincinv, auto a, auto b, auto, auto x,
                                                   auto dy) {
    const AnyExpr scaled = dy / detail::apply_untyped(BetaDensity{}, a, b, x);
    return {-scaled * detail::apply_untyped(BetaincGrad{{}, 0}, a, b, x),
            -scaled * detail::apply_untyped(BetaincGrad{{}, 1}, a, b, x), scaled};
  }
};

}  // namespace ops

/// The x with igamma(a, x) = p, elementwise: the quantile of a gamma variable of shape a. 0 for p =
/// 0, infinite for p = 1, NaN unless a > 0 and 0 <= p <= 1. Its gradient for a has no gradient.
template <class A, class P>
  requires Operands<A, P>
constexpr auto igammainv(const A& a, const P& p,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, P>,
                "igammainv(a, p): the element types must be equal; convert with cast<T>(p)");
  static_assert(detail::broadcasts<A, P>, "igammainv(a, p): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, P>,
                "igammainv(a, p): a and p must be floating-point; convert with cast<float>(p)");
  return detail::apply_at(at, ops::Igammainv{}, a, p);
}

/// The x with igammac(a, x) = q, elementwise, precise where q is small, too. Infinite for q = 0, 0
/// for q = 1, NaN unless a > 0 and 0 <= q <= 1. Its gradient for a has no gradient.
template <class A, class Q>
  requires Operands<A, Q>
constexpr auto igammacinv(const A& a, const Q& q,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, Q>,
                "igammacinv(a, q): the element types must be equal; convert with cast<T>(q)");
  static_assert(detail::broadcasts<A, Q>, "igammacinv(a, q): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, Q>,
                "igammacinv(a, q): a and q must be floating-point; convert with cast<float>(q)");
  return detail::apply_at(at, ops::Igammacinv{}, a, q);
}

/// The x with betainc(a, b, x) = p, elementwise: the quantile of a beta variable. NaN unless a > 0,
/// b > 0 and 0 <= p <= 1. Its gradients for a and b have no gradient.
template <class A, class B, class P>
  requires Operands<A, B, P>
constexpr auto betaincinv(const A& a, const B& b, const P& p,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B, P>,
                "betaincinv(a, b, p): the element types must be equal; convert with cast<T>(p)");
  static_assert(detail::broadcasts<A, B, P>, "betaincinv(a, b, p): the shapes do not broadcast");
  static_assert(
      detail::in_domain<Domain::floating, A, B, P>,
      "betaincinv(a, b, p): a, b and p must be floating-point; convert with cast<float>(p)");
  return detail::apply_at(at, ops::Betaincinv{}, a, b, p);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
