// SPDX-License-Identifier: Apache-2.0
#pragma once

// A region as a graph of its own, which passes treat like any other. Its parameters and its
// captures are sources of the graph (ops::BlockInput).

#include <type_traits>

#include "typeflow/graph/clone.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

struct RegionGraph {
  Graph graph;
  Pool<Id> inputs;   ///< parameters, captures
  Pool<Id> results;  ///< none for those that were not wanted, or that the region leaves open
  Pool<Id> effects;  ///< values of nodes that it runs for their effects
};

/// Whether a node of a region runs for its effect.
constexpr bool is_effect(const Graph& graph, const Node& node) {
  if (node.op->kind != Kind::control) return node.op->effect == SideEffect::writes;
  return graph.regions[graph.lists[node.regions.first]].accesses.count != 0;
}

/// The graph of a region. `wanted`, by result: whether the result is wanted.
constexpr RegionGraph graph_of_region(const Graph& from, Id region, const Pool<char>& wanted) {
  RegionGraph out{Graph(from.mode()), {}, {}, {}};
  Graph& to = out.graph;
  to.skipped = from.skipped;
  to.observer = from.observer;
  // Values keep the numbers of their names, by which only observers print them.
  if (!std::is_constant_evaluated() && from.observer != nullptr) to.names = from.names;
  to.scopes = from.scopes;
  to.variable_records = from.variable_records;
  for (VariableRecord& variable : to.variable_records) variable.value = none;
  const Region& record = from.regions[region];
  RegionClone clone(from, region, to);
  for (const Range& values : {record.parameters, record.captures}) {
    for (Id k = 0; k < values.count; ++k) {
      const Id original = from.lists[values.first + k];
      const Node& node = from.node_of(original);
      to.scope = node.scope;
      to.device = node.device;
      to.source = node.source;
      const Id type = clone.type(original);
      const Id input = add_node(to, ops::BlockInput{{}, out.inputs.size()}, nullptr, 0, type).id;
      clone.give(original, input);
      out.inputs.push(input);
    }
  }
  clone.run([&](const Node& node) {
    if (!is_effect(from, node)) return;
    const Id effect = clone(node.outputs.first);
    out.effects.push(effect);
  });
  for (Id k = 0; k < record.results.count; ++k) {
    const Id result = from.lists[record.results.first + k];
    const Id given = result == none || wanted[k] == 0 ? none : clone(result);
    out.results.push(given);
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
