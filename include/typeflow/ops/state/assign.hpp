// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changing variables.
//
// A variable's handle means its value at the start of the run. assign(v, e) is an effect. It
// happens only in runs that name it or depend on it. Effects on one variable that a run executes
// happen in the order of the model's statements. The result of an effect is its .value(), or
// after(effect, v.read()).

#include <source_location>
#include <type_traits>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Variable := value. Inputs: the variable, the value; output: a token.
struct Assign : operation_base {
  static constexpr std::string_view name = "Assign";
  static constexpr Kind kind = Kind::write;
  static constexpr SideEffect effect = SideEffect::writes;
  static constexpr int flops = 0;
};

/// The same for strings, whose bytes the variable's elements own.
struct AssignStrings : update {
  static constexpr std::string_view name = "AssignStrings";
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
};

/// The variable's value at this point of the model's statements.
struct Read : elementwise {
  static constexpr std::string_view name = "Read";
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  static constexpr SideEffect effect = SideEffect::reads_state;
  static constexpr Number evaluate(const ir::EvaluateCall& call) { return call.inputs[0]; }
  template <class V>
  constexpr V operator()(V x) const {
    return x;
  }
  static constexpr AnyExpr gradient(Read, auto, auto, auto dy) { return dy; }
};

/// The input, after the effects in its controls have happened.
struct After : elementwise {
  static constexpr Builtin builtin = Builtin::after;
  static constexpr std::string_view name = "After";
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  static constexpr Number evaluate(const ir::EvaluateCall& call) { return call.inputs[0]; }
  template <class V>
  constexpr V operator()(V x) const {
    return x;
  }
  static constexpr AnyExpr gradient(After, auto, auto, auto dy) { return dy; }
};

/// Several effects as one. Inputs and output are tokens.
struct Group : operation_base {
  static constexpr std::string_view name = "Group";
  static constexpr Kind kind = Kind::group;
  static constexpr int flops = 0;
};

}  // namespace ops

namespace detail {
constexpr Effect group_node(Graph& g, const Id* tokens, int count) {
  (void)sizeof(BindOp<ops::Group>);
  ir::Graph& graph = g;
  return {g, graph.add_value(record<ops::Group>, tokens, count, none)};
}
/// Adds an effect outside of variables: a node of O without a result.
template <class O>
constexpr Effect effect_node(Graph& g, const O& op, const Id* inputs, int count) {
  (void)sizeof(BindOp<O>);
  ir::Graph& graph = g;
  if constexpr (word_count<O> == 0) {
    return {g, graph.add_value(record<O>, inputs, count, none)};
  } else {
    const Words<O> words = encode(op);
    return {g, graph.add_value(record<O>, inputs, count, none, words.data(), word_count<O>)};
  }
}
constexpr Id assign_node(ir::Graph& graph, Id variable, Id value) {
  (void)sizeof(BindOp<ops::Assign>);
  const Id ids[] = {variable, value};
  return graph.add_value(record<ops::Assign>, ids, 2, none);
}
/// The variable's value at this point of the model's statements, to compute with. While no
/// statement changes the variable, that is the variable itself, which saves a node. But not in a
/// region, which may run again, nor in a critical section, where other runs may have changed it.
constexpr AnyExpr present_value(ir::Graph& graph, Id variable) {
  const Id index = graph.variable_index(variable);
  if (!graph.variable_records[index].written && graph.region == 0 && !graph.in_critical_section) {
    return {&graph, variable};
  }
  return add_node(graph, ops::Read{}, &variable, 1, graph.values[variable].type);
}
/// x once `token` has happened.
constexpr AnyExpr after_node(const AnyExpr& x, Id token) {
  ir::Graph& graph = *x.graph;
  const AnyExpr y = add_node(graph, ops::After{}, &x.id, 1, graph.type_of(x.id));
  graph.nodes[graph.values[y.id].node].controls = graph.append(&token, 1);
  return y;
}
}  // namespace detail

/// Both effects.
constexpr Effect operator+(const Effect& a, const Effect& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  const Id tokens[] = {a.token(), b.token()};
  return detail::group_node(a.graph(), tokens, 2);
}
constexpr Effect& operator+=(Effect& a, const Effect& b) { return a = a + b; }

constexpr Effect Graph::updates() {
  const Pool<Id>& tokens = records_.update_tokens;
  return tokens.empty() ? Effect() : detail::group_node(*this, tokens.data(), tokens.size());
}

/// The effect of an assignment, with the value that it assigned.
template <class T, class S>
class Assignment : public Effect {
 public:
  constexpr Assignment(Graph& graph, Id token, Id value) : Effect(graph, token), value_(value) {}
  /// The new value; computing it executes the assignment.
  constexpr Expr<T, S> value() const {
    const Expr<T, S> assigned(graph(), value_);
    return {graph(), detail::after_node(assigned.any(), token()).id};
  }

 private:
  Id value_;
};

template <Element T, class S>
constexpr Expr<T, S> Variable<T, S>::read(std::source_location at) const {
  detail::mark(at, *this);
  const Id id = this->id();
  return {this->graph(), add_node(this->graph(), ops::Read{}, &id, 1, Expr<T, S>::type).id};
}

namespace detail {
template <class T, class S, class V>
inline constexpr bool assignable = Literal<V> ? literal_fits<T, V> : false;
template <class T, class S, TypedExpr V>
inline constexpr bool assignable<T, S, V> =
    std::is_same_v<typename V::element, T> && broadcast(V::shape::dims, S::dims) == S::dims;

/// The operand with exactly the variable's shape.
template <class T, class S, Operand V>
constexpr Id value_for(const Variable<T, S>& variable, const V& value) {
  ir::Graph& graph = variable.graph();
  const Id id = operand_id(graph, dtype_of<T>, value);
  return broadcast_to(AnyExpr{&graph, id}, S::dims).id;
}

template <class T, class S>
constexpr Assignment<T, S> assignment(const Variable<T, S>& variable, Id value) {
  if constexpr (is_string<T>) {
    using Op = std::conditional_t<is_string<T>, ops::AssignStrings, T>;
    (void)sizeof(BindOp<Op>);
    ir::Graph& graph = variable.graph();
    const Id ids[] = {variable.id(), value};
    return {variable.graph(), graph.add_value(record<Op>, ids, 2, none), value};
  } else {
    return {variable.graph(), assign_node(variable.graph(), variable.id(), value), value};
  }
}
}  // namespace detail

/// variable := value. The value has the variable's element type and shape, or broadcasts to it.
template <Element T, class S, Operand V>
constexpr Assignment<T, S> assign(const Variable<T, S>& variable, const V& value,
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::assignable<T, S, V>,
                "assign(variable, value): the value must have the variable's element type and "
                "broadcast to its shape");
  detail::mark(at, variable);
  return detail::assignment(variable, detail::value_for(variable, value));
}

/// variable := variable + value, with the variable as it is at this point of the model's
/// statements.
template <Element T, class S, Operand V>
constexpr Assignment<T, S> assign_add(const Variable<T, S>& variable, const V& value,
                                      std::source_location at = std::source_location::current()) {
  static_assert(detail::assignable<T, S, V>,
                "assign_add(variable, value): the value must have the variable's element type and "
                "broadcast to its shape");
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const AnyExpr now = detail::present_value(graph, variable.id());
  return detail::assignment(variable,
                            (now + AnyExpr{&graph, detail::value_for(variable, value)}).id);
}

/// variable := variable - value, with the variable as it is at this point of the model's
/// statements.
template <Element T, class S, Operand V>
constexpr Assignment<T, S> assign_sub(const Variable<T, S>& variable, const V& value,
                                      std::source_location at = std::source_location::current()) {
  static_assert(detail::assignable<T, S, V>,
                "assign_sub(variable, value): the value must have the variable's element type and "
                "broadcast to its shape");
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const AnyExpr now = detail::present_value(graph, variable.id());
  return detail::assignment(variable,
                            (now - AnyExpr{&graph, detail::value_for(variable, value)}).id);
}

/// variable := variable * value, with the variable as it is at this point of the model's
/// statements.
template <Element T, class S, Operand V>
constexpr Assignment<T, S> assign_mul(const Variable<T, S>& variable, const V& value,
                                      std::source_location at = std::source_location::current()) {
  static_assert(detail::assignable<T, S, V>,
                "assign_mul(variable, value): the value must have the variable's element type and "
                "broadcast to its shape");
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const AnyExpr now = detail::present_value(graph, variable.id());
  return detail::assignment(variable,
                            (now * AnyExpr{&graph, detail::value_for(variable, value)}).id);
}

/// All of several effects, as one.
template <std::convertible_to<Effect>... E>
constexpr Effect group(const E&... effects) {
  return (Effect{} + ... + static_cast<const Effect&>(effects));
}

/// x, in runs that execute the effect: after(assign(v, e), v.read()) is the new value. If x is a
/// v.read() that follows no effect itself, v is read at this point.
template <TypedExpr X>
constexpr auto after(const Effect& effect, const X& x,
                     std::source_location at = std::source_location::current()) {
  if (effect.empty()) return detail::same_type(x, x.id());
  detail::mark(at, x);
  ir::Graph& graph = x.graph();
  const Id token = effect.token();
  const ir::Node& node = graph.node_of(x.id());
  if (is<ops::Read>(*node.op) && node.controls.count == 0) {
    // Read anew: x may have been made before the effect.
    const Id variable = graph.input(node, 0);
    const AnyExpr now = add_node(graph, ops::Read{}, &variable, 1, graph.type_of(variable));
    graph.nodes[graph.values[now.id].node].controls = graph.append(&token, 1);
    return detail::same_type(x, now.id);
  }
  return detail::same_type(x, detail::after_node(x.any(), token).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
