// SPDX-License-Identifier: Apache-2.0
#pragma once

// cast<T>(x); identity(x) and stop_gradient(x), which equal x but have other gradients.

#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Converts the element type, by detail::convert_element.
struct Cast : elementwise {
  static constexpr std::string_view name = "Cast";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::any;
  static constexpr bool foldable = true;
  std::uint32_t to;  ///< a DType

  static constexpr DType result(Cast op, DType) { return static_cast<DType>(op.to); }

  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    const DType from = call.graph.dtype_of(call.graph.input(call.node, 0));
    const DType target = call.graph.dtype_of(call.node.outputs.first);
    const Number& x = call.inputs[0];
    return visit_dtype(target, [&](auto zero) {
      using detail::convert_element;
      using T = decltype(zero);
      if (is_complex(from)) {
        return number_from(convert_element<T>(typeflow::to<std::complex<double>>(x)));
      }
      if (is_floating(from)) return number_from(convert_element<T>(x.real));
      return number_from(from == DType::uint64
                             ? convert_element<T>(static_cast<std::uint64_t>(x.integer))
                             : convert_element<T>(x.integer));
    });
  }
  static constexpr AnyExpr gradient(Cast, auto x, auto, auto dy) {
    const DType from = x.dtype();
    const DType to = dy.dtype();
    if (!(is_floating(from) || is_complex(from)) || !(is_floating(to) || is_complex(to))) {
      return AnyExpr{};
    }
    return cast_to(dy, x.dtype());
  }
  static constexpr AnyExpr simplify(Cast, AnyExpr x, AnyExpr y) { return alike(x, y) ? x : y; }
};

}  // namespace ops

/// The simplified view y of x (ops/shape/shape_ops.hpp).
constexpr AnyExpr viewed(const AnyExpr& x, const AnyExpr& y);

namespace ops {

/// The same elements in the same order: needs no code.
struct view : operation_base {
  static constexpr Kind kind = Kind::view;
  static constexpr AnyExpr simplify(const auto&, AnyExpr x, AnyExpr y) { return viewed(x, y); }
};

/// The same tensor.
struct Identity : view {
  static constexpr std::string_view name = "Identity";
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  static constexpr Type infer(Identity, const Type& x) { return x; }
  static constexpr AnyExpr gradient(Identity, auto, auto, auto dy) { return dy; }
};

/// The same tensor, but with no gradient.
struct StopGradient : view {
  static constexpr std::string_view name = "StopGradient";
  static constexpr bool takes_strings = true;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr Type infer(StopGradient, const Type& x) { return x; }
};

}  // namespace ops

/// Untyped: x with the element type `type`.
constexpr AnyExpr cast_to(const AnyExpr& x, DType type) {
  if (x.dtype() == type) return x;
  return add_node(*x.graph, ops::Cast{{}, static_cast<std::uint32_t>(type)}, &x.id, 1,
                  Type(type, x.dims()));
}

/// x with elements of type T. Floating-point numbers are rounded to the nearest. To integers they
/// are truncated towards zero; NaN becomes 0, and numbers that do not fit become the nearest that
/// does. Integers wrap around. Of a complex number a real type takes the real part. To bool it is x
/// != 0.
template <Element T, TypedExpr X>
constexpr auto cast(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  return Expr<T, typename X::shape>(x.graph(), cast_to(x.any(), dtype_of<T>).id);
}
template <Element T, UntypedExpr X>
constexpr AnyExpr cast(const X& x) {
  return cast_to(x, dtype_of<T>);
}

namespace detail {

/// f(x); for 16-bit numbers f(x as float), rounded to 16 bits. A composition of several operations
/// is then rounded once, and nothing overflows on the way.
template <class F>
constexpr AnyExpr in_float(const AnyExpr& x, const F& f) {
  return is_half_precision(x.dtype()) ? cast_to(f(cast_to(x, DType::float32)), x.dtype()) : f(x);
}
/// The same for typed expressions; the result has x's element type.
template <TypedExpr X, class F>
constexpr auto in_float(const X& x, const F& f, const std::source_location& at) {
  if constexpr (is_half<typename X::element>) {
    return cast<typename X::element>(f(cast<float>(x, at)), at);
  } else {
    return f(x);
  }
}

}  // namespace detail

/// x as a tensor of its own. A gradient for it counts only values that are computed from it.
template <TypedExpr X>
constexpr auto identity(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  const Id id = x.id();
  return detail::same_type(x, add_node(x.graph(), ops::Identity{}, &id, 1, X::type).id);
}
template <UntypedExpr X>
constexpr AnyExpr identity(const X& x) {
  return add_node(*x.graph, ops::Identity{}, &x.id, 1, x.graph->values[x.id].type);
}

/// x, but no gradient flows back through it.
template <TypedExpr X>
constexpr auto stop_gradient(const X& x,
                             std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  const Id id = x.id();
  return detail::same_type(x, add_node(x.graph(), ops::StopGradient{}, &id, 1, X::type).id);
}
template <UntypedExpr X>
constexpr AnyExpr stop_gradient(const X& x) {
  return add_node(*x.graph, ops::StopGradient{}, &x.id, 1, x.graph->type_of(x.id));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
