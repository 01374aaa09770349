// SPDX-License-Identifier: Apache-2.0
#pragma once

// Placement: every operation gets a device before anything is shared or fused. So pinning an
// operation to the device where it would run anyway changes neither kernels nor bits.
//
//   - An operation that assigns a variable runs on the variable's device, whatever its pin is.
//   - Any other pinned operation runs where it is pinned.
//   - An operation without a pin runs on the device of its inputs, if they agree. Constants, fed
//     tensors, and what a loop hands to its body say nothing.
//   - All others run on /cpu:0, where variables without a pin are, too.

#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// The device on which the inputs of a node agree; /cpu:0 if they don't. Inputs must be placed.
constexpr Device device_of_inputs(const Graph& graph, const Node& node) {
  Device device{};
  for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count; ++k) {
    const Id value = graph.operands.items[k];
    const Node& input = graph.nodes.items[graph.values.items[value].node];
    if (input.op->kind == Kind::source && input.op->builtin != Builtin::variable) continue;
    if (device.kind == DeviceKind::any) {
      device = input.device;
    } else if (!(device == input.device)) {
      return cpu(0);
    }
  }
  return device.kind == DeviceKind::any ? cpu(0) : device;
}

/// Gives every operation without a device one.
constexpr void place(Graph& graph) {
  Node* const nodes = graph.nodes.data();
  const int count = graph.nodes.size();
  bool one_device = true;
  for (Id id = 0; id < count && one_device; ++id) {
    one_device = nodes[id].device.kind == DeviceKind::any || nodes[id].device == cpu(0);
  }
  for (Id id = 0; id < count; ++id) {
    Node& node = nodes[id];
    const Kind kind = node.op->kind;
    if (one_device) {
      node.device = cpu(0);
    } else if (writes_variable(kind) || kind == Kind::result) {
      node.device = nodes[graph.values.items[graph.input(node, 0)].node].device;
    } else if (node.device.kind == DeviceKind::any) {
      node.device = kind == Kind::source ? cpu(0) : device_of_inputs(graph, node);
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
