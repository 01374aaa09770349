// SPDX-License-Identifier: Apache-2.0
#pragma once

// The derivatives of digamma, from which its gradients of every order are made.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>

#include "typeflow/ops/elementwise/math.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

inline constexpr int most_derivatives = 170;  ///< 171! is no finite double

/// The nth derivative of cot(pi x) over pi^n, from the cotangent c. The derivative of a polynomial
/// p(c) is -(1 + c^2) p'(c).
template <std::same_as<double> T>
constexpr T cotangent_derivative(int n, T c) {
  double p[most_derivatives + 2] = {0, 1};
  for (int i = 0; i < n; ++i) {  // p has the degree i + 1
    double previous = 0;         // coefficient k - 1 of p'
    for (int k = 0; k <= i + 2; ++k) {
      const double slope = k <= i ? (k + 1) * p[k + 1] : 0;
      const double below = k >= 2 ? previous : 0;
      if (k >= 1) previous = k * p[k];
      p[k] = -slope - below;
    }
  }
  double y = 0;
  for (int k = n + 1; k >= 0; --k) y = y * c + p[k];
  return y;
}

/// n! times the sum of 1 / (x + k)^(n+1) over k >= 0, for x > 0, by the Euler-Maclaurin formula
/// (DLMF 25.11.5).
template <std::same_as<double> T>
constexpr T polygamma_sum(int n, T x) {
  if (x == std::numeric_limits<double>::infinity()) return 0;
  // (n - 1)! / a^n, its factors in an order that neither over- nor underflows
  const auto falling = [n](double a) {
    double y = 1 / a;
    for (int k = 1; k < n; ++k) y *= k / a;
    return y;
  };
  double sum = 0;
  double a = x;
  for (; a < n + 10; ++a) sum += falling(a) * (n / a);
  // (2j)! over the Bernoulli number 2j
  constexpr double factors[] = {12.0,
                                -720.0,
                                30240.0,
                                -1209600.0,
                                47900160.0,
                                -1.8924375803183791606e9,
                                7.47242496e10,
                                -2.950130727918164224e12,
                                1.1646782814350067249e14,
                                -4.5979787224074726105e15,
                                1.8152105401943546773e17,
                                -7.1661652561756670113e18};
  const double head = falling(a);
  const double term = head * (n / a);
  double power = term * ((n + 1) / a);
  double tail = 0;
  double top = n + 2;
  for (const double factor : factors) {
    tail += power / factor;
    power *= top / a * ((top + 1) / a);
    top += 2;
  }
  return sum + (tail + term / 2 + head);
}

/// The nth derivative, n >= 1, of digamma: (-1)^(n+1) polygamma_sum (DLMF 5.15.8); below 0 by
/// reflection (DLMF 5.15.6). Infinite at 0, and at negative integers if n is odd; NaN there if n is
/// even.
template <std::same_as<double> T>
constexpr T polygamma(int n, T x) {
  if (n > most_derivatives || x == -std::numeric_limits<double>::infinity()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double sign = n % 2 == 1 ? 1 : -1;
  if (!(x <= 0)) return sign * polygamma_sum(n, x);
  const double rest = x - std::nearbyint(x);
  if (!(std::abs(rest) > 0)) {
    if (n % 2 == 1) return std::numeric_limits<double>::infinity();
    return x < 0 ? std::numeric_limits<double>::quiet_NaN() : -1 / x;
  }
  const double other = 0.5 - std::abs(rest);  // exact near its zeros
  const double cotangent = other < 0.25 ? std::copysign(std::tan(std::numbers::pi * other), rest)
                                        : 1 / std::tan(std::numbers::pi * rest);
  return -std::pow(std::numbers::pi, n + 1) * cotangent_derivative(n, cotangent) -
         polygamma_sum(n, 1 - x);
}

}  // namespace math

namespace ops {

struct Polygamma : floating {
  static constexpr std::string_view name = "Polygamma";
  static constexpr int flops = 200;
  static constexpr bool scalar_body = true;
  std::int32_t order;  ///< 1 and more

  template <class V>
  constexpr V operator()(V x) const {
    return static_cast<V>(math::polygamma(order, static_cast<double>(x)));
  }
  static constexpr AnyExpr gradient(Polygamma op, auto x, auto, auto dy) {
    return dy * detail::apply_untyped(Polygamma{{}, op.order + 1}, x);
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
