// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparisons, logical operations and where. Operators do not compare tensors: == of handles would
// read as a comparison of references. They say which function to write instead.

#include <source_location>

#include "typeflow/ops/elementwise/math.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct predicate : comparison {
  static constexpr Derivative derivative = Derivative::zero;
};

struct Equal : predicate {
  static constexpr std::string_view name = "Equal";
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a == b;
  }
};
struct NotEqual : predicate {
  static constexpr std::string_view name = "NotEqual";
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return !(a == b);  // xsimd's != is false for NaN with AVX
  }
};
struct Less : predicate {
  static constexpr std::string_view name = "Less";
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a < b;
  }
};
struct LessEqual : predicate {
  static constexpr std::string_view name = "LessEqual";
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a <= b;
  }
};
struct Greater : predicate {
  static constexpr std::string_view name = "Greater";
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a > b;
  }
};
struct GreaterEqual : predicate {
  static constexpr std::string_view name = "GreaterEqual";
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a >= b;
  }
};

struct logical : predicate {
  static constexpr Domain domain = Domain::booleans;
};
struct LogicalAnd : logical {
  static constexpr std::string_view name = "LogicalAnd";
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a && b;
  }
};
struct LogicalOr : logical {
  static constexpr std::string_view name = "LogicalOr";
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a || b;
  }
};
struct LogicalNot : logical {
  static constexpr std::string_view name = "LogicalNot";
  template <class V>
  constexpr auto operator()(V a) const {
    return !a;
  }
};

struct Select : elementwise {
  static constexpr std::string_view name = "Select";
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  static constexpr bool foldable = true;
  static constexpr bool condition_first = true;
  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    return call.inputs[call.inputs[0].integer != 0 ? 1 : 2];
  }
  template <class C, class V>
  constexpr V operator()(C condition, V yes, V no) const {
    using math::select;
    return select(condition, yes, no);
  }
  static constexpr std::array<AnyExpr, 3> gradient(Select, auto condition, auto, auto, auto,
                                                   auto dy) {
    return {AnyExpr{}, where(condition, dy, 0), where(condition, 0, dy)};
  }
};

}  // namespace ops

/// a == b, elementwise; a boolean tensor. False where either is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto equal(const A& a, const B& b,
                     std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "equal(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "equal(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "equal(a, b): the shapes do not broadcast");
  return detail::apply_at(at, ops::Equal{}, a, b);
}

/// a != b, elementwise; a boolean tensor. True where either is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto not_equal(const A& a, const B& b,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "not_equal(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "not_equal(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "not_equal(a, b): the shapes do not broadcast");
  return detail::apply_at(at, ops::NotEqual{}, a, b);
}

/// a < b, elementwise; a boolean tensor. False where either is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto less(const A& a, const B& b,
                    std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "less(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "less(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "less(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "less(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::Less{}, a, b);
}

/// a <= b, elementwise; a boolean tensor. False where either is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto less_equal(const A& a, const B& b,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "less_equal(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "less_equal(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "less_equal(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "less_equal(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::LessEqual{}, a, b);
}

/// a > b, elementwise; a boolean tensor. False where either is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto greater(const A& a, const B& b,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "greater(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "greater(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "greater(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "greater(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::Greater{}, a, b);
}

/// a >= b, elementwise; a boolean tensor. False where either is NaN.
template <class A, class B>
  requires Operands<A, B>
constexpr auto greater_equal(const A& a, const B& b,
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "greater_equal(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<A, B>,
                "greater_equal(a, b): a floating-point number does not fit an integer tensor; use "
                "cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "greater_equal(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "greater_equal(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::GreaterEqual{}, a, b);
}

/// a and b, elementwise, of boolean tensors.
template <class A, class B>
  requires Operands<A, B>
constexpr auto logical_and(const A& a, const B& b,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "logical_and(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "logical_and(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "logical_and(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::booleans, A, B>,
                "logical_and(a, b): a and b must be boolean tensors");
  return detail::apply_at(at, ops::LogicalAnd{}, a, b);
}

/// a or b (or both), elementwise, of boolean tensors.
template <class A, class B>
  requires Operands<A, B>
constexpr auto logical_or(const A& a, const B& b,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "logical_or(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "logical_or(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "logical_or(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::booleans, A, B>,
                "logical_or(a, b): a and b must be boolean tensors");
  return detail::apply_at(at, ops::LogicalOr{}, a, b);
}

/// Exactly one of a and b, elementwise, of boolean tensors.
template <class A, class B>
  requires Operands<A, B>
constexpr auto logical_xor(const A& a, const B& b,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "logical_xor(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "logical_xor(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::booleans, A, B>,
                "logical_xor(a, b): a and b must be boolean tensors");
  return detail::apply_at(at, ops::NotEqual{}, a, b);
}

/// not x, elementwise, of a boolean tensor.
template <Tensor X>
constexpr auto logical_not(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::booleans, X>,
                "logical_not(x): x must be a boolean tensor");
  return detail::apply_at(at, ops::LogicalNot{}, x);
}

/// `yes` where the condition is true, `no` elsewhere; the three broadcast.
template <TypedExpr C, class A, class B>
  requires TypedOperands<A, B>
constexpr auto where(const C& condition, const A& yes, const B& no,
                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::booleans, C>,
                "where(condition, a, b): the condition must be a boolean tensor");
  static_assert(detail::same_elements<A, B> && detail::literals_fit<A, B>,
                "where(condition, a, b): the element types of a and b must be equal; convert with "
                "cast<T>(x)");
  static_assert(detail::broadcasts<C, A, B>, "where(condition, a, b): the shapes do not broadcast");
  detail::mark(at, condition);
  using T = typename detail::FirstElement<A, B>::type;
  using S = shape_of_t<detail::BroadcastRule<typename C::shape, typename detail::ShapeOf<A>::type,
                                             typename detail::ShapeOf<B>::type>>;
  ir::Graph& graph = condition.graph();
  const Id ids[] = {condition.id(), detail::operand_id(graph, dtype_of<T>, yes),
                    detail::operand_id(graph, dtype_of<T>, no)};
  return Expr<T, S>(condition.graph(), add_node(graph, ops::Select{}, ids, 3, Expr<T, S>::type).id);
}
template <class A, class B>
  requires UntypedOperands<A, B>
constexpr AnyExpr where(const AnyExpr& condition, const A& yes, const B& no,
                        const std::source_location& = {}) {
  ir::Graph& graph = *condition.graph;
  const DType element = detail::element_type(yes, no);
  const Id ids[] = {condition.id, detail::operand_id(graph, element, yes),
                    detail::operand_id(graph, element, no)};
  const Dims dims =
      broadcast(broadcast(graph.dims_of(ids[0]), graph.dims_of(ids[1])), graph.dims_of(ids[2]));
  return add_node(graph, ops::Select{}, ids, 3, Type(element, dims));
}

// These operators do not compile. Each says which function to write.

template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator==(const A& a, const B& b) {
  (void)sizeof(
      detail::requirement<"a == b does not compare tensors: use equal(a, b)", detail::never<A>>);
  static_assert(detail::never<A>, "a == b does not compare tensors: use equal(a, b)");
  return equal(a, b);
}
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator!=(const A& a, const B& b) {
  (void)sizeof(detail::requirement<"a != b does not compare tensors: use not_equal(a, b)",
                                   detail::never<A>>);
  static_assert(detail::never<A>, "a != b does not compare tensors: use not_equal(a, b)");
  return not_equal(a, b);
}
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator<(const A& a, const B& b) {
  (void)sizeof(
      detail::requirement<"a < b does not compare tensors: use less(a, b)", detail::never<A>>);
  static_assert(detail::never<A>, "a < b does not compare tensors: use less(a, b)");
  return less(a, b);
}
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator<=(const A& a, const B& b) {
  (void)sizeof(detail::requirement<"a <= b does not compare tensors: use less_equal(a, b)",
                                   detail::never<A>>);
  static_assert(detail::never<A>, "a <= b does not compare tensors: use less_equal(a, b)");
  return less_equal(a, b);
}
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator>(const A& a, const B& b) {
  (void)sizeof(
      detail::requirement<"a > b does not compare tensors: use greater(a, b)", detail::never<A>>);
  static_assert(detail::never<A>, "a > b does not compare tensors: use greater(a, b)");
  return greater(a, b);
}
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator>=(const A& a, const B& b) {
  (void)sizeof(detail::requirement<"a >= b does not compare tensors: use greater_equal(a, b)",
                                   detail::never<A>>);
  static_assert(detail::never<A>, "a >= b does not compare tensors: use greater_equal(a, b)");
  return greater_equal(a, b);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
