// SPDX-License-Identifier: Apache-2.0
#pragma once

// Placement: every operation gets a device before anything is shared or fused. So pinning an
// operation to the device where it would run anyway changes neither kernels nor bits.
//
//   - An operation that assigns a variable runs on the variable's device, whatever its pin is.
//   - Any other pinned operation runs where it is pinned.
//   - An operation without a pin runs on the device of its inputs, if they agree. Constants, fed
//     tensors, and what a loop hands to its body say nothing.
//   - All others run on the default device, where variables without a pin are, too. It is /cpu:0;
//   in
//     sessions on targets that prefer GPUs (Mode::gpu_first) /gpu:0, but for what needs the host.
//
// An operation without a pin that needs the host is never put on a GPU. With Mode::gpu_first its
// results say nothing about the operations that read them: it is on the processor for want of a
// kernel.
//
// What has got its device by the last two rules is open (Device::is_open): placement by cost may
// run it on another device of the same kind.

#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Whether a node needs the host: by its operation, or because it works on strings.
constexpr bool is_host_only(const Graph& graph, const Node& node) {
  if (node.op->kind == Kind::source) return false;  // the host's tensors are with all devices
  bool found = node.op->host_only;
  const auto add = [&](Id value) {
    found = found || (!graph.is_token(value) && graph.dtype_of(value) == DType::string);
  };
  for (Id k = 0; k < node.inputs.count; ++k) add(graph.input(node, k));
  for (Id k = 0; k < node.outputs.count; ++k) add(node.outputs.first + k);
  return found;
}

/// The device of a node for which neither a pin nor inputs speak. Other sources than variables are
/// with each device that reads them; the name is /cpu:0.
constexpr Device default_device(const Graph& graph, const Node& node) {
  if (!has(graph.mode(), Mode::gpu_first)) return cpu(0);
  if (node.op->kind != Kind::source) return is_host_only(graph, node) ? cpu(0) : gpu(0);
  if (node.op->builtin != Builtin::variable) return cpu(0);
  const Id value = node.outputs.first;
  const bool needs_host = graph.variable_records.items[graph.variable_index(value)].is_resource() ||
                          graph.dtype_of(value) == DType::string;
  return needs_host ? cpu(0) : gpu(0);
}

/// The device of a node that has no pin. `device_of(id)` is the device of a node in front of it.
template <class F>
constexpr Device device_without_pin(const Graph& graph, const Node& node, const F& device_of) {
  if (node.op->kind == Kind::source) return default_device(graph, node);
  const bool gpu_first = has(graph.mode(), Mode::gpu_first);
  Device device{};
  for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count; ++k) {
    const Id value = graph.operands.items[k];
    const Id id = graph.values.items[value].node;
    const Node& input = graph.nodes.items[id];
    if (input.op->kind == Kind::source && input.op->builtin != Builtin::variable) continue;
    const Device of_input = device_of(id);
    if (gpu_first && of_input.is_open && is_host_only(graph, input)) continue;
    if (device.kind == DeviceKind::any) {
      device = of_input;
    } else if (!(device == of_input)) {
      return default_device(graph, node);
    }
  }
  if (device.kind == DeviceKind::any) return default_device(graph, node);
  return device.kind == DeviceKind::gpu && is_host_only(graph, node) ? cpu(0) : device;
}

/// The devices that place() will give to the first `count` nodes.
constexpr Pool<Device> future_devices(const Graph& graph, Id count) {
  Pool<Device> devices;
  const auto device_of = [&](Id id) { return devices.items[id]; };
  for (Id id = 0; id < count; ++id) {
    const Node& node = graph.nodes.items[id];
    const Kind kind = node.op->kind;
    if (writes_variable(kind) || kind == Kind::result) {
      devices.push(device_of(graph.values.items[graph.input(node, 0)].node));
    } else if (node.device.kind != DeviceKind::any) {
      devices.push(node.device);
    } else {
      devices.push(device_without_pin(graph, node, device_of));
      devices.back().is_open = true;
    }
  }
  return devices;
}
/// The device that place() will give to the operation that computes a value.
constexpr Device future_device(const Graph& graph, Id value) {
  Device device = future_devices(graph, graph.values.items[value].node + 1).back();
  device.is_open = false;  // what is put there is pinned
  return device;
}

/// Gives every operation without a device one.
constexpr void place(Graph& graph) {
  Node* const nodes = graph.nodes.data();
  const int count = graph.nodes.size();
  const auto device_of = [&](Id id) { return nodes[id].device; };
  bool one_device = !has(graph.mode(), Mode::gpu_first);
  for (Id id = 0; id < count && one_device; ++id) {
    one_device = nodes[id].device.kind == DeviceKind::any || nodes[id].device == cpu(0);
  }
  for (Id id = 0; id < count; ++id) {
    Node& node = nodes[id];
    const Kind kind = node.op->kind;
    const bool is_open = node.device.kind == DeviceKind::any && !writes_variable(kind);
    if (one_device) {
      node.device = cpu(0);
    } else if (writes_variable(kind) || kind == Kind::result) {
      node.device = nodes[graph.values.items[graph.input(node, 0)].node].device;
    } else if (node.device.kind == DeviceKind::any) {
      node.device = device_without_pin(graph, node, device_of);
    }
    node.device.is_open = is_open;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
