// SPDX-License-Identifier: Apache-2.0
#pragma once

// Variables that follow others slowly, as a target network follows its online network.

#include <concepts>
#include <source_location>
#include <string_view>

#include "typeflow/front/variables.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Whether a variable belongs to another of the list, as an optimiser's slots do: its name is in a
/// scope of that variable's path.
template <std::same_as<VariableList> List>
constexpr bool is_slot(const List& list, const AnyVariable& variable) {
  const ir::Graph& graph = *list.graph;
  for (Id s = variable.name_record().scope; s != none; s = graph.scopes[s].parent) {
    for (const AnyVariable other : list) {
      if (graph.scopes[s].variable_hash == hash('/', other.name_record().hash)) return true;
    }
  }
  return false;
}

/// The list without slots.
template <std::same_as<VariableList> List>
constexpr Pool<Id> values_without_slots(const List& list) {
  Pool<Id> values;
  for (const AnyVariable variable : list) {
    if (!is_slot(list, variable)) values.push(variable.id());
  }
  return values;
}

/// A variable's path relative to its list's path.
struct PathBelow {
  Message path;
  int prefix;

  constexpr PathBelow(const VariableList& list, Id value)
      : path(AnyVariable(*list.graph, value).name()), prefix(static_cast<int>(list.path.size())) {}
  constexpr std::string_view view() const {
    return path.view().substr(static_cast<std::size_t>(prefix));
  }
};

/// Records the mistake that a variable has no counterpart.
constexpr void fail_unpaired(const VariableList& list, Id value, const VariableList& others,
                             const char* which) {
  ir::Graph& graph = *list.graph;
  Message message{};
  message << "blend: variable '" << AnyVariable(*list.graph, value).name().view() << "' has no "
          << which << " '" << others.path << PathBelow(list, value).view() << '\'';
  graph.fail(message);
}

/// (1 - tau) * target + tau * source.
template <std::same_as<VariableList> List>
constexpr AnyExpr blended(const List& list, Id target, Id source, const Scalar& tau) {
  ir::Graph& graph = *list.graph;
  return in_float(present_value(graph, target), [&](const AnyExpr& x) {
    const AnyExpr y = cast_to(AnyExpr{&graph, source}, x.dtype());
    const AnyExpr share = setting(graph, tau, x.dtype());
    const AnyExpr rest =
        tau.is_expression() ? 1 - share : setting(graph, Scalar(1 - tau.value()), x.dtype());
    return rest * x + share * y;
  });
}

}  // namespace detail

/// target := (1 - tau) * target + tau * source, for each target and the source of the same path
/// relative to its list: blend(g.variables("target"), g.variables("online"), 0.001). Variables that
/// belong to another, such as an optimiser's slots, are left out.
///
/// Targets are read at this point of the model's statements, sources at the start of the run. To
/// follow what a run has trained, blend in the next run.
///
/// A variable without a counterpart, or with one of another element type or shape, is a mistake of
/// the model. The lists' paths must outlive the call. 16-bit targets are rounded in each run: with
/// a small tau they stop before they reach their sources.
template <std::same_as<VariableList> List>
constexpr Effect blend(const List& targets, const List& sources, const Scalar& tau,
                       std::source_location at = std::source_location::current()) {
  ir::Graph& graph = *targets.graph;
  graph.source = source_line(at);
  const Pool<Id> to = detail::values_without_slots(targets);
  Pool<Id> from = detail::values_without_slots(sources);
  Pool<Id> tokens;
  for (const Id target : to) {
    const detail::PathBelow path(targets, target);
    int i = 0;
    while (i < from.size() && detail::PathBelow(sources, from[i]).view() != path.view()) ++i;
    if (i == from.size()) {
      detail::fail_unpaired(targets, target, sources, "source");
      continue;
    }
    const Id source = from[i];
    for (; i + 1 < from.size(); ++i) from[i] = from[i + 1];  // in their order, so that the next
    from.pop();                                              // is most often the first
    const Type type = graph.type_of(target);
    if (!(graph.type_of(source) == type) || !is_floating(type.dtype)) {
      const Type given = graph.type_of(source);
      Message message{};
      message << "blend: variable '" << path.path.view() << "' is " << type.dtype << ' '
              << type.dims << ", its source " << given.dtype << ' ' << given.dims
              << "; expected the same, floating-point";
      graph.fail(message);
      continue;
    }
    const AnyExpr value = detail::blended(targets, target, source, tau);
    tokens.push(detail::assign_node(graph, target, value.id));
  }
  for (const Id source : from) detail::fail_unpaired(sources, source, targets, "target");
  if (to.empty() && from.empty()) {
    Message message{};
    graph.fail(message << "blend: no variables lie below '" << targets.path << '\'');
  }
  return detail::group_node(*targets.graph, tokens.data(), tokens.size());
}

}  // namespace typeflow::inline TYPEFLOW_ISA
