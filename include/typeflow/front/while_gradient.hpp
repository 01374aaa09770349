// SPDX-License-Identifier: Apache-2.0
#pragma once

// The trip count of a loop's gradient, which equals the loop's. If the loop has a condition, it
// gives its trip count as a tensor, and so does its gradient, for a gradient of that.

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The trip count of a loop, an int32 scalar; none if the model gives it as a number. `owner`: the
/// loop's node.
constexpr Id given_iterations(ir::Graph& graph, Id owner, const ops::Loop& op) {
  const ir::Node node = graph.nodes[owner];
  if (node.regions.count == 1) {
    return op.limited != 0 ? none : graph.input(node, op.states + op.stacked_inputs);
  }
  return ir::control_result(graph, node.outputs.first, ops::Result::iterations,
                            graph.intern(Type(DType::int32, Dims{0, {}})));
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
