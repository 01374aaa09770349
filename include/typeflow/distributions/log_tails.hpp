// SPDX-License-Identifier: Apache-2.0
#pragma once

// What distribution functions need beside igamma, igammac and betainc: the complement of betainc,
// and the logarithms of all four, which are finite where the functions underflow. All compute in
// double for every element type. Gradients for the parameters a and b have no gradients.

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "typeflow/graph.hpp"
#include "typeflow/ops/elementwise/incomplete_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// log(1 - e^x) for x <= 0.
template <std::same_as<double> T>
constexpr T log1mexp(T x) {
  return x > -0.6931471805599453 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}
/// The derivative of log1mexp(y), if `slope` is that of y.
template <std::same_as<double> T>
constexpr T log1mexp_slope(T y, T slope) {
  return slope == 0 ? 0 : -slope / std::expm1(-y);
}

/// The logarithm of P(a, x), or of 1 - P(a, x).
template <std::same_as<double> T>
constexpr T log_igamma(T a, T x, bool upper) {
  if (!(a > 0) || !(x >= 0) || a == infinity) return nan;
  if (x == 0 || x == infinity) return upper == (x == 0) ? 0 : -infinity;
  if (is_low_gamma(a, x)) {
    const double rest = low_igammac(a, x);
    if (rest < 0.5) return upper ? std::log(rest) : std::log1p(-rest);
  }
  const double near = log_gamma_front(a, x) + std::log(gamma_factor(a, x));
  return upper == from_upper(a, x) ? near : log1mexp(near);
}
/// Its derivative for a or x.
template <std::same_as<double> T>
constexpr T log_igamma_slope(T a, T x, bool upper, bool for_a) {
  if (!(a > 0) || !(x > 0 && x < infinity) || a == infinity) return nan;
  const bool of_upper = from_upper(a, x);
  const double factor = gamma_factor(a, x);
  const double of_lower = (for_a ? gamma_slope_factor(a, x) : a / x) / factor;
  const double near = of_upper ? -of_lower : of_lower;
  if (upper == of_upper) return near;
  return log1mexp_slope(log_gamma_front(a, x) + std::log(factor), near);
}

/// The logarithm of I_x(a, b), or of 1 - I_x(a, b).
template <std::same_as<double> T>
constexpr T log_betainc(T a, T b, T x, bool upper) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a == infinity || b == infinity) return nan;
  if (x == 0 || x == 1) return upper == (x == 0) ? 0 : -infinity;
  const double near = log_beta_front(a, b, x) + std::log(beta_factor(a, b, x));
  return upper == from_upper_beta(a, b, x) ? near : log1mexp(near);
}
/// Its derivative for argument 0, 1 or 2: a, b or x.
template <std::same_as<double> T>
constexpr T log_betainc_slope(T a, T b, T x, bool upper, std::uint32_t argument) {
  if (!(a > 0) || !(b > 0) || !(x > 0 && x < 1) || a == infinity || b == infinity) return nan;
  const bool of_upper = from_upper_beta(a, b, x);
  const double factor = beta_factor(a, b, x);
  const double of_lower =
      (argument == 2 ? 1 / x / (1 - x) : beta_slope_factor(a, b, x, argument == 1)) / factor;
  const double near = of_upper ? -of_lower : of_lower;
  if (upper == of_upper) return near;
  return log1mexp_slope(log_beta_front(a, b, x) + std::log(factor), near);
}

}  // namespace math

namespace ops {

/// 1 - betainc(a, b, x).
struct Betaincc : special {
  static constexpr std::string_view name = "Betaincc";
  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(math::incomplete_beta<true>(
        static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 3> gradient(Betaincc, auto a, auto b, auto x, auto y,
                                                   auto dy) {
    return Betainc::gradient(Betainc{}, a, b, x, y, -dy);
  }
};

/// The derivative of LogIgamma for a. It has no gradient.
struct LogIgammaGradA : special {
  static constexpr std::string_view name = "LogIgammaGradA";
  static constexpr int flops = 200;
  std::uint32_t upper;

  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(
        math::log_igamma_slope(static_cast<double>(a), static_cast<double>(x), upper != 0, true));
  }
};
/// The derivative of LogIgamma for x: the density over the function.
struct LogIgammaGradX : special {
  static constexpr std::string_view name = "LogIgammaGradX";
  static constexpr int flops = 200;
  std::uint32_t upper;

  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(
        math::log_igamma_slope(static_cast<double>(a), static_cast<double>(x), upper != 0, false));
  }
  static constexpr std::array<AnyExpr, 2> gradient(LogIgammaGradX op, auto a, auto x, auto y,
                                                   auto dy) {
    const AnyExpr scaled = dy * y;
    const AnyExpr for_a = detail::apply_untyped(LogIgammaGradA{{}, op.upper}, a, x);
    return {scaled * (log(x) - digamma(a) - for_a), scaled * ((a - 1) / x - 1 - y)};
  }
};
/// log(igamma(a, x)), or log(igammac(a, x)).
struct LogIgamma : special {
  static constexpr std::string_view name = "LogIgamma";
  std::uint32_t upper;

  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(
        math::log_igamma(static_cast<double>(a), static_cast<double>(x), upper != 0));
  }
  static constexpr std::array<AnyExpr, 2> gradient(LogIgamma op, auto a, auto x, auto, auto dy) {
    return {dy * detail::apply_untyped(LogIgammaGradA{{}, op.upper}, a, x),
            dy * detail::apply_untyped(LogIgammaGradX{{}, op.upper}, a, x)};
  }
};

/// The derivative of LogBetainc for a or b. It has no gradient.
struct LogBetaincGrad : special {
  static constexpr std::string_view name = "LogBetaincGrad";
  static constexpr int flops = 200;
  std::uint32_t upper;
  std::uint32_t for_b;

  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(math::log_betainc_slope(static_cast<double>(a), static_cast<double>(b),
                                                  static_cast<double>(x), upper != 0, for_b));
  }
};
/// The derivative of LogBetainc for x: the density over the function.
struct LogBetaincGradX : special {
  static constexpr std::string_view name = "LogBetaincGradX";
  static constexpr int flops = 200;
  std::uint32_t upper;

  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(math::log_betainc_slope(static_cast<double>(a), static_cast<double>(b),
                                                  static_cast<double>(x), upper != 0, 2));
  }
  static constexpr std::array<AnyExpr, 3> gradient(LogBetaincGradX op, auto a, auto b, auto x,
                                                   auto y, auto dy) {
    const AnyExpr scaled = dy * y;
    const AnyExpr of_sum = digamma(a + b);
    const AnyExpr for_a = detail::apply_untyped(LogBetaincGrad{{}, op.upper, 0}, a, b, x);
    const AnyExpr for_b = detail::apply_untyped(LogBetaincGrad{{}, op.upper, 1}, a, b, x);
    return {scaled * (log(x) - digamma(a) + of_sum - for_a),
            scaled * (log1p(-x) - digamma(b) + of_sum - for_b),
            scaled * ((a - 1) / x - (b - 1) / (1 - x) - y)};
  }
};
/// log(betainc(a, b, x)), or log(1 - betainc(a, b, x)).
struct LogBetainc : special {
  static constexpr std::string_view name = "LogBetainc";
  std::uint32_t upper;

  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(math::log_betainc(static_cast<double>(a), static_cast<double>(b),
                                            static_cast<double>(x), upper != 0));
  }
  static constexpr std::array<AnyExpr, 3> gradient(LogBetainc op, auto a, auto b, auto x, auto,
                                                   auto dy) {
    return {dy * detail::apply_untyped(LogBetaincGrad{{}, op.upper, 0}, a, b, x),
            dy * detail::apply_untyped(LogBetaincGrad{{}, op.upper, 1}, a, b, x),
            dy * detail::apply_untyped(LogBetaincGradX{{}, op.upper}, a, b, x)};
  }
};

}  // namespace ops

namespace distributions::detail {

/// log(igamma(a, x)) and log(igammac(a, x)). (A) x (X) -> (A+X)
template <TypedExpr A, TypedExpr X>
constexpr auto log_igamma(const A& a, const X& x) {
  return apply(ops::LogIgamma{{}, 0}, a, x);
}
template <TypedExpr A, TypedExpr X>
constexpr auto log_igammac(const A& a, const X& x) {
  return apply(ops::LogIgamma{{}, 1}, a, x);
}
/// 1 - betainc(a, b, x), and the logarithms of both. (A) x (B) x (X) -> (A+B+X)
template <TypedExpr A, TypedExpr B, TypedExpr X>
constexpr auto betaincc(const A& a, const B& b, const X& x) {
  return apply(ops::Betaincc{}, a, b, x);
}
template <TypedExpr A, TypedExpr B, TypedExpr X>
constexpr auto log_betainc(const A& a, const B& b, const X& x) {
  return apply(ops::LogBetainc{{}, 0}, a, b, x);
}
template <TypedExpr A, TypedExpr B, TypedExpr X>
constexpr auto log_betaincc(const A& a, const B& b, const X& x) {
  return apply(ops::LogBetainc{{}, 1}, a, b, x);
}

/// log(1 - e^x) for x <= 0, where neither loses digits. (S) -> (S)
template <TypedExpr X>
constexpr auto log1mexp(const X& x) {
  const auto near = greater(x, -std::numbers::ln2);
  return where(near, log(-expm1(where(near, x, -1))), log1p(-exp(where(near, -1, x))));
}
/// log(p) of p and q = 1 - p, from the smaller of the two. (P) x (P) -> (P)
template <TypedExpr P, TypedExpr Q>
constexpr auto log_from(const P& p, const Q& q) {
  const auto upper = greater(p, 0.5);
  return where(upper, log1p(-where(upper, q, 0)), log(where(upper, 1, p)));
}

}  // namespace distributions::detail

}  // namespace typeflow::inline TYPEFLOW_ISA
