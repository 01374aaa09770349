// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trigonometric and hyperbolic functions and their inverses, except sin and cos (math.hpp).
//
// On SIMD batches tan and atan are ours (cpu/vector_math.hpp). The others are xsimd's, with an
// error of at most 2.6 units in the last place; asinh of floats, 4.

#include <cmath>
#include <limits>
#include <source_location>

#include "typeflow/ops/elementwise/math.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct Tan : floating {
  static constexpr std::string_view name = "Tan";
  static constexpr int flops = 30;
  template <class V>
  constexpr V operator()(V x) const {
    return math::tan(x);
  }
  static constexpr AnyExpr gradient(Tan, auto, auto y, auto dy) { return dy * (1 + square(y)); }
};

struct Asin : floating {
  static constexpr std::string_view name = "Asin";
  static constexpr int flops = 30;
  template <class V>
  constexpr V operator()(V x) const {
    using std::asin;
    return asin(x);
  }
  static constexpr AnyExpr gradient(Asin, auto x, auto, auto dy) {
    return dy / sqrt((1 - x) * (1 + x));
  }
};

struct Acos : floating {
  static constexpr std::string_view name = "Acos";
  static constexpr int flops = 30;
  template <class V>
  constexpr V operator()(V x) const {
    using std::acos;
    return acos(x);
  }
  static constexpr AnyExpr gradient(Acos, auto x, auto, auto dy) {
    return -(dy / sqrt((1 - x) * (1 + x)));
  }
};

struct Atan : floating {
  static constexpr std::string_view name = "Atan";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::atan(x);
  }
  static constexpr AnyExpr gradient(Atan, auto x, auto, auto dy) { return dy / (1 + square(x)); }
};

// Not cosh(x): its type is deduced, which for clang depends on that of a gradient that calls it.
constexpr AnyExpr cosh_of(const UntypedExpr auto& x);

struct Sinh : floating {
  static constexpr std::string_view name = "Sinh";
  static constexpr int flops = 30;
  template <class V>
  constexpr V operator()(V x) const {
    using std::sinh;
    return sinh(x);
  }
  static constexpr AnyExpr gradient(Sinh, auto x, auto, auto dy) { return dy * cosh_of(x); }
};

struct Cosh : floating {
  static constexpr std::string_view name = "Cosh";
  static constexpr int flops = 24;
  template <class V>
  constexpr V operator()(V x) const {
    using std::cosh;
    return cosh(x);
  }
  static constexpr AnyExpr gradient(Cosh, auto x, auto, auto dy) {
    return dy * detail::apply_untyped(Sinh{}, x);
  }
};

constexpr AnyExpr cosh_of(const UntypedExpr auto& x) { return detail::apply_untyped(Cosh{}, x); }

struct Asinh : floating {
  static constexpr std::string_view name = "Asinh";
  static constexpr int flops = 40;
  template <class V>
  constexpr V operator()(V x) const {
    using std::asinh;
    return asinh(x);
  }
  /// 1 / sqrt(1 + x^2), without computing x^2, which would overflow.
  static constexpr AnyExpr gradient(Asinh, auto, auto y, auto dy) { return dy / cosh_of(y); }
};

struct Acosh : floating {
  static constexpr std::string_view name = "Acosh";
  static constexpr int flops = 30;
  template <class V>
  constexpr V operator()(V x) const {
    using math::select;
    using std::acosh;
    const V none(std::numeric_limits<float>::quiet_NaN());
    return select(x < V(1), none, acosh(x));  // xsimd's of large negative numbers is -inf
  }
  static constexpr AnyExpr gradient(Acosh, auto x, auto, auto dy) {
    return dy / (sqrt(x - 1) * sqrt(x + 1));
  }
};

struct Atanh : floating {
  static constexpr std::string_view name = "Atanh";
  static constexpr int flops = 30;
  template <class V>
  constexpr V operator()(V x) const {
    using std::atanh;
    return atanh(x);
  }
  static constexpr AnyExpr gradient(Atanh, auto x, auto, auto dy) {
    return dy / ((1 - x) * (1 + x));
  }
};

}  // namespace ops

/// The tangent of x radians, elementwise; NaN where x is infinite.
template <Tensor X>
constexpr auto tan(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "tan(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Tan{}, x);
}

/// The angle in [-pi/2, pi/2] whose sine is x, elementwise; NaN where |x| > 1.
template <Tensor X>
constexpr auto asin(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "asin(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Asin{}, x);
}

/// The angle in [0, pi] whose cosine is x, elementwise; NaN where |x| > 1.
template <Tensor X>
constexpr auto acos(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "acos(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Acos{}, x);
}

/// The angle in [-pi/2, pi/2] whose tangent is x, elementwise. atan2(y, x) is the angle of a point.
template <Tensor X>
constexpr auto atan(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "atan(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Atan{}, x);
}

/// The hyperbolic sine, (e^x - e^-x) / 2, elementwise.
template <Tensor X>
constexpr auto sinh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "sinh(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Sinh{}, x);
}

/// The hyperbolic cosine, (e^x + e^-x) / 2, elementwise.
template <Tensor X>
constexpr auto cosh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "cosh(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Cosh{}, x);
}

/// The number whose hyperbolic sine is x, elementwise.
template <Tensor X>
constexpr auto asinh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "asinh(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Asinh{}, x);
}

/// The number >= 0 whose hyperbolic cosine is x, elementwise; NaN where x < 1.
template <Tensor X>
constexpr auto acosh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "acosh(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Acosh{}, x);
}

/// The number whose hyperbolic tangent is x, elementwise; infinite at -1 and 1, NaN beyond.
template <Tensor X>
constexpr auto atanh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "atanh(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Atanh{}, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
