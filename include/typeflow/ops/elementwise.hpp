// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise application: how an operation is applied to expressions and numbers, with
// broadcasting.

#include <bit>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include "typeflow/ops/record.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {
/// One number for any shape, possibly times symbols, or times 1 over them; the symbols' powers are
/// digits as in Count. So a mean's 1/N is exact even if only a run knows N.
struct Constant : operation_base {
  static constexpr Builtin builtin = Builtin::constant;
  static constexpr std::string_view name = "Const";
  static constexpr Kind kind = Kind::source;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 0;
  std::uint32_t low;  ///< see detail::NumberWords
  std::uint32_t high;
  std::int32_t powers;

  constexpr Number number(DType type) const { return number_of(type, low, high); }
  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    return decode<Constant>(call.graph, call.node)
        .number(call.graph.dtype_of(call.node.outputs.first));
  }
};
}  // namespace ops

/// Whether a tensor is a scalar constant without symbols.
constexpr bool is_constant(const AnyExpr& x) {
  const ir::Graph& graph = *x.graph;
  const ir::Node& node = graph.nodes.items[graph.values.items[x.id].node];
  return node.op->builtin == Builtin::constant && decode<ops::Constant>(graph, node).powers == 0;
}
/// Whether a tensor is a scalar constant of this number.
constexpr bool is_constant(const AnyExpr& x, int number) {
  const ir::Graph& graph = *x.graph;
  const ir::Node& node = graph.nodes.items[graph.values.items[x.id].node];
  if (node.op->builtin != Builtin::constant) return false;
  const ops::Constant constant = decode<ops::Constant>(graph, node);
  const DType type = graph.dtype_of(x.id);
  const Number n = constant.number(type);
  return constant.powers == 0 &&
         (is_floating(type) || is_complex(type) ? n.real == number : n.integer == number);
}

namespace detail {

/// A number as two attribute words: the bits of a double (floating types) or an int64 (others).
struct NumberWords {
  std::uint32_t low;
  std::uint32_t high;
};
constexpr NumberWords words_of(DType type, const Number& value) {
  const std::uint64_t bits = is_floating(type) || is_complex(type)
                                 ? std::bit_cast<std::uint64_t>(value.real)
                                 : static_cast<std::uint64_t>(value.integer);
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}

/// A scalar constant of this element type, from a value of it. Equal constants share one node.
constexpr AnyExpr constant_node(ir::Graph& graph, DType type, const Number& value, int powers = 0) {
  const NumberWords words = words_of(type, value);
  const std::uint32_t* const attributes = graph.attributes.items;
  for (int i = 0; i < graph.constants.size(); ++i) {  // most differ in the upper word
    const Id id = graph.constants.items[i];
    const Id known = graph.nodes.items[graph.values.items[id].node].attributes.first;
    if (attributes[known + 1] == words.high && attributes[known] == words.low &&
        attributes[known + 2] == static_cast<std::uint32_t>(powers) && graph.dtype_of(id) == type) {
      return {&graph, id};
    }
  }
  const Id scope = std::exchange(graph.scope, 0);
  const Device device = std::exchange(graph.device, Device{});
  const AnyExpr constant =
      add_node(graph, ops::Constant{{}, words.low, words.high, powers}, nullptr, 0, Type(type, {}));
  graph.constants.push(constant.id);
  graph.scope = scope;
  graph.device = device;
  return constant;
}

/// A C++ number as an element of a tensor. It is rounded to a floating type; an integer must fit
/// exactly.
template <Literal L>
constexpr AnyExpr literal_node(ir::Graph& graph, DType type, L value) {
  return visit_dtype(type, [&](auto zero) {
    using T = decltype(zero);
    const T converted = convert_element<T>(value);
    if constexpr (std::is_integral_v<L> && !std::is_same_v<T, bool>) {
      if (convert_element<L>(converted) != value) {
        Message message{};
        graph.fail(message << "the number " << static_cast<std::int64_t>(value)
                           << " is not exactly a " << type);
      }
    }
    return constant_node(graph, type, number_from(converted));
  });
}

template <class... S>
struct BroadcastRule {
  static constexpr Dims common = [] {
    Dims dims{};
    ((dims = broadcast(dims, S::dims)), ...);
    return dims;
  }();
  /// For shapes that do not fit, the first one with the most axes: one mistake, one message.
  static constexpr Dims value = [] {
    Dims dims = common;
    if (!dims.valid()) ((dims = S::dims.rank > dims.rank ? S::dims : dims), ...);
    return dims;
  }();
};

template <class X>
struct ShapeOf {
  using type = Shape<>;
};
template <TypedExpr X>
struct ShapeOf<X> {
  using type = typename X::shape;
};

template <class X, class... Rest>
struct FirstElement {
  using type = typename FirstElement<Rest...>::type;
};
template <TypedExpr X, class... Rest>
struct FirstElement<X, Rest...> {
  using type = typename X::element;
};

template <class T, class X>
inline constexpr bool has_element = true;
template <class T, TypedExpr X>
inline constexpr bool has_element<T, X> = std::is_same_v<typename X::element, T>;
template <class T, class X>
inline constexpr bool literal_fits =
    !(is_string<T> && Literal<X>) &&
    (!std::is_floating_point_v<X> || is_real_floating<T> || is_complex_number<T>);
/// Whether an operand is a number or tensor of the element type T.
template <class T, class W>
inline constexpr bool is_of = [] {
  if constexpr (TypedExpr<W>) {
    return std::is_same_v<typename W::element, T>;
  } else {
    return literal_fits<T, W>;
  }
}();

/// Whether an AnyExpr, about which nothing is known while compiling, is among the operands.
template <class... X>
inline constexpr bool untyped = (std::same_as<X, AnyExpr> || ...);

// Conditions for the static_asserts of elementwise operations.
template <class... X>
inline constexpr bool same_elements = [] {
  if constexpr (untyped<X...>) {
    return true;
  } else {
    return (has_element<typename FirstElement<X...>::type, X> && ...);
  }
}();
template <class... X>
inline constexpr bool literals_fit = [] {
  if constexpr (untyped<X...>) {
    return true;
  } else {
    return (literal_fits<typename FirstElement<X...>::type, X> && ...);
  }
}();
template <class... X>
inline constexpr bool broadcasts = [] {
  if constexpr (untyped<X...>) {
    return true;
  } else {
    return BroadcastRule<typename ShapeOf<X>::type...>::common.valid();
  }
}();
/// Whether the operands are of a 16-bit floating-point type.
template <class... X>
inline constexpr bool has_half = [] {
  if constexpr (untyped<X...>) {
    return false;
  } else {
    return is_half<typename FirstElement<X...>::type>;
  }
}();
template <Domain D, class... X>
inline constexpr bool in_domain = [] {
  if constexpr (untyped<X...>) {
    return true;
  } else {
    return contains(D, dtype_of<typename FirstElement<X...>::type>);
  }
}();

/// The graph of the first tensor among operands.
template <Operand First, Operand... Rest>
constexpr auto& graph_of(const First& first, const Rest&... rest) {
  if constexpr (TypedExpr<First>) {
    return first.graph();
  } else if constexpr (UntypedExpr<First>) {
    return *first.graph;
  } else {
    return graph_of(rest...);
  }
}
/// The element type of the first tensor among the operands, which numbers take.
template <Operand First, Operand... Rest>
constexpr DType element_type(const First& first, const Rest&... rest) {
  if constexpr (TypedExpr<First>) {
    return First::type.dtype;
  } else if constexpr (UntypedExpr<First>) {
    return first.dtype();
  } else {
    return element_type(rest...);
  }
}

template <Operand X>
constexpr Id operand_id(ir::Graph& graph, DType type, const X& x) {
  if constexpr (TypedExpr<X>) {
    return x.id();
  } else if constexpr (UntypedExpr<X>) {
    return x.id;
  } else {
    return literal_node(graph, type, x).id;
  }
}

/// Records the place in the user's program from which the next nodes come.
template <Operand... X>
constexpr void mark(const std::source_location& at, const X&... x) {
  ir::Graph& graph = graph_of(x...);
  graph.source = source_line(at);
}

/// Adds one elementwise node of untyped operands.
template <class O, Operand... X>
constexpr AnyExpr apply_untyped(const O& op, const X&... x) {
  ir::Graph& graph = graph_of(x...);
  const DType element = element_type(x...);
  constexpr std::size_t count = sizeof...(X);
  const Id ids[] = {operand_id(graph, element, x)...};
  // The usual case: all operands have the result's type, or are scalars of its element type.
  Id type = graph.values.items[ids[0]].type;
  bool alike = O::result(element) == element;
  for (std::size_t i = 1; i < count && alike; ++i) {
    const Id other = graph.values.items[ids[i]].type;
    if (other == type) continue;
    const bool scalar = graph.types.items[type].dims.rank == 0;
    alike = (scalar || graph.types.items[other].dims.rank == 0) &&
            graph.types.items[other].dtype == graph.types.items[type].dtype;
    if (scalar) type = other;
  }
  if (alike) return add_node(graph, op, ids, static_cast<int>(count), type);
  Dims dims = graph.dims_of(ids[0]);
  for (std::size_t i = 1; i < count; ++i) dims = broadcast(dims, graph.dims_of(ids[i]));
  return add_node(graph, op, ids, static_cast<int>(count), Type(O::result(element), dims));
}

template <class E, class First, class... Rest>
constexpr Id find_type(ir::Graph& graph, const First& first, const Rest&... rest) {
  if constexpr (TypedExpr<First>) {
    if constexpr (First::type == E::type) return graph.values.items[first.id()].type;
  }
  if constexpr (sizeof...(Rest) > 0) {
    return find_type<E>(graph, rest...);
  } else {
    return graph.intern(E::type);
  }
}

/// Adds one elementwise node with typed operands. The caller has asserted that they fit.
template <class O, Operand... X>
constexpr auto apply_typed(const O& op, const X&... x) {
  using T = typename FirstElement<X...>::type;
  using S = shape_of_t<BroadcastRule<typename ShapeOf<X>::type...>>;
  using E = Expr<element_of<O::result(dtype_of<T>)>, S>;
  Graph& to = graph_of(x...);
  ir::Graph& graph = to;
  const Id ids[] = {operand_id(graph, dtype_of<T>, x)...};
  return E(to,
           add_node(graph, op, ids, static_cast<int>(sizeof...(X)), find_type<E>(graph, x...)).id);
}

/// Adds one elementwise node that comes from this place of the user's program. (Nodes of gradient
/// rules come from the place of the node whose gradient they are.)
template <class O, Operand... X>
constexpr auto apply_at(const std::source_location& at, const O& op, const X&... x) {
  if constexpr (untyped<X...>) {
    return apply_untyped(op, x...);
  } else {
    mark(at, x...);
    return apply_typed(op, x...);
  }
}

}  // namespace detail

namespace detail {
/// Whether an operation takes this many inputs; true if its arity is wrong, which is another
/// mistake.
template <class O, std::size_t Count>
inline constexpr bool takes_count = arity<O> < 0 || arity<O> == static_cast<int>(Count);
}  // namespace detail

/// Operands with at least one typed expression and no AnyExpr.
template <class... X>
concept TypedOperands =
    (Operand<X> && ...) && (TypedExpr<X> || ...) && !(std::same_as<X, AnyExpr> || ...);
/// Operands with at least one AnyExpr, as in gradient rules.
template <class... X>
concept UntypedOperands = (Operand<X> && ...) && (std::same_as<X, AnyExpr> || ...);
/// Either of both, for functions of several tensors and numbers.
template <class... X>
concept Operands = (Operand<X> && ...) && (Tensor<X> || ...);

/// Adds a node of a user's elementwise operation; the operands broadcast.
template <class O, class... X>
  requires(O::kind == Kind::elementwise && TypedOperands<X...>)
constexpr auto apply(const O& op, const X&... x) {
  static_assert(detail::same_elements<X...>,
                "apply(op, x...): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<X...>,
                "apply(op, x...): a floating-point number does not fit an integer tensor");
  static_assert(detail::broadcasts<X...>, "apply(op, x...): the shapes do not broadcast");
  static_assert(detail::in_domain<O::domain, X...>,
                "apply(op, x...): the operation does not take this element type");
  static_assert(detail::takes_count<O, sizeof...(X)>,
                "apply(op, x...): the operation does not take this many tensors");
  return detail::apply_typed(op, x...);
}
template <class O, class... X>
  requires(O::kind == Kind::elementwise && UntypedOperands<X...>)
constexpr AnyExpr apply(const O& op, const X&... x) {
  static_assert(detail::takes_count<O, sizeof...(X)>,
                "apply(op, x...): the operation does not take this many tensors");
  return detail::apply_untyped(op, x...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
