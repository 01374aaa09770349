// SPDX-License-Identifier: Apache-2.0
#pragma once

// Moves loop-invariant computations, those on values from outside of a loop alone, in front of the
// loop, where they run once.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Whether the loop's body is sure to run.
constexpr bool runs_at_least_once(const Node& owner, const ops::Loop& op) {
  return owner.regions.count == 1 && op.limited != 0 && op.count > 0;
}

/// Whether a node may be computed outside of its loop. A loop may run no iteration; operations that
/// may fail then stay inside.
constexpr bool may_move(const Node& node, bool at_least_once) {
  const Op& op = *node.op;
  if (op.effect != SideEffect::pure || node.controls.count != 0 || node.inputs.count == 0) {
    return false;
  }
  switch (op.kind) {
    case Kind::elementwise:
    case Kind::reduction:
    case Kind::view:
    case Kind::contraction:
      return true;
    case Kind::composite:
    case Kind::custom:
      return at_least_once;
    default:
      return false;
  }
}

/// Whether a value is a tensor from outside of a region.
constexpr bool is_outside(const Graph& graph, Id value, Id region) {
  return !graph.is_token(value) && region_of(graph, value) != region;
}

/// Moves computations of a region whose nodes stand before `owner`. Returns whether there were any.
constexpr bool hoist(Graph& graph, Id region, Id owner, bool at_least_once) {
  const Region record = graph.regions[region];
  bool moved = false;
  for (Id id = record.first_node; id < owner; ++id) {
    const Node& node = graph.nodes.items[id];
    if (node.region != region || !may_move(node, at_least_once)) continue;
    bool outside = true;
    for (Id k = 0; k < node.inputs.count && outside; ++k) {
      outside = is_outside(graph, graph.input(node, k), region);
    }
    if (!outside) continue;
    graph.nodes.items[id].region = record.parent;
    moved = true;
  }
  return moved;
}

/// The pass, for all loops of a graph, inner ones first.
constexpr void hoist(Graph& graph) {
  for (Id owner = 0; owner < graph.nodes.size(); ++owner) {
    const Node node = graph.nodes.items[owner];
    if (!is<ops::Loop>(*node.op)) continue;
    const bool at_least_once = runs_at_least_once(node, typeflow::decode<ops::Loop>(graph, node));
    bool moved = false;
    for (Id k = 0; k < node.regions.count; ++k) {
      const Id region = graph.lists.items[node.regions.first + k];
      if (hoist(graph, region, owner, at_least_once)) moved = true;
    }
    if (moved) renew_captures(graph, owner, first_inputs(graph, owner));
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
