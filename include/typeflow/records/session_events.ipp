// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "typeflow/records/graph_names.hpp"
#include "typeflow/records/session_events.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

// Numbers of fields: tensorflow/core/framework/graph.proto, node_def.proto, attr_value.proto,
// tensor_shape.proto, step_stats.proto, and protobuf/config.proto.

/// tensorflow.DataType.
constexpr std::int32_t data_type_of(DType type) {
  constexpr std::array<std::int32_t, 16> types{10, 6,  5,  3, 9, 4, 17, 22,
                                               23, 14, 19, 1, 2, 8, 18, 7};
  return types[static_cast<std::size_t>(type)];
}
/// The device as TensorFlow spells it in full.
TYPEFLOW_COLD inline std::string device_path(Device device) {
  if (device.kind == DeviceKind::any) return {};
  return std::string("/job:localhost/replica:0/task:0/device:") +
         (device.kind == DeviceKind::cpu ? "CPU:" : "GPU:") + std::to_string(device.index);
}
/// A tensorflow.TensorShapeProto. An extent with symbols is -1, with its text as a name.
TYPEFLOW_COLD inline std::string encoded_shape(const Dims& dims) {
  std::string bytes;
  protozero::pbf_writer shape(bytes);
  for (int i = 0; i < dims.rank; ++i) {
    protozero::pbf_writer dimension(shape, 2);
    const bool symbolic = is_symbolic(dims.extent[i]);
    dimension.add_int64(1, symbolic ? -1 : dims.extent[i]);
    if (!symbolic) continue;
    Dims one{};
    one.append(dims.extent[i]);
    Message text{};
    text << one;  // "[batch]"
    const std::string_view view = text.view();
    dimension.add_string(2, std::string(view.substr(1, view.size() - 2)));
  }
  return bytes;
}

/// Writes a graph.
class GraphEncoder {
 public:
  TYPEFLOW_COLD explicit GraphEncoder(const ir::Graph& graph)
      : graph_(graph), describer_(graph), names_(graph), devices_(count(graph)) {
    for (Id id = 0; id < graph.nodes.size(); ++id) at(id) = graph.nodes[id].device;
  }

  /// Takes the devices from a session's program.
  TYPEFLOW_COLD void place(const ir::ProgramView& program, std::span<const MachineDevice> devices) {
    const StepNodes nodes(graph_, program);
    for (Device& device : devices_) {
      if (device.kind == DeviceKind::any && !devices.empty()) device = devices[0].device;
    }
    for (Id s = 0; s < program.steps.size; ++s) {
      if (nodes[s] != none) at(nodes[s]) = program.steps[s].device;
    }
    for (const ir::VariableRecord& record : graph_.variable_records) {
      const Id name = find_name(program, graph_.text_of(graph_.names[record.name]).view());
      if (name == none || program.names[name].slot == none) continue;
      const Device device = program.slots[program.names[name].slot].device;
      if (device.kind != DeviceKind::any) at(graph_.values[record.value].node) = device;
    }
  }

  TYPEFLOW_COLD std::string encode() const {
    std::string bytes;
    protozero::pbf_writer out(bytes);
    for (Id id = 0; id < graph_.nodes.size(); ++id) add_node(out, id);
    protozero::pbf_writer versions(out, 4);
    versions.add_int32(1, 1987);  // TensorFlow 2.21's
    return bytes;
  }

 private:
  static std::size_t count(const ir::Graph& graph) {
    return static_cast<std::size_t>(graph.nodes.size());
  }
  Device& at(Id node) { return devices_[static_cast<std::size_t>(node)]; }

  TYPEFLOW_COLD void add_node(protozero::pbf_writer& out, Id id) const {
    const ir::Node& node = graph_.nodes[id];
    protozero::pbf_writer def(out, 1);
    def.add_string(1, names_[id]);
    const std::string_view operation = names_.operation(id);
    def.add_string(2, operation.data(), operation.size());
    for (const std::string& input : inputs_of(id)) def.add_string(3, input);
    const std::string device = device_path(devices_[static_cast<std::size_t>(id)]);
    if (!device.empty()) def.add_string(4, device);
    add_attributes(def, id, node);
  }

  /// Tensors by node and output, then effects, each once.
  TYPEFLOW_COLD std::vector<std::string> inputs_of(Id id) const {
    std::vector<std::string> tensors;
    std::vector<std::string> effects;
    const auto add = [&](Id value) {
      if (value == none) return;
      const ir::Value& record = graph_.values[value];
      const std::string& name = names_[record.node];
      const bool is_result = graph_.nodes[id].op->kind == Kind::result;
      if (graph_.is_token(value) && !is_result) {
        if (std::find(effects.begin(), effects.end(), '^' + name) == effects.end()) {
          effects.push_back('^' + name);
        }
      } else if (record.output == 0) {
        tensors.push_back(name);
      } else {
        tensors.push_back(name + ':' + std::to_string(record.output));
      }
    };
    const ir::Node& node = graph_.nodes[id];
    for (Id k = 0; k < node.inputs.count; ++k) add(graph_.input(node, k));
    for (Id r = 0; r < node.regions.count; ++r) {
      const ir::Range results = graph_.regions[graph_.lists[node.regions.first + r]].results;
      for (Id k = 0; k < results.count; ++k) add(graph_.lists[results.first + k]);
    }
    if (const Id given = given_to(id); given != none) add(given);
    for (Id k = 0; k < node.controls.count; ++k) add(graph_.operands[node.controls.first + k]);
    tensors.insert(tensors.end(), effects.begin(), effects.end());
    return tensors;
  }
  /// The input of a loop that is the first value of a region's parameter; none for other nodes, and
  /// for the iteration's number.
  Id given_to(Id id) const {
    const ir::Node& node = graph_.nodes[id];
    if (node.op->builtin != Builtin::block_input) return none;
    const ir::Region& region = graph_.regions[node.region];
    if (region.owner == none) return none;
    const ir::Node& owner = graph_.nodes[region.owner];
    for (Id k = 1; k < region.parameters.count; ++k) {
      const bool is_this = graph_.lists[region.parameters.first + k] == node.outputs.first;
      if (is_this && k <= owner.inputs.count) return graph_.input(owner, k - 1);
    }
    return none;
  }

  template <class F>
  static void add_attribute(protozero::pbf_writer& def, std::string_view name, const F& f) {
    protozero::pbf_writer entry(def, 5);
    entry.add_string(1, name.data(), name.size());
    protozero::pbf_writer value(entry, 2);
    f(value);
  }
  TYPEFLOW_COLD void add_attributes(protozero::pbf_writer& def, Id id, const ir::Node& node) const {
    std::vector<Id> tensors;
    for (Id k = 0; k < node.outputs.count; ++k) {
      if (!graph_.is_token(node.outputs.first + k)) tensors.push_back(node.outputs.first + k);
    }
    if (!tensors.empty()) {
      add_attribute(def, "_output_shapes", [&](protozero::pbf_writer& value) {
        protozero::pbf_writer list(value, 1);
        for (const Id v : tensors) list.add_message(7, encoded_shape(graph_.dims_of(v)));
      });
      const bool is_source = node.op->kind == Kind::source;
      add_attribute(def, is_source ? "dtype" : "T", [&](protozero::pbf_writer& value) {
        value.add_enum(6, data_type_of(graph_.dtype_of(tensors[0])));
      });
      if (is_source && node.op->builtin != Builtin::constant) {
        add_attribute(def, "shape", [&](protozero::pbf_writer& value) {
          value.add_message(7, encoded_shape(graph_.dims_of(tensors[0])));
        });
      }
    }
    if (tensors.size() > 1) {
      add_attribute(def, "output_types", [&](protozero::pbf_writer& value) {
        std::vector<std::int32_t> types;
        for (const Id v : tensors) types.push_back(data_type_of(graph_.dtype_of(v)));
        protozero::pbf_writer list(value, 1);
        list.add_packed_enum(6, types.begin(), types.end());
      });
    }
    std::string line = describer_.line(id);
    line.pop_back();  // the end of the line
    add_attribute(def, "_description",
                  [&](protozero::pbf_writer& value) { value.add_bytes(2, line); });
  }

  const ir::Graph& graph_;
  ir::Describer describer_;
  GraphNames names_;
  std::vector<Device> devices_;  // by node
};

/// Writes the times of steps.
class RunMetadataEncoder {
 public:
  TYPEFLOW_COLD RunMetadataEncoder(const ir::Graph& graph, const ir::ProgramView& program,
                                   std::span<const MachineDevice> devices,
                                   std::optional<SymbolSizes> sizes)
      : names_(graph),
        nodes_(graph, program),
        program_(program),
        devices_(devices),
        sizes_(sizes) {}

  TYPEFLOW_COLD std::string encode(std::span<const exec::Span> spans) const {
    std::string bytes;
    protozero::pbf_writer metadata(bytes);
    protozero::pbf_writer stats(metadata, 1);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      protozero::pbf_writer device(stats, 1);
      device.add_string(1, device_path(devices_[d].device));
      for (const exec::Span& span : spans) {
        if (span.device == static_cast<int>(d)) add_span(device, span);
      }
    }
    return bytes;
  }

 private:
  TYPEFLOW_COLD void add_span(protozero::pbf_writer& device, const exec::Span& span) const {
    const auto nanoseconds = [](double seconds) {
      return static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0) * 1e9));
    };
    const std::int64_t begin = nanoseconds(span.begin);
    const std::int64_t time = nanoseconds(span.end - span.begin);
    const std::int64_t micros = (time + 500) / 1000;
    protozero::pbf_writer stats(device, 2);
    stats.add_string(1, span_node(span));
    stats.add_int64(2, begin / 1000);
    stats.add_int64(4, micros);
    stats.add_int64(5, micros);
    if (span.step != none) add_results(stats, program_.steps[span.step]);
    stats.add_string(8, label(span));
    stats.add_int64(9, begin / 1000);
    stats.add_int64(13, begin);
    stats.add_int64(15, time);
    stats.add_int64(16, time);
  }
  /// "fc1/MatMul (mlp.cpp:9)"
  std::string label(const exec::Span& span) const {
    if (span.step == none) return "copy";
    Message text{};
    print_step(text, program_, program_.steps[span.step]);
    return std::string(text.view());
  }
  std::string span_node(const exec::Span& span) const {
    if (span.step == none) return "copy";
    const Id node = nodes_[span.step];
    if (node != none) return names_[node];
    Message text{};
    print_label(text, program_, program_.steps[span.step].label);
    return node_name_of(text.view());
  }
  /// The memory and the shapes of what a step writes.
  TYPEFLOW_COLD void add_results(protozero::pbf_writer& stats, const ir::Step& step) const {
    std::int64_t bytes = 0;
    std::vector<std::pair<Type, std::int64_t>> results;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Type& type = program_.type_of(program_.operands[step.operands.first + i]);
      if (!sizes_ && !is_static(type.dims)) return;
      const std::int64_t count = count_of(type.dims).resolve(sizes_.value_or(SymbolSizes()));
      bytes += count * size_of(type.dtype);
      results.emplace_back(type, count * size_of(type.dtype));
    }
    if (results.empty()) return;
    {
      protozero::pbf_writer memory(stats, 6);
      memory.add_string(1, step.device.kind == DeviceKind::gpu ? "gpu" : "cpu");
      memory.add_int64(2, bytes);
      memory.add_int64(3, bytes);
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      protozero::pbf_writer output(stats, 7);
      if (k > 0) output.add_int32(1, static_cast<std::int32_t>(k));
      protozero::pbf_writer tensor(output, 3);
      tensor.add_enum(1, data_type_of(results[k].first.dtype));
      const Dims dims = results[k].first.dims;
      tensor.add_message(2, encoded_shape(sizes_ ? resolve(dims, *sizes_) : dims));
      protozero::pbf_writer allocation(tensor, 4);
      allocation.add_int64(1, results[k].second);
      allocation.add_int64(2, results[k].second);
    }
  }

  GraphNames names_;
  StepNodes nodes_;
  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  std::optional<SymbolSizes> sizes_;
};

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string encode_graph(const ir::Graph& graph) {
  return detail::GraphEncoder(graph).encode();
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string encode_graph(const ir::Graph& graph,
                                                           const ir::ProgramView& program,
                                                           std::span<const MachineDevice> devices) {
  detail::GraphEncoder encoder(graph);
  encoder.place(program, devices);
  return encoder.encode();
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string encode_run_metadata(
    const ir::Graph& graph, const ir::ProgramView& program, std::span<const MachineDevice> devices,
    std::span<const exec::Span> spans, std::optional<SymbolSizes> sizes) {
  return detail::RunMetadataEncoder(graph, program, devices, sizes).encode(spans);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
