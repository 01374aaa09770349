// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of the family of gamma: zeta, and lbeta, the logarithm of the beta function.

#include <cmath>
#include <concepts>
#include <limits>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// The sum of (k + q)^-x over k >= 0, for x > 1 and q > 0, by the Euler-Maclaurin formula (DLMF
/// 25.11.5).
template <std::same_as<double> T>
constexpr T zeta_sum(T x, T q) {
  if (q == infinity) return 0;
  if (x == infinity) return q > 1 ? 0 : q == 1 ? 1 : infinity;
  const double epsilon = std::numeric_limits<double>::epsilon();
  double sum = 0;
  double a = q;
  for (; a < 10; ++a) {
    const double term = std::pow(a, -x);
    sum += term;
    if (term == infinity) return infinity;
  }
  const double power = std::pow(a, -x);
  sum += power * a / (x - 1) + power / 2;
  // B_2i / (2i)!
  constexpr double bernoulli[] = {1.0 / 12,
                                  -1.0 / 720,
                                  1.0 / 30240,
                                  -1.0 / 1209600,
                                  1.0 / 47900160,
                                  -691.0 / 1307674368000,
                                  1.0 / 74724249600,
                                  -3617.0 / 10670622842880000,
                                  43867.0 / 5109094217170944000};
  double factor = x * power / a;  // x (x + 1) ... (x + 2i) a^-(x + 2i + 1)
  double k = x;
  for (const double b : bernoulli) {
    const double term = factor * b;
    sum += term;
    if (std::abs(term) < sum * (epsilon / 16)) break;
    factor *= (k + 1) / a * ((k + 2) / a);
    k += 2;
  }
  return sum;
}

/// The same for any x and q, as far as it is defined.
template <std::same_as<double> T>
constexpr T zeta(T x, T q) {
  if (x == 1) return infinity;
  if (!(x > 1) || std::isnan(q) || q == -infinity) return nan;
  if (q > 0) return zeta_sum(x, q);
  const double below = std::floor(q);
  if (q == below) return infinity;
  if (x != std::floor(x) || x == infinity) return nan;  // powers of negative numbers
  // The negative numbers k + q are -(1 - f), -(2 - f), ..., -|q|; those above 0 begin with f.
  const double f = q - below;
  const double negative = zeta_sum(x, 1 - f) - zeta_sum(x, 1 - q);
  return zeta_sum(x, f) + (std::fmod(x, 2) == 0 ? negative : -negative);
}

}  // namespace math

namespace ops {

struct Zeta : special {
  static constexpr std::string_view name = "Zeta";
  template <class V>
  constexpr V operator()(V x, V q) const {
    return static_cast<V>(math::zeta(static_cast<double>(x), static_cast<double>(q)));
  }
};

}  // namespace ops

/// Hurwitz' zeta function, the sum of (k + q)^-x over k >= 0, elementwise; Riemann's is zeta(x, 1).
/// NaN for x < 1, infinite at x = 1 and where q is 0 or a negative integer, NaN for other negative
/// q unless x is whole. It has no gradient.
template <class X, class Q>
  requires Operands<X, Q>
constexpr auto zeta(const X& x, const Q& q,
                    std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<X, Q>,
                "zeta(x, q): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<X, Q>, "zeta(x, q): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, X, Q>,
                "zeta(x, q): x and q must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Zeta{}, x, q);
}

/// The logarithm of the absolute value of the beta function of the numbers along the last axis:
/// sum(lgamma(x)) - lgamma(sum(x)). -inf without numbers. (.., K) -> (..)
template <TypedExpr X>
constexpr auto lbeta(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(X::rank > 0, "lbeta(x): x must have an axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "lbeta(x): x must be floating-point; convert with cast<float>(x)");
  if constexpr (X::rank > 0) {
    return detail::in_float(
        x,
        [&](const auto& v) {
          return sum<-1>(lgamma(v, at), {}, at) - lgamma(sum<-1>(v, {}, at), at);
        },
        at);
  } else {
    return lgamma(x, at);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
