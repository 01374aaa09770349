// SPDX-License-Identifier: Apache-2.0
#pragma once

// Variables whose element type and shape are values, for lists. Optimisers are written with them;
// see docs/guide.md, Writing an optimiser.
//
//   for (const tf::AnyVariable v : g.trainable("net")) ...
//   for (const auto& [v, dv] : gradients(loss)) ...         // tf::AnyVariable, tf::AnyExpr
//
//   tf::Scope in(g, v);                                     // names below the variable's: fc/W/...
//   auto m = variable(g, "m", type_of(v), tf::zeros(), false);
//   assign(v, v.read() - 0.1 * dv);

#include <concepts>
#include <source_location>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A variable of any element type and shape. A Variable<T, S> converts to it.
class AnyVariable {
 public:
  constexpr AnyVariable(Graph& graph, Id id) : graph_(&graph), id_(id) {}
  template <Element T, class S>
  constexpr AnyVariable(const Variable<T, S>& variable)  // NOLINT: an implicit conversion by design
      : graph_(&variable.graph()), id_(variable.id()) {}

  constexpr Graph& graph() const { return *graph_; }
  constexpr Id id() const { return id_; }
  constexpr DType dtype() const { return any().dtype(); }
  constexpr Dims dims() const { return any().dims(); }

  /// Its value at the start of the run.
  constexpr AnyExpr any() const { return {&records(), id_}; }
  /// Its value at this point of the model's statements, after the earlier ones that the run
  /// executes.
  constexpr AnyExpr read() const {
    return add_node(records(), ops::Read{}, &id_, 1, records().values[id_].type);
  }

  /// Its path, as in the store: name().view() == "fc/W".
  constexpr Message name() const { return records().text_of(name_record()); }
  /// The parts of its path.
  constexpr const ir::Name& name_record() const {
    const ir::Graph& graph = records();
    return graph.names[graph.variable_records[graph.variable_index(id_)].name];
  }

 private:
  constexpr ir::Graph& records() const { return *graph_; }

  Graph* graph_;
  Id id_;
};

constexpr AnyVariable VariableList::operator[](int i) const {
  const ir::Graph& records = *graph;
  return {*graph, records.variable_records[variables[i]].value};
}

// Types.

/// The shape of a tensor or variable, for making another one: a type for a typed tensor, otherwise
/// Dims.
template <TypedExpr X>
constexpr auto shape_of(const X&) {
  return typename X::shape{};
}
constexpr Dims shape_of(const AnyExpr& x) { return x.dims(); }
constexpr Dims shape_of(const AnyVariable& x) { return x.dims(); }

/// Element type and shape.
constexpr Type type_of(const AnyExpr& x) { return x.graph->type_of(x.id); }
constexpr Type type_of(const AnyVariable& x) { return type_of(x.any()); }

/// Untyped: a variable with this element type and shape; otherwise as variable<T, D...>(g, name).
template <std::same_as<Type> S>
constexpr AnyVariable variable(Graph& g, Label name, const S& type, Initializer initializer = {},
                               bool trainable = true,
                               std::source_location at = std::source_location::current()) {
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if (!detail::is_static(type.dims)) {
    Message message{};
    graph.fail(message << "variable(g, name, type): the extents of a variable must be numbers, not "
                          "tf::batch; got "
                       << type.dims);
  }
  return {g, detail::get_variable(graph, name, type, initializer,
                                  trainable && is_floating(type.dtype), false)};
}
/// A variable with the shape of another tensor: variable<float>(g, "m", shape_of(v)).
template <Element T, std::same_as<Dims> S>
constexpr AnyVariable variable(Graph& g, Label name, const S& shape, Initializer initializer = {},
                               bool trainable = true,
                               std::source_location at = std::source_location::current()) {
  return variable(g, name, Type(dtype_of<T>, shape), initializer, trainable, at);
}
template <Element T, class S>
  requires std::same_as<const Dims, decltype(S::dims)>
constexpr Variable<T, S> variable(Graph& g, Label name, const S&, Initializer initializer = {},
                                  bool trainable = true,
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::is_static_shape<S>,
                "variable<T>(g, name, shape): the extents of a variable must be numbers, not "
                "tf::batch");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  return {g, detail::get_variable(graph, name, Expr<T, S>::type, initializer,
                                  trainable && detail::is_real_floating<T>, false)};
}

/// A number or scalar tensor as a tensor of this element type, for code in which the type is a
/// value: setting(g, rate, v.dtype()) * dv.
constexpr AnyExpr setting(ir::Graph& graph, const Scalar& scalar, DType type) {
  if (scalar.is_expression()) return cast_to(scalar.expression(), type);
  return detail::literal_node(graph, type, scalar.value());
}

// Statements.

/// Untyped: variable := value. The value has the variable's element type; it has the shape, or
/// broadcasts to it.
template <Operand V>
constexpr Effect assign(const AnyVariable& variable, const V& value,
                        std::source_location at = std::source_location::current()) {
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const Type type = type_of(variable);
  AnyExpr x{&graph, detail::operand_id(graph, type.dtype, value)};
  if (x.dtype() != type.dtype || !(broadcast(x.dims(), type.dims) == type.dims)) {
    Message message{};
    message << "assign(variable '" << variable.name().view() << "', value): expected " << type.dtype
            << ' ' << type.dims << ", got " << x.dtype() << ' ' << x.dims();
    graph.fail(message);
    x = variable.any();
  }
  return {variable.graph(),
          detail::assign_node(graph, variable.id(), broadcast_to(x, type.dims).id)};
}
/// Untyped: variable := variable + value, with the variable as it is at this point.
template <Operand V>
constexpr Effect assign_add(const AnyVariable& variable, const V& value,
                            std::source_location at = std::source_location::current()) {
  detail::mark(at, variable.any());
  return assign(variable, detail::present_value(variable.graph(), variable.id()) + value, at);
}
/// Untyped: variable := variable - value, with the variable as it is at this point.
template <Operand V>
constexpr Effect assign_sub(const AnyVariable& variable, const V& value,
                            std::source_location at = std::source_location::current()) {
  detail::mark(at, variable.any());
  return assign(variable, detail::present_value(variable.graph(), variable.id()) - value, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
