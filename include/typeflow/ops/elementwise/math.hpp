// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise functions: exp, log, expm1, log1p, sin, cos, sqrt, rsqrt, reciprocal, square, abs,
// neg, relu, sigmoid, tanh, softplus. Bodies are generic: V is a SIMD batch in kernels, a number in
// the interpreter.

#include <cmath>
#include <cstdint>
#include <source_location>

#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct floating : elementwise {
  static constexpr Domain domain = Domain::floating;
};
/// For complex numbers, too.
struct inexact : elementwise {
  static constexpr Domain domain = Domain::inexact;
};

struct Exp : inexact {
  static constexpr std::string_view name = "Exp";
  static constexpr int flops = 16;
  template <class V>
  constexpr V operator()(V x) const {
    return math::exp(x);
  }
  static constexpr AnyExpr gradient(Exp, auto, auto y, auto dy) { return dy * y; }
};

struct Log : inexact {
  static constexpr std::string_view name = "Log";
  static constexpr int flops = 16;
  template <class V>
  constexpr V operator()(V x) const {
    return math::log(x);
  }
  static constexpr AnyExpr gradient(Log, auto x, auto, auto dy) { return dy / x; }
};

/// e^x - 1, precise near 0.
struct Expm1 : floating {
  static constexpr std::string_view name = "Expm1";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::expm1(x);
  }
  // Not y + 1, which is 0 where y is rounded to -1.
  static constexpr AnyExpr gradient(Expm1, auto x, auto, auto dy) { return dy * exp(x); }
};

/// log(1 + x), precise near 0.
struct Log1p : floating {
  static constexpr std::string_view name = "Log1p";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::log1p(x);
  }
  static constexpr AnyExpr gradient(Log1p, auto x, auto, auto dy) { return dy / (1 + x); }
};

struct Sin : inexact {
  static constexpr std::string_view name = "Sin";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::sin(x);
  }
  static constexpr AnyExpr gradient(Sin, auto x, auto, auto dy) { return dy * cos(x); }
};

struct Cos : inexact {
  static constexpr std::string_view name = "Cos";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::cos(x);
  }
  // Not sin(x): its type is deduced, which for clang depends on that of this gradient, through
  // cos(x).
  static constexpr AnyExpr gradient(Cos, auto x, auto, auto dy) {
    return -(dy * detail::apply_untyped(Sin{}, x));
  }
};

struct Sqrt : inexact {
  static constexpr std::string_view name = "Sqrt";
  static constexpr int flops = 4;
  template <class V>
  constexpr V operator()(V x) const {
    using std::sqrt;
    return sqrt(x);
  }
  static constexpr AnyExpr gradient(Sqrt, auto, auto y, auto dy) { return dy * 0.5 / y; }
};

struct Rsqrt : inexact {
  static constexpr std::string_view name = "Rsqrt";
  static constexpr int flops = 8;
  template <class V>
  constexpr V operator()(V x) const {
    using std::sqrt;
    return V(1) / sqrt(x);
  }
  static constexpr AnyExpr gradient(Rsqrt, auto, auto y, auto dy) {
    return -0.5 * dy * y * y * y;  // no division; y^2 may be too large
  }
};

struct Square : elementwise {
  static constexpr std::string_view name = "Square";
  static constexpr Domain domain = Domain::numbers;
  static constexpr bool foldable = true;
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
    } else {
      return x * x;
    }
  }
  static constexpr AnyExpr gradient(Square, auto x, auto, auto dy) { return dy * (2 * x); }
};

/// dy where a > b, 0 where a <= b, NaN where either is NaN: for gradients of functions that choose.
struct IfGreater : floating {
  static constexpr std::string_view name = "IfGreater";
  template <class V>
  constexpr V operator()(V dy, V a, V b) const {
    using math::select;
    return select(a > b, dy, select(a <= b, V(0), a + b));
  }
  static constexpr std::array<AnyExpr, 3> gradient(IfGreater, auto, auto a, auto b, auto,
                                                   auto ddy) {
    return {detail::apply_untyped(IfGreater{}, ddy, a, b), AnyExpr{}, AnyExpr{}};
  }
};
/// dy where a >= b, 0 where a < b, NaN where either is NaN.
struct IfGreaterEqual : floating {
  static constexpr std::string_view name = "IfGreaterEqual";
  template <class V>
  constexpr V operator()(V dy, V a, V b) const {
    using math::select;
    return select(a >= b, dy, select(a < b, V(0), a + b));
  }
  static constexpr std::array<AnyExpr, 3> gradient(IfGreaterEqual, auto, auto a, auto b, auto,
                                                   auto ddy) {
    return {detail::apply_untyped(IfGreaterEqual{}, ddy, a, b), AnyExpr{}, AnyExpr{}};
  }
};

struct Abs : elementwise {
  static constexpr std::string_view name = "Abs";
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (std::is_unsigned_v<V>) {
      return x;
    } else if constexpr (std::is_integral_v<V>) {
      return x < 0 ? static_cast<V>(0 - static_cast<std::uint64_t>(x)) : x;
    } else {
      using std::abs;
      return abs(x);
    }
  }
  static constexpr AnyExpr gradient(Abs, auto x, auto, auto dy) {
    return detail::apply_untyped(IfGreater{}, dy, x, 0) -
           detail::apply_untyped(IfGreater{}, dy, 0, x);
  }
};

/// dy where y > 0, 0 where it is 0, NaN where it is NaN: the gradient of relu from its result.
struct ReluGradient : floating {
  static constexpr std::string_view name = "ReluGradient";
  template <class V>
  constexpr V operator()(V dy, V y) const {
    using math::select;
    return select(y > V(0), dy, y - y);
  }
  static constexpr std::array<AnyExpr, 2> gradient(ReluGradient, auto, auto y, auto, auto ddy) {
    return {detail::apply_untyped(ReluGradient{}, ddy, y), AnyExpr{}};
  }
};

/// max(x, 0); keeps NaN.
struct Relu : elementwise {
  static constexpr std::string_view name = "Relu";
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (std::is_unsigned_v<V>) {
      return x;
    } else {
      using math::select;
      return select(x < V(0), V(0), x);
    }
  }
  static constexpr AnyExpr gradient(Relu, auto, auto y, auto dy) {
    return detail::apply_untyped(ReluGradient{}, dy, y);
  }
};

struct Sigmoid : inexact {
  static constexpr std::string_view name = "Sigmoid";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::sigmoid(x);
  }
  static constexpr AnyExpr gradient(Sigmoid, auto, auto y, auto dy) { return dy * (y * (1 - y)); }
};

struct Tanh : inexact {
  static constexpr std::string_view name = "Tanh";
  static constexpr int flops = 20;
  template <class V>
  constexpr V operator()(V x) const {
    return math::tanh(x);
  }
  static constexpr AnyExpr gradient(Tanh, auto, auto y, auto dy) { return dy * (1 - square(y)); }
};

/// log(1 + exp(x)), without overflow: max(x, 0) + log1p(exp(-|x|)).
struct Softplus : floating {
  static constexpr std::string_view name = "Softplus";
  static constexpr int flops = 36;
  template <class V>
  constexpr V operator()(V x) const {
    using math::select;
    using std::abs;
    return select(x < V(0), V(0), x) + math::log1p(math::exp(-abs(x)));
  }
  static constexpr AnyExpr gradient(Softplus, auto x, auto, auto dy) { return dy * sigmoid(x); }
};

}  // namespace ops

namespace detail {
/// log_softmax(logits) if x is softmax(logits); otherwise none. Defined in ops/nn/softmax.hpp.
constexpr Id log_of_softmax(const AnyExpr& x);
}  // namespace detail

/// e^x, elementwise.
template <Tensor X>
constexpr auto exp(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "exp(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Exp{}, x);
}

/// The natural logarithm, elementwise. log(softmax(x)) is computed as log_softmax(x), so a cross
/// entropy that is written out stays finite.
template <Tensor X>
constexpr auto log(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "log(x): x must be floating-point; convert with cast<float>(x)");
  if constexpr (TypedExpr<X>) {
    detail::mark(at, x);
    const Id fused = detail::log_of_softmax(x.any());
    if (fused != none) return detail::same_type(x, fused);
  }
  return detail::apply_at(at, ops::Log{}, x);
}

/// e^x - 1, elementwise; precise for small x.
template <Tensor X>
constexpr auto expm1(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "expm1(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Expm1{}, x);
}

/// log(1 + x), elementwise; precise for small x.
template <Tensor X>
constexpr auto log1p(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "log1p(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Log1p{}, x);
}

/// The sine of x radians, elementwise; NaN where x is infinite.
template <Tensor X>
constexpr auto sin(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "sin(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Sin{}, x);
}

/// The cosine of x radians, elementwise; NaN where x is infinite.
template <Tensor X>
constexpr auto cos(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "cos(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Cos{}, x);
}

/// The square root, elementwise; NaN where x is negative.
template <Tensor X>
constexpr auto sqrt(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "sqrt(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Sqrt{}, x);
}

/// 1 / sqrt(x), elementwise; infinite where x is 0, NaN where it is negative.
template <Tensor X>
constexpr auto rsqrt(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "rsqrt(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Rsqrt{}, x);
}

/// 1 / x, elementwise.
template <Tensor X>
constexpr auto reciprocal(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "reciprocal(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Div{}, 1, x);
}

/// x * x, elementwise; integers wrap around.
template <Tensor X>
constexpr auto square(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>, "square(x): x must be a tensor of numbers");
  return detail::apply_at(at, ops::Square{}, x);
}

/// |x|, elementwise; the smallest number of a signed integer type stays as it is.
template <Tensor X>
constexpr auto abs(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "abs(x): x must be a tensor of real numbers; of complex ones it is complex_abs(x)");
  return detail::apply_at(at, ops::Abs{}, x);
}

/// -x, elementwise. Integers wrap around: for unsigned ones it is 2^bits - x, and the smallest
/// number of a signed type stays as it is.
template <Tensor X>
constexpr auto neg(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>, "neg(x): x must be a tensor of numbers");
  return detail::apply_at(at, ops::Neg{}, x);
}

/// max(x, 0), elementwise; NaN stays NaN.
template <Tensor X>
constexpr auto relu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>, "relu(x): x must be a tensor of real numbers");
  return detail::apply_at(at, ops::Relu{}, x);
}

/// 1 / (1 + exp(-x)), elementwise.
template <Tensor X>
constexpr auto sigmoid(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "sigmoid(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Sigmoid{}, x);
}

/// The hyperbolic tangent, elementwise.
template <Tensor X>
constexpr auto tanh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "tanh(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Tanh{}, x);
}

/// log(1 + exp(x)), elementwise, without overflow.
template <Tensor X>
constexpr auto softplus(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "softplus(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Softplus{}, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
