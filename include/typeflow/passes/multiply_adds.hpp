// SPDX-License-Identifier: Apache-2.0
#pragma once

// Multiply-adds: a * b + c becomes fma(a, b, c) where nothing else uses the product.
//
// It runs before clusters are chosen, so that a value is rounded alike in every kernel. Whether a
// product has another use is known only after dead code is gone, so no operation's rule could do
// this.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Joins products and sums in a graph without dead code, its nodes in order. `uses` counts the
/// uses of each value. Products without a use leave the order.
constexpr void find_multiply_adds(Graph& graph, Pool<Id>& order, Pool<Id>& uses) {
  (void)sizeof(detail::BindOp<ops::Fma>);
  (void)sizeof(detail::BindOp<ops::Fms>);
  (void)sizeof(detail::BindOp<ops::Fnma>);
  constexpr std::uint64_t add = record<ops::Add>.id;
  constexpr std::uint64_t sub = record<ops::Sub>.id;
  constexpr std::uint64_t mul = record<ops::Mul>.id;
  const Value* const values = graph.values.data();
  Node* const nodes = graph.nodes.data();
  Id* const ids = order.data();
  const int count = order.size();
  int first = count;  // from here on the order is done
  for (int i = count - 1; i >= 0; --i) {
    const Id id = ids[i];
    Node& sum = nodes[id];
    const std::uint64_t op = sum.op->id;
    if (op == mul && uses.items[sum.outputs.first] == 0) continue;
    ids[--first] = id;
    if (op != add && op != sub) continue;
    const Id type = values[sum.outputs.first].type;
    if (!is_floating(graph.types.items[type].dtype)) continue;
    for (int side = 0; side < 2; ++side) {
      const Id product = graph.input(sum, side);
      const Node& factors = nodes[values[product].node];
      if (factors.op->id != mul || uses.items[product] != 1 || values[product].type != type ||
          !(factors.device == sum.device)) {
        continue;
      }
      const Id inputs[] = {graph.input(factors, 0), graph.input(factors, 1),
                           graph.input(sum, 1 - side)};
      uses.items[product] = 0;
      sum.inputs = graph.append(inputs, 3);
      sum.source.make_part_of(*sum.op);
      sum.op = op == add ? &record<ops::Fma> : side == 0 ? &record<ops::Fms> : &record<ops::Fnma>;
      break;
    }
  }
  if (first == 0) return;
  for (int i = first; i < count; ++i) ids[i - first] = ids[i];
  order.shrink(count - first);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
