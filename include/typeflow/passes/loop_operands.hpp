// SPDX-License-Identifier: Apache-2.0
#pragma once

// Passes that do once, in front of a loop, what its products with a loop-invariant matrix, a
// weight, would do in each iteration.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/passes/hoist.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Adds nodes that stand directly before a loop, in the loop's region.
class BeforeLoop {
 public:
  constexpr BeforeLoop(Graph& graph, Id owner)
      : graph_(graph),
        owner_(owner),
        first_(graph.nodes.size()),
        region_(graph.region),
        scope_(graph.scope),
        device_(graph.device),
        source_(graph.source) {
    graph.stand_at(graph.nodes[owner]);
  }

  /// Moves the nodes to their places. Returns where the loop's node is now.
  constexpr Id finish() {
    graph_.region = region_;
    graph_.scope = scope_;
    graph_.device = device_;
    graph_.source = source_;
    const int added = graph_.nodes.size() - first_;
    if (added > 0) graph_.move_before(first_, owner_);
    return owner_ + added;
  }

 private:
  Graph& graph_;
  const Id owner_;
  const Id first_;
  const Id region_;
  const Id scope_;
  const Device device_;
  const SourceLine source_;
};

/// Takes products of slices with an outer matrix out of one loop. In the body a slice of the result
/// replaces the product. Returns where the loop's node is afterwards.
constexpr Id multiply_outside(Graph& graph, Id owner, ops::Loop op) {
  const Node loop = graph.nodes[owner];
  const Id region = graph.lists[loop.regions.first];
  const Region body = graph.regions[region];
  Pool<Id> parameters;
  for (Id k = 0; k < body.parameters.count; ++k) {
    parameters.push(graph.lists[body.parameters.first + k]);
  }
  Pool<Id> inputs = first_inputs(graph, owner);
  const int first = 1 + op.states;  // parameter of a slice
  const int given = first + op.stacked_inputs;
  BeforeLoop before(graph, owner);
  for (Id id = body.first_node; id < owner; ++id) {
    const Node node = graph.nodes[id];
    if (node.region != region || !is<ops::MatMul>(*node.op)) continue;
    const ops::MatMul product = typeflow::decode<ops::MatMul>(graph, node);
    const Id b = graph.input(node, 1);
    int slice = first;
    while (slice < given && parameters[slice] != graph.input(node, 0)) ++slice;
    if (slice == given || product.a() || !is_outside(graph, b, region) ||
        graph.dims_of(b).rank != 2 || graph.dims_of(node.outputs.first).rank >= max_rank) {
      continue;
    }
    graph.source = node.source;
    const AnyExpr all{&graph, inputs[slice - 1]};
    inputs.push(matmul(all, AnyExpr{&graph, b}, false, product.b()).id);
    // The node becomes the parameter that replaces it.
    (void)sizeof(typeflow::detail::BindOp<ops::BlockInput>);
    graph.nodes[id].op = &record<ops::BlockInput>;
    graph.nodes[id].inputs = {};
    graph.attributes[node.attributes.first] = static_cast<std::uint32_t>(parameters.size());
    parameters.push(node.outputs.first);
    ++op.stacked_inputs;
  }
  owner = before.finish();
  if (parameters.size() == body.parameters.count) return owner;
  const Range list = graph.append_list(parameters);
  graph.regions[region].parameters = list;
  set_attributes(graph, loop, op);
  renew_captures(graph, owner, std::move(inputs));
  return owner;
}

/// The pass, for loops that the model has made. All of a loop's slices are multiplied, so their
/// number must be known.
constexpr void multiply_outside(Graph& graph) {
  for (Id owner = 0; owner < graph.nodes.size(); ++owner) {
    const Node& node = graph.nodes.items[owner];
    if (!is<ops::Loop>(*node.op) || node.source.gradient) continue;
    const ops::Loop op = typeflow::decode<ops::Loop>(graph, node);
    if (op.stacked_inputs > 0 && op.limited != 0 && op.count > 1) {
      owner = multiply_outside(graph, owner, op);
    }
  }
}

/// Transposes matrices in front of one loop whose body multiplies with them transposed. Returns
/// where the loop's node is afterwards.
constexpr Id transpose_outside(Graph& graph, Id owner) {
  const Node loop = graph.nodes[owner];
  const Id region = graph.lists[loop.regions.first + loop.regions.count - 1];
  Pool<Id> transposed;  // by value
  BeforeLoop before(graph, owner);
  for (Id id = graph.regions[region].first_node; id < owner; ++id) {
    const Node node = graph.nodes[id];
    if (node.region != region || !is<ops::MatMul>(*node.op)) continue;
    const ops::MatMul product = typeflow::decode<ops::MatMul>(graph, node);
    const Id b = graph.input(node, 1);
    if (!product.b() || graph.dims_of(b).rank != 2 || !is_outside(graph, b, region)) continue;
    if (transposed.empty()) transposed = Pool<Id>(graph.values.size(), none);
    if (transposed[b] == none) {
      const int swapped[max_rank] = {1, 0};
      transposed[b] = transpose_to(AnyExpr{&graph, b}, swapped).id;
    }
    graph.operands[node.inputs.first + 1] = transposed[b];
    graph.attributes[node.attributes.first] = product.transposed & ~2u;
  }
  owner = before.finish();
  if (!transposed.empty()) renew_captures(graph, owner, first_inputs(graph, owner));
  return owner;
}

/// The pass, for loops that may run more than once. Without it a kernel would copy the matrix in
/// each iteration.
constexpr void transpose_outside(Graph& graph) {
  for (Id owner = 0; owner < graph.nodes.size(); ++owner) {
    const Node& node = graph.nodes.items[owner];
    if (!is<ops::Loop>(*node.op)) continue;
    const ops::Loop op = typeflow::decode<ops::Loop>(graph, node);
    if (op.limited == 0 || op.count > 1) owner = transpose_outside(graph, owner);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
