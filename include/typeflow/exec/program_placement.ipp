// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/program_placement.hpp"
#include "typeflow/exec/streams.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

TYPEFLOW_COLD TYPEFLOW_DEFINITION PlacementMachine
machine_of(std::span<const MachineDevice> devices, const CostModel& model) {
  PlacementMachine machine{{}, model.link, model.link};
  for (std::size_t d = 0; d < devices.size(); ++d) {
    machine.devices.push_back(
        {detail::device_name(devices[d]), static_cast<int>(d), 0, devices[d].memory_limit});
  }
  return machine;
}

namespace detail {

/// Whether another device of the kind would do for a step, and for all steps in its blocks.
TYPEFLOW_COLD inline bool is_open(const ir::ProgramView& program, const ir::Step& step) {
  const ir::KernelSummary& kernel = program.kernels[step.kernel];
  if (!step.device.is_open || kernel.outside) return false;
  for (int i = 0; i < step.operands.count; ++i) {
    const ir::Slot& slot = program.slots[program.operands[step.operands.first + i]];
    if (slot.kind != ir::SlotKind::variable) continue;
    if (i >= step.inputs) return false;
    const InitializerRecord& how = program.variables[slot.index].initializer;
    if (how.kind == Initializer::Kind::resource) return false;
  }
  if (kernel.kind != ir::KernelKind::control) return true;
  const ir::ControlRecord& control = control_of(program, step);
  for (int k = 0; k < control.blocks.count; ++k) {
    const ir::Block& block = program.blocks[program.operands[control.blocks.first + k]];
    for (Id s = block.first; s < block.first + block.count; ++s) {
      if (!is_open(program, program.steps[s])) return false;
    }
  }
  return true;
}

}  // namespace detail

/// Makes the placement graph of a run's steps.
class ProgramGraph {
 public:
  TYPEFLOW_COLD ProgramGraph(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                             std::span<const Id> steps, const CostModel& model,
                             const ByCostOptions& options, bool parts_together)
      : program_(program),
        devices_(devices),
        steps_(steps),
        options_(options),
        parts_together_(parts_together),
        bytes_per_second_(model.rates.bytes_per_second),
        costs_(model, program, devices, options.sizes),
        tensor_of_(static_cast<std::size_t>(program.slots.size), none),
        accesses_(program),
        node_of_(static_cast<std::size_t>(program.steps.size), none),
        signal_of_(static_cast<std::size_t>(program.steps.size), none),
        awaited_(static_cast<std::size_t>(program.steps.size), false) {}

  TYPEFLOW_COLD PlacementGraph run() {
    for (const Id step : steps_) find_awaited(step);
    find_groups();
    for (std::size_t i = 0; i < steps_.size(); ++i) add(i);
    return std::move(graph_);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool is_outside(const ir::Step& step) const { return program_.kernels[step.kernel].outside; }
  std::int64_t bytes_of(Id slot) const {
    const Type& type = program_.type_of(slot);
    return checked_product(count_of(type.dims).resolve(options_.sizes), size_of(type.dtype));
  }
  Id operand(const ir::Step& step, int i) const {
    return program_.operands[step.operands.first + i];
  }
  /// The device that a step or variable names, or the first one of its kind.
  int number_of(Device device) const {
    int of_kind = 0;
    for (int i = static_cast<int>(devices_.size()) - 1; i >= 0; --i) {
      const Device known = devices_[at(i)].device;
      if (known == device) return i;
      if (known.kind == device.kind) of_kind = i;
    }
    return of_kind;
  }

  /// Whether a step, or one in its blocks, has an effect on something else than variables.
  TYPEFLOW_COLD bool reaches_outside(const ir::Step& step) const {
    if (is_outside(step)) return true;
    if (program_.kernels[step.kernel].kind != ir::KernelKind::control) return false;
    const ir::ControlRecord& control = control_of(program_, step);
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      for (Id s = block.first; s < block.first + block.count; ++s) {
        if (reaches_outside(program_.steps[s])) return true;
      }
    }
    return false;
  }
  /// Nodes that a step follows without reading what they make: they read a variable that it writes,
  /// or both have effects outside.
  TYPEFLOW_COLD std::vector<int> nodes_before(Id id, const ir::Step& step) {
    std::vector<int> out;
    accesses_.before(step, [&](Id earlier) { out.push_back(node_of_[at(earlier)]); });
    accesses_.add(id);
    if (reaches_outside(step)) {
      if (last_reaching_ != none) out.push_back(last_reaching_);
      last_reaching_ = static_cast<int>(graph_.nodes.size());
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  TYPEFLOW_COLD void find_awaited(Id id) {
    const ir::Step& step = program_.steps[id];
    for (int i = 0; i < step.after.count; ++i) {
      awaited_[at(program_.operands[step.after.first + i])] = true;
    }
    if (is_outside(step)) awaited_[at(id)] = true;
  }
  /// Steps that must share a device.
  TYPEFLOW_COLD void find_groups() {
    group_.resize(steps_.size());
    std::iota(group_.begin(), group_.end(), 0);
    std::map<Id, int> of_whole;
    std::map<int, int> of_demand;
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      const ir::Step& step = program_.steps[steps_[n]];
      for (int i = step.inputs; i < step.operands.count && parts_together_; ++i) {
        const Id slot = operand(step, i);
        const Id whole = program_.slots[slot].within;
        const auto [known, is_new] =
            of_whole.try_emplace(whole == none ? slot : whole, static_cast<int>(n));
        if (!is_new && program_.slots[slot].kind == ir::SlotKind::temporary) {
          unite(known->second, static_cast<int>(n));
        }
      }
      if (options_.demands.group.empty() || options_.demands.group[at(steps_[n])] == none) continue;
      const auto [known, is_new] =
          of_demand.try_emplace(options_.demands.group[at(steps_[n])], static_cast<int>(n));
      if (!is_new) unite(known->second, static_cast<int>(n));
    }
  }
  int root(int n) const {
    while (group_[at(n)] != n) n = group_[at(n)];
    return n;
  }
  void unite(int a, int b) {
    a = root(a);
    b = root(b);
    group_[at(std::max(a, b))] = std::min(a, b);
  }

  TYPEFLOW_COLD std::vector<int> feasible(Id id) const {
    const ir::Step& step = program_.steps[id];
    if (!detail::is_open(program_, step)) return {number_of(step.device)};
    const std::uint32_t asked =
        options_.demands.feasible.empty() ? 0 : options_.demands.feasible[at(id)];
    std::vector<int> out;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const bool is_asked = asked == 0 || (asked >> d & 1u) != 0;
      if (is_asked && devices_[d].device.kind == step.device.kind) {
        out.push_back(static_cast<int>(d));
      }
    }
    if (out.empty() && asked == 0) out.push_back(number_of(step.device));
    if (out.empty()) {
      Message name{};
      print_step(name, program_, step);
      throw Error("placement of " + std::string(name.view()),
                  "none of its feasible devices has its kind");
    }
    return out;
  }

  /// The tensor that a step reads; none for the host's, which are with every device.
  TYPEFLOW_COLD int tensor(Id slot) {
    int& known = tensor_of_[at(slot)];
    if (known == none && program_.slots[slot].kind == ir::SlotKind::variable) {
      known = graph_.add_source(bytes_of(slot), number_of(program_.slots[slot].device));
    }
    return known;
  }
  TYPEFLOW_COLD void add(std::size_t n) {
    const Id id = steps_[n];
    const ir::Step& step = program_.steps[id];
    PlacementNode node;
    Message name{};
    print_step(name, program_, step);
    node.name = std::string(name.view());
    node.devices = feasible(id);
    if (node.devices.size() == devices_.size()) node.devices.clear();
    node.group = root(static_cast<int>(n));
    for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
      node.seconds.push_back(costs_.seconds(id, d));
    }
    const auto reads = [&](int read) {
      if (read != none &&
          std::find(node.inputs.begin(), node.inputs.end(), read) == node.inputs.end()) {
        node.inputs.push_back(read);
      }
    };
    for (int i = 0; i < step.inputs; ++i) reads(tensor(operand(step, i)));
    for (int i = 0; i < step.after.count; ++i) {
      reads(signal_of_[at(program_.operands[step.after.first + i])]);
    }
    if (is_outside(step)) reads(std::exchange(last_outside_, none));

    std::vector<Id> written;
    for (int i = step.inputs; i < step.operands.count; ++i) written.push_back(operand(step, i));
    if (program_.kernels[step.kernel].kind == ir::KernelKind::control) {
      const ir::ControlRecord& control = control_of(program_, step);
      for (int i = 0; i < control.results.count; ++i) {
        written.push_back(program_.operands[control.results.first + i]);
      }
      written.push_back(control.done);
    }
    std::erase(written, none);
    for (const Id slot : written) {
      // An assigned variable has its own memory. (So a copy of the new value to another device is
      // taken for a signal.)
      const bool counts = program_.slots[slot].kind != ir::SlotKind::variable;
      node.outputs.push_back(counts ? bytes_of(slot) : 0);
    }
    if (awaited_[at(id)]) node.outputs.push_back(0);
    node.after = nodes_before(id, step);
    const int number = graph_.add(std::move(node));
    node_of_[at(id)] = number;
    for (std::size_t k = 0; k < written.size(); ++k) {
      const Id slot = written[k];
      const int made = graph_.output(number, static_cast<int>(k));
      tensor_of_[at(slot)] = made;
      if (program_.slots[slot].within == none) continue;
      graph_.tensors[at(made)].is_part = true;
      graph_.tensors[at(made)].place_seconds =
          2 * static_cast<double>(bytes_of(slot)) / bytes_per_second_;
    }
    if (awaited_[at(id)]) {
      signal_of_[at(id)] = graph_.output(number, static_cast<int>(written.size()));
      if (is_outside(step)) last_outside_ = signal_of_[at(id)];
    }
  }

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  std::span<const Id> steps_;
  const ByCostOptions& options_;
  const bool parts_together_;
  const double bytes_per_second_;  // that a device reads and writes
  StepCosts costs_;
  std::vector<int> tensor_of_;  // by slot
  VariableAccesses accesses_;
  std::vector<int> node_of_;    // by step
  std::vector<int> signal_of_;  // by step: a tensor without bytes
  std::vector<bool> awaited_;   // by step: others only come after it
  std::vector<int> group_;      // by node: a forest
  int last_outside_ = none;
  int last_reaching_ = none;  // node with effects outside of the program
  PlacementGraph graph_;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION PlacementGraph graph_of(const ir::ProgramView& program,
                                                          std::span<const MachineDevice> devices,
                                                          std::span<const Id> steps,
                                                          const CostModel& model,
                                                          const ByCostOptions& options,
                                                          bool parts_together) {
  return ProgramGraph(program, devices, steps, model, options, parts_together).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
