// SPDX-License-Identifier: Apache-2.0
#pragma once

// The trip count of a loop's gradient, which equals the loop's. If the loop has a condition, it
// gives its trip count as a tensor, and so does its gradient, for a gradient of that.

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// The trip count of a loop, an int32 scalar; none if the model gives it as a number. `owner`: the
/// loop's node.
constexpr Id given_iterations(ir::Graph& graph, Id owner, const ops::Loop& op) {
  const ir::Node node = graph.nodes[owner];
  if (node.regions.count == 1) {
    return op.limited != 0 ? none : graph.input(node, op.states + op.slices);
  }
  const Id token = node.outputs.first;
  for (Id n = owner + 1; n < graph.nodes.size(); ++n) {
    const ir::Node& result = graph.nodes[n];
    if (result.op->kind == Kind::result && graph.input(result, 0) == token &&
        static_cast<std::int32_t>(graph.words_of(result)[0]) == ops::Result::iterations) {
      return result.outputs.first;
    }
  }
  const Id current = graph.region;
  graph.region = node.region;
  const Id result = ir::control_result(graph, token, ops::Result::iterations,
                                       graph.intern(Type(DType::int32, Dims{0, {}})));
  graph.region = current;
  return result;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
