// SPDX-License-Identifier: Apache-2.0
#pragma once

// Moves work on loop-invariant operands out of a loop: products in its body with a matrix, a
// weight, that is the same in all iterations.

#include "typeflow/ops/control/region.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// Whether a value is outside of a region, and is a tensor.
constexpr bool is_outside(const Graph& graph, Id value, Id region) {
  return !graph.is_token(value) && region_of(graph, value) != region;
}

/// Moves products of slices with an outer matrix out of the loop, as one product of all slices. In
/// the body a slice of the result replaces the product. The new tensors are added to `inputs`, the
/// loop's.
constexpr void multiply_slices_outside(Graph& graph, Id region, ops::Loop& op, Pool<Id>& inputs) {
  const Region body = graph.regions[region];
  Pool<Id> parameters;
  for (Id k = 0; k < body.parameters.count; ++k) {
    parameters.push(graph.lists[body.parameters.first + k]);
  }
  const int first = 1 + op.states;  // parameter of a slice
  const int given = first + op.slices;
  const int count = graph.nodes.size();
  const SourceLine source = graph.source;
  for (Id id = body.first_node; id < count; ++id) {
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
    // The node becomes the parameter that replaces it, because nodes stand before their users.
    (void)sizeof(typeflow::detail::BindOp<ops::BlockInput>);
    graph.nodes[id].op = &record<ops::BlockInput>;
    graph.nodes[id].inputs = {};
    graph.attributes[node.attributes.first] = static_cast<std::uint32_t>(parameters.size());
    parameters.push(node.outputs.first);
    ++op.slices;
  }
  graph.source = source;
  if (parameters.size() == body.parameters.count) return;
  const Range list = graph.append_list(parameters);
  graph.regions[region].parameters = list;
}

/// Transposes matrices once, outside of the loop, if its body multiplies with them transposed. A
/// kernel would have to copy such a b before each product.
constexpr void transpose_outside(Graph& graph, Id region) {
  const Region body = graph.regions[region];
  const int count = graph.nodes.size();
  Pool<Id> transposed;  // by value
  for (Id id = body.first_node; id < count; ++id) {
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
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
