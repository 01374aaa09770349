// SPDX-License-Identifier: Apache-2.0
#pragma once

// Quotients and differences for special cases: div_no_nan, truncatemod, approximate_equal. Composed
// of other operations, so they fuse and have gradients.

#include <source_location>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/cast.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
/// An operand as a tensor of its own shape. Numbers take the element type of the tensors.
template <Operand X>
constexpr AnyExpr operand_of(ir::Graph& graph, DType type, const X& x) {
  return {&graph, operand_id(graph, type, x)};
}
/// The typed result of an elementwise composition of typed operands.
template <Element T, class... X>
using ElementwiseResult = Expr<T, shape_of_t<BroadcastRule<typename ShapeOf<X>::type...>>>;
}  // namespace detail

/// x / y, elementwise, and 0 where y is 0, whatever x is. Its gradients are 0 there, too.
template <class X, class Y>
  requires TypedOperands<X, Y>
constexpr auto div_no_nan(const X& x, const Y& y,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<X, Y>,
                "div_no_nan(x, y): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<X, Y>, "div_no_nan(x, y): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::inexact, X, Y>,
                "div_no_nan(x, y): x and y must be floating-point or complex; integers divided by "
                "0 are 0 anyway");
  detail::mark(at, x, y);
  auto& g = detail::graph_of(x, y);
  ir::Graph& graph = g;
  using T = typename detail::FirstElement<X, Y>::type;
  const AnyExpr a = detail::operand_of(graph, dtype_of<T>, x);
  const AnyExpr b = detail::operand_of(graph, dtype_of<T>, y);
  const AnyExpr is_zero = equal(b, 0);
  return detail::ElementwiseResult<T, X, Y>(g, where(is_zero, 0, a / where(is_zero, 1, b)).id);
}

/// The remainder of a / b rounded towards zero, elementwise: C's % and std::fmod, with the sign of
/// a. (mod(a, b) has the sign of b.) An integer's remainder for b = 0 is a, a floating-point one
/// NaN.
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto truncatemod(const A& a, const B& b,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "truncatemod(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "truncatemod(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "truncatemod(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "truncatemod(a, b): a and b must be tensors of numbers that have an order");
  detail::mark(at, a, b);
  auto& g = detail::graph_of(a, b);
  ir::Graph& graph = g;
  using T = typename detail::FirstElement<A, B>::type;
  const AnyExpr x = detail::operand_of(graph, dtype_of<T>, a);
  const AnyExpr y = detail::operand_of(graph, dtype_of<T>, b);
  AnyExpr rest;
  if constexpr (contains(Domain::integers, dtype_of<T>)) {
    rest = x - x / y * y;
  } else {
    const AnyExpr size = mod(abs(x), abs(y));
    rest = where(equal(x, size), x, where(less(x, 0), -size, size));  // x itself: -0 stays -0
  }
  return detail::ElementwiseResult<T, A, B>(g, rest.id);
}

/// Whether |a - b| < tolerance, elementwise, a boolean. False for NaN, and for two infinities.
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto approximate_equal(const A& a, const B& b, double tolerance = 1e-5,
                                 std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "approximate_equal(a, b): the element types must be equal; convert with "
                "cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "approximate_equal(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, B>,
                "approximate_equal(a, b): a and b must be floating-point; compare integers with "
                "equal(a, b)");
  return less(abs(detail::apply_at(at, ops::Sub{}, a, b), at), tolerance, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
