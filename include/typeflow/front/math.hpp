// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise functions: exp, log, sqrt, square, abs, neg, relu, sigmoid, tanh, softplus, and the
// larger and smaller of two. Bodies are generic: V is a SIMD batch in kernels, a number in the
// interpreter.

#include <cmath>
#include <cstdint>
#include <source_location>

#include "typeflow/front/arithmetic.hpp"

namespace typeflow {

/// The functions that bodies call on numbers; on SIMD batches the same names are found by their
/// arguments.
namespace math {
template <Element T>
constexpr T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
}  // namespace math

namespace ops {

struct floating : elementwise {
  static constexpr Domain domain = Domain::floating;
};

struct Exp : floating {
  static constexpr std::string_view name = "Exp";
  static constexpr int flops = 16;
  template <class V>
  V operator()(V x) const {
    using std::exp;
    return exp(x);
  }
  static constexpr AnyExpr gradient(Exp, auto, auto y, auto dy) { return dy * y; }
};

struct Log : floating {
  static constexpr std::string_view name = "Log";
  static constexpr int flops = 16;
  template <class V>
  V operator()(V x) const {
    using std::log;
    return log(x);
  }
  static constexpr AnyExpr gradient(Log, auto x, auto, auto dy) { return dy / x; }
};

struct Sqrt : floating {
  static constexpr std::string_view name = "Sqrt";
  static constexpr int flops = 4;
  template <class V>
  V operator()(V x) const {
    using std::sqrt;
    return sqrt(x);
  }
  static constexpr AnyExpr gradient(Sqrt, auto, auto y, auto dy) { return dy * 0.5 / y; }
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

struct Abs : elementwise {
  static constexpr std::string_view name = "Abs";
  template <class V>
  V operator()(V x) const {
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
    return where(greater(x, 0), dy, where(less(x, 0), -dy, 0));
  }
};

/// dy where y > 0, else 0: the gradient of relu from its result.
struct ReluGradient : elementwise {
  static constexpr std::string_view name = "ReluGradient";
  template <class V>
  V operator()(V dy, V y) const {
    using math::select;
    return select(y > V(0), dy, V(0));
  }
  static constexpr std::array<AnyExpr, 2> gradient(ReluGradient, auto, auto y, auto, auto ddy) {
    return {detail::apply_untyped(ReluGradient{}, ddy, y), AnyExpr{}};
  }
};

/// max(x, 0); keeps NaN.
struct Relu : elementwise {
  static constexpr std::string_view name = "Relu";
  template <class V>
  V operator()(V x) const {
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

struct Sigmoid : floating {
  static constexpr std::string_view name = "Sigmoid";
  static constexpr int flops = 20;
  template <class V>
  V operator()(V x) const {
    using std::exp;
    return V(1) / (V(1) + exp(-x));
  }
  static constexpr AnyExpr gradient(Sigmoid, auto, auto y, auto dy) { return dy * (y * (1 - y)); }
};

struct Tanh : floating {
  static constexpr std::string_view name = "Tanh";
  static constexpr int flops = 20;
  template <class V>
  V operator()(V x) const {
    using std::tanh;
    return tanh(x);
  }
  static constexpr AnyExpr gradient(Tanh, auto, auto y, auto dy) { return dy * (1 - square(y)); }
};

/// log(1 + exp(x)), without overflow: max(x, 0) + log1p(exp(-|x|)).
struct Softplus : floating {
  static constexpr std::string_view name = "Softplus";
  static constexpr int flops = 36;
  template <class V>
  V operator()(V x) const {
    using math::select;
    using std::abs;
    using std::exp;
    using std::log1p;
    return select(x < V(0), V(0), x) + log1p(exp(-abs(x)));
  }
  static constexpr AnyExpr gradient(Softplus, auto x, auto, auto dy) { return dy * sigmoid(x); }
};

/// The larger of two; the first where they are equal or one is NaN.
struct Maximum : elementwise {
  static constexpr std::string_view name = "Maximum";
  template <class V>
  V operator()(V a, V b) const {
    using math::select;
    return select(a < b, b, a);
  }
  static constexpr std::array<AnyExpr, 2> gradient(Maximum, auto a, auto b, auto, auto dy) {
    const AnyExpr second = less(a, b);
    return {where(second, 0, dy), where(second, dy, 0)};
  }
};

struct Minimum : elementwise {
  static constexpr std::string_view name = "Minimum";
  template <class V>
  V operator()(V a, V b) const {
    using math::select;
    return select(b < a, b, a);
  }
  static constexpr std::array<AnyExpr, 2> gradient(Minimum, auto a, auto b, auto, auto dy) {
    const AnyExpr second = less(b, a);
    return {where(second, 0, dy), where(second, dy, 0)};
  }
};

}  // namespace ops

namespace detail {
/// The log_softmax of the logits if x is a softmax; none otherwise. Defined in front/softmax.hpp.
constexpr Id log_of_softmax(const AnyExpr& x);
}  // namespace detail

/// e^x, elementwise.
template <Tensor X>
constexpr auto exp(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "exp(x): x must be float or double; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Exp{}, x);
}

/// The natural logarithm, elementwise. log(softmax(x)) is computed as log_softmax(x), so that a
/// cross entropy written out by hand stays finite.
template <Tensor X>
constexpr auto log(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "log(x): x must be float or double; convert with cast<float>(x)");
  if constexpr (TypedExpr<X>) {
    detail::mark(at, x);
    const Id fused = detail::log_of_softmax(x.any());
    if (fused != none) return detail::same_type(x, fused);
  }
  return detail::apply_at(at, ops::Log{}, x);
}

/// The square root, elementwise.
template <Tensor X>
constexpr auto sqrt(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "sqrt(x): x must be float or double; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Sqrt{}, x);
}

/// x * x, elementwise.
template <Tensor X>
constexpr auto square(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>, "square(x): x must be a tensor of numbers");
  return detail::apply_at(at, ops::Square{}, x);
}

/// |x|, elementwise.
template <Tensor X>
constexpr auto abs(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>, "abs(x): x must be a tensor of numbers");
  return detail::apply_at(at, ops::Abs{}, x);
}

/// -x, elementwise.
template <Tensor X>
constexpr auto neg(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>, "neg(x): x must be a tensor of numbers");
  return detail::apply_at(at, ops::Neg{}, x);
}

/// max(x, 0), elementwise; NaN stays NaN.
template <Tensor X>
constexpr auto relu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>, "relu(x): x must be a tensor of numbers");
  return detail::apply_at(at, ops::Relu{}, x);
}

/// 1 / (1 + exp(-x)), elementwise.
template <Tensor X>
constexpr auto sigmoid(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "sigmoid(x): x must be float or double; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Sigmoid{}, x);
}

/// The hyperbolic tangent, elementwise.
template <Tensor X>
constexpr auto tanh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "tanh(x): x must be float or double; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Tanh{}, x);
}

/// log(1 + exp(x)), elementwise, without overflow.
template <Tensor X>
constexpr auto softplus(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "softplus(x): x must be float or double; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Softplus{}, x);
}

/// The larger of two, elementwise; a where they are equal or one is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto maximum(const A& a, const B& b,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "maximum(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "maximum(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "maximum(a, b): the shapes do not broadcast");
  return detail::apply_at(at, ops::Maximum{}, a, b);
}

/// The smaller of two, elementwise; a where they are equal or one is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto minimum(const A& a, const B& b,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "minimum(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "minimum(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "minimum(a, b): the shapes do not broadcast");
  return detail::apply_at(at, ops::Minimum{}, a, b);
}

}  // namespace typeflow
