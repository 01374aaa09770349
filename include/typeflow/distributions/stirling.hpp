// SPDX-License-Identifier: Apache-2.0
#pragma once

// Logarithms of the factors of densities where the differences of lgamma, each of which is large,
// would cancel: by Stirling's series. In float a Poisson probability of rate 10000 would otherwise
// have three digits, a binomial one of 1000000 trials none.

#include <numbers>

#include "typeflow/graph.hpp"
#include "typeflow/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions::detail {

/// From which on Stirling's series is used; its error is 1e-15.
inline constexpr double many = 20;

/// log(gamma(a) / (sqrt(2 pi / a) (a / e)^a)) for a >= 20. (S) -> (S)
template <TypedExpr A>
constexpr auto stirling_rest(const A& a) {
  const auto r = 1 / square(a);
  return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / a;
}
/// log(gamma(a + more) / gamma(a)). (A) x (B) -> (A+B)
template <TypedExpr A, TypedExpr B>
constexpr auto log_gamma_growth(const A& a, const B& more) {
  const auto far = greater_equal(a, many);
  const auto x = where(far, a, many);
  const auto growth = (x - 0.5) * log1p(more / x) + more * (log(x + more) - 1) +
                      stirling_rest(x + more) - stirling_rest(x);
  const auto near = where(far, 1, a);
  return where(far, growth, lgamma(near + more) - lgamma(near));
}
/// log(a) - digamma(a) for a >= 20. (S) -> (S)
template <TypedExpr A>
constexpr auto digamma_rest(const A& a) {
  const auto r = 1 / square(a);
  return 0.5 / a + r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}
/// digamma(a + more) - digamma(a). (A) x (B) -> (A+B)
template <TypedExpr A, TypedExpr B>
constexpr auto digamma_growth(const A& a, const B& more) {
  const auto far = greater_equal(a, many);
  const auto x = where(far, a, many);
  const auto near = where(far, 1, a);
  return where(far, log1p(more / x) + digamma_rest(x) - digamma_rest(x + more),
               digamma(near + more) - digamma(near));
}
/// log(1 + x), if 1 + x is known as a ratio that x has less digits of.
template <TypedExpr X, TypedExpr R>
constexpr auto log_of_ratio(const X& x, const R& ratio) {
  const auto near = less(abs(x), 0.5);
  return where(near, log1p(where(near, x, 0)), log(where(near, 1, ratio)));
}

/// How much lgamma(b) is above its tangent at a: lgamma(b) - lgamma(a) - (b - a) digamma(a).
/// (A) x (B) -> (A+B)
template <TypedExpr A, TypedExpr B>
constexpr auto above_tangent(const A& a, const B& b) {
  const auto far = greater_equal(minimum(a, b), many);
  const auto x = where(far, a, many);
  const auto y = where(far, b, many);
  const auto more = y - x;
  const auto large = (y - 0.5) * log_of_ratio(more / x, y / x) - more + more * digamma_rest(x) +
                     stirling_rest(y) - stirling_rest(x);
  const auto u = where(far, 1, a);
  const auto v = where(far, 1, b);
  return where(far, large, lgamma(v) - lgamma(u) - (v - u) * digamma(u));
}

/// log(x^a e^-x / gamma(a + 1)) for a >= 20: a Poisson probability. (A) x (X) -> (A+X)
template <TypedExpr A, TypedExpr X>
constexpr auto log_many_events(const A& a, const X& x) {
  const auto off = (x - a) / a;
  return -a * (off - log_of_ratio(off, x / a)) - stirling_rest(a) -
         0.5 * log(2 * std::numbers::pi * a);
}
/// log(p^k q^m gamma(n + 1) / gamma(k + 1) / gamma(m + 1)) for k, m >= 20, q = 1 - p and
/// n = k + m: a binomial probability. (K) x (M) x (P) x (P) -> (K+M+P)
template <TypedExpr K, TypedExpr M, TypedExpr P, TypedExpr Q>
constexpr auto log_many_trials(const K& k, const M& m, const P& p, const Q& q) {
  const auto n = k + m;
  // How much the mean is above k. Its error counts twice, with different signs.
  const auto more = where(less(p, 0.5), n * p - k, m - n * q);
  return k * log_of_ratio(more / k, n * p / k) + m * log_of_ratio(-more / m, n * q / m) +
         0.5 * log(n / k / m * (0.5 * std::numbers::inv_pi)) + stirling_rest(n) - stirling_rest(k) -
         stirling_rest(m);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions::detail
