// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradient of tf::checkpointed: one region that computes the first region's values again, from
// the same captures, and then their gradients. Nothing of the first region is saved. Passes see one
// region at a time, so they do not merge the two computations.
//
// Source: Chen, Xu, Zhang, Guestrin, Training Deep Nets with Sublinear Memory Cost, 2016.

#include "typeflow/front/backward.hpp"
#include "typeflow/graph/clone.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The gradients for the inputs of a node with ops::Checkpoint; none for some. `dy`: the gradients
/// of its results, by index, none for some. `wanted`, by input: whether a gradient is wanted.
constexpr Pool<Id> checkpoint_gradient(ir::Graph& graph, Id owner, const Pool<Id>& dy,
                                       const Pool<char>& wanted) {
  const ir::Node node = graph.nodes[owner];
  const Id forward = graph.lists[node.regions.first];
  const ir::Range results = graph.regions[forward].results;
  const auto is_floating_value = [&](Id value) { return is_floating(graph.dtype_of(value)); };
  Pool<Id> dx(node.inputs.count, none);
  const Id back = ir::open_region(graph);
  ir::RegionClone again(graph, forward, graph);
  again.run();

  Pool<Id> y;
  Pool<Id> given;
  for (Id i = 0; i < dy.size(); ++i) {
    const Id result = graph.lists[results.first + i];
    if (dy[i] == none || !is_floating_value(result)) continue;
    y.push(again(result));
    given.push(dy[i]);
  }
  Pool<Id> xs;
  Pool<Id> inputs;  // as xs
  for (Id k = 0; k < node.inputs.count; ++k) {
    const Id x = graph.input(node, k);
    if (wanted[k] == 0 || !is_floating_value(x)) continue;
    xs.push(x);
    inputs.push(k);
  }
  const Pool<Id> found = gradients_of(graph, y, given, xs, back);
  Pool<Id> computed;
  Pool<Id> of_input;
  for (int i = 0; i < xs.size(); ++i) {
    if (found[i] == none) continue;
    computed.push(found[i]);
    of_input.push(inputs[i]);
  }
  ir::close_region(graph, back, computed);
  Pool<Id> regions;
  regions.push(back);
  // Also without results, because a region needs an owner.
  const Id token = ir::ControlBuilder(graph, regions).add(ops::Checkpoint{}, {});
  for (int i = 0; i < computed.size(); ++i) {
    dx[of_input[i]] = ir::control_result(graph, token, i, graph.values[computed[i]].type);
  }
  return dx;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
