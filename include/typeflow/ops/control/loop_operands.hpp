// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operands of products that a loop's body reads in each iteration, and that are the same in all.

#include "typeflow/ops/control/region.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// Has the matrices transposed outside of a loop, once, that its body multiplies with transposed: a
/// kernel has to copy such a b before each product.
constexpr void transpose_outside(Graph& graph, Id region) {
  const Region record = graph.regions[region];
  const int count = graph.nodes.size();
  Pool<Id> transposed;  // by value
  for (Id id = record.first_node; id < count; ++id) {
    const Node node = graph.nodes[id];
    if (node.region != region || !is<ops::MatMul>(*node.op)) continue;
    const ops::MatMul product = typeflow::decode<ops::MatMul>(graph, node);
    const Id b = graph.input(node, 1);
    if (!product.b() || graph.dims_of(b).rank != 2 || region_of(graph, b) == region) continue;
    if (transposed.empty()) transposed = Pool<Id>(graph.values.size(), none);
    if (transposed[b] == none) {
      const Id current = graph.region;
      graph.region = record.parent;
      const int swapped[max_rank] = {1, 0};
      transposed[b] = transpose_to(AnyExpr{&graph, b}, swapped).id;
      graph.region = current;
    }
    graph.operands[node.inputs.first + 1] = transposed[b];
    graph.attributes[node.attributes.first] = product.transposed & ~2u;
  }
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
