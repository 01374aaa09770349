// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions that densities are made of: the normal distribution function ndtr, its logarithm and
// its inverse; xlogy, xlog1py and lbeta. Their names are those of SciPy and TensorFlow.

#include <limits>
#include <numbers>
#include <type_traits>

#include "typeflow/derivatives.hpp"
#include "typeflow/distributions/stirling.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

namespace detail {
inline constexpr double half_log_2_pi = 0.91893853320467274178;  // log(2 pi) / 2
inline constexpr double log_pi = 1.1447298858494001741;
}  // namespace detail

/// The standard normal distribution function, precise in both tails. (S) -> (S)
template <TypedExpr X>
constexpr auto ndtr(const X& x) {
  return 0.5 * erfc(x * -std::numbers::sqrt2 / 2);
}

/// log(ndtr(x)), also where ndtr(x) underflows. (S) -> (S)
///
/// Far in the lower tail it is the asymptotic series of Abramowitz and Stegun, 26.2.12.
template <TypedExpr X>
constexpr auto log_ndtr(const X& x) {
  constexpr double far = std::is_same_v<typename X::element, float> ? -10 : -30;
  const auto lower = less(x, far);
  const auto upper = greater(x, 0);
  const auto z = where(lower, x, far);
  const auto r = 1 / square(z);
  const auto series = 1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r))));
  const auto tail = -0.5 * square(z) - log(-z) - detail::half_log_2_pi + log(series);
  const auto below = log(ndtr(where(lower, far, minimum(x, 0))));
  const auto above = log1p(-ndtr(-maximum(x, 0)));
  return where(upper, above, where(lower, tail, below));
}

/// The x with ndtr(x) = p: the standard normal quantile. NaN outside of [0, 1]. (S) -> (S)
///
/// In the middle it is erfinv. In the tails, where 2 p - 1 would lose digits of p, Newton's method
/// solves log_ndtr(x) = log(p). Its gradient is the reciprocal of the density.
template <TypedExpr P>
constexpr auto ndtri(const P& p) {
  const auto value = [](const auto& q) {
    const auto upper = greater(q, 0.5);
    const auto tail = where(upper, 1 - q, q);  // exact: q is above 1/2
    const auto middle = greater(tail, 0.05);
    const auto ends = less_equal(tail, 0);
    const auto small = where(logical_or(middle, ends), 0.01, tail);
    const auto log_p = log(small);
    // Starts with the leading terms of the quantile's expansion.
    const auto t = sqrt(-2 * log_p);
    auto x = (log(t) + detail::half_log_2_pi) / t - t;
    for (int i = 0; i < 4; ++i) {
      const auto log_cdf = log_ndtr(x);
      const auto log_density = -0.5 * square(x) - detail::half_log_2_pi;
      x = x - (log_cdf - log_p) * exp(log_cdf - log_density);
    }
    const auto half = where(middle, -std::numbers::sqrt2 * erfinv(1 - 2 * tail), x);
    const auto lower_half =
        where(equal(tail, 0), -std::numeric_limits<double>::infinity(),
              where(less(tail, 0), std::numeric_limits<double>::quiet_NaN(), half));
    return where(is_nan(q), q, where(upper, -lower_half, lower_half));
  };
  const auto rule = [](auto, auto x, auto dx) {
    return dx * exp(0.5 * square(x) + detail::half_log_2_pi);
  };
  return custom_gradient(value, rule, p);
}

/// x log(y), and 0 where both are 0. (A) x (B) -> (A+B)
template <TypedExpr X, TypedExpr Y>
constexpr auto xlogy(const X& x, const Y& y) {
  const auto zeros = logical_and(equal(x, 0), equal(y, 0));
  return x * log(where(zeros, 1, y));
}

/// x log(1 + y), and 0 where x = 0 and y = -1. (A) x (B) -> (A+B)
template <TypedExpr X, TypedExpr Y>
constexpr auto xlog1py(const X& x, const Y& y) {
  const auto zeros = logical_and(equal(x, 0), equal(y, -1));
  return x * log1p(where(zeros, 0, y));
}

/// The logarithm of the beta function: log(gamma(a) gamma(b) / gamma(a + b)). (A) x (B) -> (A+B)
template <TypedExpr A, TypedExpr B>
constexpr auto lbeta(const A& a, const B& b) {
  const auto first = greater_equal(a, b);
  const auto small = where(first, b, a);
  return lgamma(small) - detail::log_gamma_growth(where(first, a, b), small);
}

namespace detail {
/// log(1 + x^2), also where x^2 overflows. (S) -> (S)
template <TypedExpr X>
constexpr auto log1p_square(const X& x) {
  const auto far = greater(abs(x), 1e8);
  return where(far, 2 * log(where(far, abs(x), 1)), log1p(square(where(far, 0, x))));
}

/// log(p), or log(1 - p). If that is -inf and nothing depends on it, its gradient is 0, not 0 / 0.
template <bool Other, TypedExpr P>
constexpr auto log_probability(const P& given) {
  const auto value = [](const auto& p) {
    if constexpr (Other) {
      return log1p(-p);
    } else {
      return log(p);
    }
  };
  const auto rule = [](auto p, auto, auto dy) {
    const auto x = Other ? 1 - p : p;
    const auto slope = dy / where(logical_and(equal(x, 0), equal(dy, 0)), 1, x);
    return Other ? -slope : slope;
  };
  return custom_gradient(value, rule, given);
}
}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
