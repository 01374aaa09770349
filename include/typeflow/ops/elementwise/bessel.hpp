// SPDX-License-Identifier: Apache-2.0
#pragma once

// Modified Bessel functions of the first kind: bessel_i0, bessel_i1, and bessel_i0e, bessel_i1e,
// which are divided by e^|x|. For numbers they compute in double for every element type, like the
// other special functions.

#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <source_location>

#include "typeflow/ops/elementwise/rounding.hpp"
#include "typeflow/ops/elementwise/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// e^-x I_n(x) for n = 0 or 1 and x >= 20, over 1 / sqrt(2 pi x): Hankel's expansion (DLMF
/// 10.40.1), whose terms fall to e^(-2x) before they rise.
template <std::same_as<double> T>
constexpr T bessel_expansion(int n, T x) {
  double sum = 1;
  double term = 1;
  for (int k = 1; k < 40 && std::abs(term) > 1e-17; ++k) {
    const int odd = 2 * k - 1;
    term *= (odd * odd - 4 * n) / (8 * x * k);
    sum += term;
  }
  return sum;
}
/// I_n(x) for n = 0 or 1 and 0 <= x < 20, over (x / 2)^n: the power series (DLMF 10.25.2).
template <std::same_as<double> T>
constexpr T bessel_series(int n, T x) {
  double sum = 1;
  double term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= x * x / (4 * k * (k + n));
    sum += term;
  }
  return sum;
}

/// I_n(x), n = 0 or 1; over e^|x| if it is to be scaled.
template <std::same_as<double> T>
constexpr T bessel_i(int n, bool scaled, T x) {
  const double size = std::abs(x);
  const double sign = n == 1 && x < 0 ? -1 : 1;
  if (size == infinity) return sign * (scaled ? 0 : infinity);
  if (size < 20) {
    const double factor = n == 1 ? x / 2 : 1;
    return factor * bessel_series(n, size) * (scaled ? std::exp(-size) : 1);
  }
  const double y =
      sign * bessel_expansion(n, size) / (std::sqrt(2 * std::numbers::pi) * std::sqrt(size));
  const double root = scaled ? 1 : std::exp(size / 2);  // e^size is infinite before I_n is
  return y * root * root;
}

/// The same for numbers of any type, and for SIMD batches.
template <int Order, class V>
constexpr V bessel(const V& x, bool scaled) {
  if constexpr (Element<V>) {
    return static_cast<V>(bessel_i(Order, scaled, static_cast<double>(x)));
  } else {
    return OfBatch<V>::template bessel_i<Order>(x, scaled);
  }
}

}  // namespace math

namespace ops {

namespace bessel {
// Not bessel_i1(x): its type is deduced, which for clang depends on that of a gradient that calls
// it.
constexpr AnyExpr i1(const UntypedExpr auto& x);
constexpr AnyExpr i1e(const UntypedExpr auto& x);
/// I_1(x) / x, from I_1; 1/2 at 0. The same for the scaled one. 0 where I_1 is infinite, so that it
/// can be subtracted from I_0, which is larger.
constexpr AnyExpr over_x(const UntypedExpr auto& y, const UntypedExpr auto& x) {
  const AnyExpr zero = equal(x, 0);
  const AnyExpr infinite = equal(abs(y), std::numeric_limits<double>::infinity());
  return where(zero, 0.5, where(infinite, 0, y) / where(zero, 1, x));
}
}  // namespace bessel

struct BesselI0 : special {
  static constexpr std::string_view name = "BesselI0";
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    return math::bessel<0>(x, false);
  }
  static constexpr AnyExpr gradient(BesselI0, auto x, auto, auto dy) { return dy * bessel::i1(x); }
};

struct BesselI1 : special {
  static constexpr std::string_view name = "BesselI1";
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    return math::bessel<1>(x, false);
  }
  static constexpr AnyExpr gradient(BesselI1, auto x, auto y, auto dy) {
    return dy * (detail::apply_untyped(BesselI0{}, x) - bessel::over_x(y, x));
  }
};

struct BesselI0e : special {
  static constexpr std::string_view name = "BesselI0e";
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    return math::bessel<0>(x, true);
  }
  static constexpr AnyExpr gradient(BesselI0e, auto x, auto y, auto dy) {
    return dy * (bessel::i1e(x) - sign(x) * y);
  }
};

struct BesselI1e : special {
  static constexpr std::string_view name = "BesselI1e";
  static constexpr bool scalar_body = false;
  template <class V>
  constexpr V operator()(V x) const {
    return math::bessel<1>(x, true);
  }
  static constexpr AnyExpr gradient(BesselI1e, auto x, auto y, auto dy) {
    return dy * (detail::apply_untyped(BesselI0e{}, x) - bessel::over_x(y, x) - sign(x) * y);
  }
};

constexpr AnyExpr bessel::i1(const UntypedExpr auto& x) {
  return detail::apply_untyped(BesselI1{}, x);
}
constexpr AnyExpr bessel::i1e(const UntypedExpr auto& x) {
  return detail::apply_untyped(BesselI1e{}, x);
}

}  // namespace ops

/// The modified Bessel function of the first kind of order 0, elementwise.
template <Tensor X>
constexpr auto bessel_i0(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "bessel_i0(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::BesselI0{}, x);
}

/// The modified Bessel function of the first kind of order 1, elementwise.
template <Tensor X>
constexpr auto bessel_i1(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "bessel_i1(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::BesselI1{}, x);
}

/// e^-|x| bessel_i0(x), elementwise, which does not overflow.
template <Tensor X>
constexpr auto bessel_i0e(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "bessel_i0e(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::BesselI0e{}, x);
}

/// e^-|x| bessel_i1(x), elementwise, which does not overflow.
template <Tensor X>
constexpr auto bessel_i1e(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "bessel_i1e(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::BesselI1e{}, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
