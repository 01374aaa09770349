// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/exec/host_code.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The tables of a program of which some steps have the processor's kernels. Kernel k of the
/// processor has the number of kernels plus k.
struct HostCodeTables final : Placed {
  Pool<ir::Step> steps;
  Pool<ir::Slot> slots;
  Pool<ir::KernelSummary> summaries;
  std::vector<KernelEntry> kernels;
};

/// Finds what has to move: steps without code, and what shares memory with them.
class HostCodeFinder {
 public:
  TYPEFLOW_COLD HostCodeFinder(const PlacementTask& task, const KernelEntry* own)
      : task_(task),
        program_(task.program),
        own_(own),
        steps_(program_.steps.size),
        group_(steps_ + program_.slots.size, 0),
        moves_(steps_ + program_.slots.size, 0) {
    for (int i = 0; i < group_.size(); ++i) group_[i] = i;
  }

  /// Whether anything moves.
  TYPEFLOW_COLD bool run() {
    bool any = false;
    for (int s = 0; s < steps_; ++s) any = stays(s) ? any : true;
    if (!any) return false;
    join_by_memory();
    for (int s = 0; s < steps_; ++s) {
      if (!stays(s)) moves_[root(s)] = 1;
    }
    return true;
  }
  bool moves_step(int step) const { return moves_[root(step)] != 0; }
  bool moves_slot(int slot) const { return moves_[root(steps_ + slot)] != 0; }

 private:
  /// Whether a step can run where it is. Error if it has to be there and can't.
  TYPEFLOW_COLD bool stays(int number) const {
    const ir::Step& step = program_.steps[number];
    if (step.device.kind == DeviceKind::cpu || is_control(step)) return true;
    const bool has_device = std::any_of(
        task_.devices.begin(), task_.devices.end(),
        [&](const MachineDevice& device) { return device.device.kind == step.device.kind; });
    const bool has_code = own_[step.kernel].run != nullptr;
    if (has_device && has_code) return true;
    if (!task_.soft && is_pinned(step)) {
      if (!has_device) return true;  // the engine refuses it
      Message what{};
      print_step(what, program_, step);
      Message device{};
      device << step.device;
      throw Error(std::string(what.view()),
                  "there is no kernel for " + std::string(device.view()) +
                      "; leave the device open, pin it to /cpu:0, or set soft_placement");
    }
    return false;
  }
  bool is_control(const ir::Step& step) const {
    return program_.kernels[step.kernel].kind == ir::KernelKind::control;
  }
  /// Whether the model demands the device. A step that assigns a variable is where that is.
  TYPEFLOW_COLD bool is_pinned(const ir::Step& step) const {
    bool assigns = false;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const ir::Slot& slot = program_.slots[program_.operands[step.operands.first + i]];
      if (slot.kind != ir::SlotKind::variable) continue;
      assigns = true;
      if (!slot.device.is_open) return true;
    }
    return !assigns && !step.device.is_open;
  }

  /// A variable is with the steps that assign it, and a tensor with the steps that write parts of
  /// it.
  TYPEFLOW_COLD void join_by_memory() {
    for (int s = 0; s < steps_; ++s) {
      const ir::Step& step = program_.steps[s];
      if (is_control(step)) continue;
      for (int i = step.inputs; i < step.operands.count; ++i) {
        const Id slot = program_.operands[step.operands.first + i];
        join(s, steps_ + slot);
        const Id whole = program_.slots[slot].within;
        if (whole != none) join(s, steps_ + whole);
      }
    }
  }
  int root(int thing) const {
    while (group_[thing] != thing) thing = group_[thing];
    return thing;
  }
  void join(int a, int b) {
    const int to = std::min(root(a), root(b));
    group_[std::max(root(a), root(b))] = to;
  }

  const PlacementTask& task_;
  const ir::ProgramView& program_;
  const KernelEntry* own_;
  const int steps_;
  Pool<int> group_;   // by thing: a step, or the number of steps plus a slot
  Pool<char> moves_;  // by the root of a group
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::unique_ptr<Placed> move_to_host(
    const PlacementTask& task, const KernelTables& tables, const KernelEntry*& kernels) {
  kernels = tables.own;
  HostCodeFinder finder(task, tables.own);
  if (!finder.run()) return nullptr;
  ir::ProgramView& program = task.program;
  const int count = program.kernels.size;
  auto moved = std::make_unique<HostCodeTables>();
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < count; ++k) {
      moved->summaries.push(program.kernels[k]);
      moved->kernels.push_back((half == 0 ? tables.own : tables.host)[k]);
    }
  }
  for (int s = 0; s < program.steps.size; ++s) {
    ir::Step step = program.steps[s];
    if (finder.moves_step(s) && step.device.kind != DeviceKind::cpu) {
      const bool is_open = step.device.is_open;
      step.device = cpu(0);
      step.device.is_open = is_open;
      step.kernel += count;
    }
    moved->steps.push(step);
  }
  for (int i = 0; i < program.slots.size; ++i) {
    ir::Slot slot = program.slots[i];
    if (slot.kind == ir::SlotKind::temporary && slot.step != none) {
      slot.device = moved->steps[slot.step].device;
    } else if (slot.kind == ir::SlotKind::variable && finder.moves_slot(i)) {
      const bool is_open = slot.device.is_open;
      slot.device = cpu(0);
      slot.device.is_open = is_open;
    }
    moved->slots.push(slot);
  }
  program.steps.data = moved->steps.data();
  program.slots.data = moved->slots.data();
  program.kernels = {moved->summaries.data(), moved->summaries.size()};
  kernels = moved->kernels.data();
  return moved;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
