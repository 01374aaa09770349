// SPDX-License-Identifier: Apache-2.0
#pragma once

// Special functions: erf, lgamma, digamma, trigamma, polygamma.
//
// All but polygamma run on SIMD values. That has loops whose length depends on the element, so
// kernels call it lane by lane. For numbers all but erf compute in double for every element type.
// Functions of doubles are templates here: those may be constexpr whatever they call, and nvcc asks
// no more of functions that both processors run.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/elementwise/digamma_constants.hpp"
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
    const double other = 0.5 - std::abs(rest);
    y = -std::numbers::pi * (other < 0.25 ? std::copysign(std::tan(std::numbers::pi * other), rest)
                                          : 1 / std::tan(std::numbers::pi * rest));
    x = 1 - x;
  }
  if (x < 10) {
    double above_one = x - 1;
    if (x < 1) {
      y -= 1 / x;
      above_one = x;
    }
    for (; above_one >= 1; --above_one) y += 1 / above_one;
    constexpr DigammaRatio ratio = digamma_ratio();
    return y +
           (above_one - digamma_root - digamma_root_rest) * polynomial(above_one - 0.5, ratio.v);
  }
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
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (Element<V>) {
      return static_cast<V>(math::log_gamma(static_cast<double>(x)));
    } else {
      return math::OfBatch<V>::log_gamma(x, &math::log_gamma<double>);
    }
  }
  static constexpr AnyExpr gradient(Lgamma, auto x, auto, auto dy) { return dy * digamma(x); }
};

struct Digamma : special {
  static constexpr std::string_view name = "Digamma";
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (Element<V>) {
      return static_cast<V>(math::digamma(static_cast<double>(x)));
    } else {
      return math::OfBatch<V>::digamma(x);
    }
  }
  static constexpr AnyExpr gradient(Digamma, auto x, auto, auto dy) { return dy * trigamma(x); }
};

struct Trigamma : special {
  static constexpr std::string_view name = "Trigamma";
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (Element<V>) {
      return static_cast<V>(math::trigamma(static_cast<double>(x)));
    } else {
      return math::OfBatch<V>::trigamma(x);
    }
  }
  static constexpr AnyExpr gradient(Trigamma, auto x, auto, auto dy) {
    return dy * detail::apply_untyped(Polygamma{{}, 2}, x);
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

}  // namespace typeflow::inline TYPEFLOW_ISA
