// SPDX-License-Identifier: Apache-2.0
#pragma once

// apply for operations with a kernel of their own (base `custom`) and for those that expand into
// others (base `composite`); and print, a custom operation.

#include <source_location>
#include <type_traits>

#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/ops/elementwise.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The result of O::infer for the operands' types. An operation's type rule sees default data
/// members, because the result's type can't depend on a function's arguments.
template <class O, class... X>
struct InferRule {
  static constexpr bool takes = arity<O> == static_cast<int>(sizeof...(X));
  static constexpr Type type = [] {
    if constexpr (takes) {
      return O::infer(O{}, X::type...);
    } else {
      return Type(DType::float32, no_dims);
    }
  }();
  static constexpr Dims value = type.dims;
};

template <class O>
inline constexpr bool is_applied =
    O::kind == Kind::custom || O::kind == Kind::contraction || O::kind == Kind::composite;

}  // namespace detail

/// Adds a node of an operation that is custom, a contraction or composite: apply(acme::Reverse{},
/// x). O::infer gives the result's type; if it returns an invalid one (tf::no_dims), this is a
/// compile error.
template <class O, TypedExpr... X>
  requires(detail::is_applied<O>)
constexpr auto apply(const O& op, const X&... x) {
  using Rule = detail::InferRule<O, X...>;
  static_assert(Rule::takes, "apply(op, x...): the operation does not take this many tensors");
  static_assert(!Rule::takes || Rule::value.valid(),
                "apply(op, x...): the operation does not take tensors of these types");
  Graph& to = detail::graph_of(x...);
  ir::Graph& graph = to;
  const Id ids[] = {x.id()...};
  using E = Expr<element_of<Rule::type.dtype>, shape_of_t<Rule>>;
  if constexpr (Rule::takes) {
    if (!(O::infer(op, X::type...) == E::type)) {
      Message message{};
      graph.fail(message << O::name << ": the result's type must not depend on data members");
    }
  }
  return E(to, add_node(graph, op, ids, static_cast<int>(sizeof...(X)), E::type).id);
}
/// Adds a node of a custom operation without inputs, such as a source of data or a clock.
template <class O>
  requires(O::kind == Kind::custom)
constexpr auto apply(Graph& g, const O& op,
                     std::source_location at = std::source_location::current()) {
  using Rule = detail::InferRule<O>;
  static_assert(Rule::takes, "apply(g, op): the operation takes tensors: apply(op, x...)");
  using E = Expr<element_of<Rule::type.dtype>, shape_of_t<Rule>>;
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (Rule::takes) {
    if (!(O::infer(op) == E::type)) {
      Message message{};
      graph.fail(message << O::name << ": the result's type must not depend on data members");
    }
  }
  return E(g, add_node(graph, op, nullptr, 0, E::type).id);
}
/// The same in gradient rules; returns an array for an operation with several results.
template <class O, UntypedExpr... X>
  requires(detail::is_applied<O>)
constexpr typename detail::ResultsOf<O::outputs>::type apply(const O& op, const X&... x) {
  ir::Graph& graph = detail::graph_of(x...);
  const Id ids[] = {x.id...};
  return add_node(graph, op, ids, static_cast<int>(sizeof...(X)),
                  O::infer(op, Type(graph.type_of(x.id))...));
}

namespace detail {
/// A tensor whose element type is a class template of std, so that calls look into namespace std as
/// well.
template <class X>
inline constexpr bool has_std_element = false;
template <TypedExpr X>
inline constexpr bool has_std_element<X> =
    is_complex_number<typename X::element> || is_string<typename X::element>;
}  // namespace detail

/// apply(op, x) for complex numbers and strings. It is preferred to std::apply(function, tuple),
/// which such a call finds, too.
template <class O, class X>
  requires(detail::has_std_element<std::remove_cvref_t<X>> &&
           (detail::is_applied<std::remove_cvref_t<O>> ||
            std::remove_cvref_t<O>::kind == Kind::elementwise))
constexpr auto apply(O&& op, X&& x) {
  return typeflow::apply<std::remove_cvref_t<O>, std::remove_cvref_t<X>>(op, x);
}

namespace ops {

/// The same tensor; the run prints a line about it.
struct Print : custom {
  static constexpr Builtin builtin = Builtin::print;
  static constexpr std::string_view name = "Print";
  static constexpr bool takes_strings = true;
  static constexpr SideEffect effect = SideEffect::reads;  // never shared, never folded
  static constexpr bool host_only = true;
  static constexpr int flops = 0;
  static constexpr Type infer(Print, const Type& x) { return x; }
  static constexpr AnyExpr gradient(Print, auto, auto, auto dy) { return dy; }
  static void interpret(InterpretCall& call) { call.outputs[0] = *call.inputs[0]; }
};

}  // namespace ops

/// Returns x. When a run computes it, the session's `print` gets a line with its name and shape,
/// its smallest, mean and largest element, and the first ones: h = print(h, "hidden").
template <TypedExpr X>
constexpr auto print(const X& x, Label name,
                     std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  return apply(ops::Print{}, x).named(name, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
