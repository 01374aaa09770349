// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the tensors of a run are computed, and which devices read them.

#include <cstdint>
#include <span>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::exec {

/// A set of devices, as bits.
using DeviceSet = std::uint32_t;
constexpr DeviceSet only(int device) { return DeviceSet{1} << device; }
constexpr bool contains(DeviceSet set, int device) {
  return device != the_host && (set >> device & 1u) != 0;
}

/// What of a control step's operands is which input of its blocks.
struct BlockInputs {
  const ir::ControlRecord& control;

  bool is_loop() const {
    return control.kind != ir::ControlKind::once && control.kind != ir::ControlKind::branch;
  }
  /// The inputs of a loop's blocks: the index, the states, the slices, then captures.
  int first_state() const { return 1; }
  int first_slice() const { return 1 + control.states; }
  int first_capture() const { return is_loop() ? 1 + control.states + control.slices : 0; }
  /// The step's operand with the trip count of a `given` loop.
  int count_operand() const { return control.states + control.slices; }
  /// The step's operand for input i; none for the index of an iteration.
  int operand(int i) const {
    if (control.kind == ir::ControlKind::once) return i;
    if (control.kind == ir::ControlKind::branch) return 1 + i;
    if (i == 0) return none;
    const bool behind = i >= first_capture() && control.kind == ir::ControlKind::given;
    return i - 1 + (behind ? 1 : 0);
  }
};

class Demand {
 public:
  /// Error if a step is pinned to a device that the machine lacks, unless placement is soft: then
  /// it runs on the first device of its kind, or else on the first device.
  TYPEFLOW_COLD Demand(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                       std::span<const Id> steps)
      : home(program.slots.size, the_host),
        readers(program.slots.size, DeviceSet{0}),
        streams(program.steps.size, DeviceSet{0}),
        outside(program.steps.size, 0),
        written(program.slots.size, 0),
        program_(program),
        devices_(devices) {
    for (Id slot = 0; slot < program.slots.size; ++slot) {
      if (program.slots[slot].kind == ir::SlotKind::variable) {
        home[slot] = number_of(program.slots[slot].device);
      }
    }
    for (const Id step : steps) scan(step);
  }

  int device_of(Id step) const { return number_of(program_.steps[step].device); }
  Id operand(const ir::Step& step, int i) const {
    return program_.operands[step.operands.first + i];
  }
  Id listed(const ir::Range& range, int i) const { return program_.operands[range.first + i]; }
  const ir::Block& block(const ir::ControlRecord& control, int k) const {
    return program_.blocks[listed(control.blocks, k)];
  }

  Pool<int> home;           ///< by slot: the device that computes or keeps it; host
  Pool<DeviceSet> readers;  ///< by slot
  Pool<DeviceSet> streams;  ///< by step: the devices that have a part in it
  Pool<char> outside;       ///< by step: it has an effect outside of variables
  Pool<char> written;       ///< by slot of a variable

 private:
  int number_of(Device device) const {
    int of_kind = 0;
    for (int i = static_cast<int>(devices_.size()) - 1; i >= 0; --i) {
      const Device known = devices_[static_cast<std::size_t>(i)].device;
      if (known == device) return i;
      if (known.kind == device.kind) of_kind = i;
    }
    return of_kind;
  }

  TYPEFLOW_COLD void scan(Id id) {
    const ir::Step& step = program_.steps[id];
    const ir::KernelSummary& kernel = program_.kernels[step.kernel];
    if (kernel.kind == ir::KernelKind::control) return scan_control(id, step);
    const int device = device_of(id);
    streams[id] = only(device);
    outside[id] = kernel.outside;
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = operand(step, i);
      const bool variable = program_.slots[slot].kind == ir::SlotKind::variable;
      if (i < step.inputs) {
        readers[slot] |= only(device);
      } else if (variable) {
        written[slot] = 1;
      } else {
        home[slot] = device;
        if (program_.slots[slot].within != none) home[program_.slots[slot].within] = device;
      }
      if (variable) streams[id] |= only(home[slot]);
    }
  }

  TYPEFLOW_COLD void scan_control(Id id, const ir::Step& step) {
    const ir::ControlRecord& control = control_of(program_, step);
    const BlockInputs inputs{control};
    const int device = device_of(id);
    DeviceSet members = only(device);
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& inner = block(control, k);
      for (Id s = inner.first; s < inner.first + inner.count; ++s) {
        scan(s);
        members |= streams[s];
        outside[id] = outside[id] | outside[s];
      }
    }
    const ir::Block& last = block(control, control.blocks.count - 1);
    for (int i = 0; i < last.results.count; ++i) {
      const bool of_branch = control.kind == ir::ControlKind::branch;
      for (int k = 0; k < control.blocks.count && of_branch; ++k) {
        const Id slot = listed(block(control, k).results, i);
        if (slot != none) readers[slot] |= only(device);
      }
      const Id slot = listed(last.results, i);
      const int where = of_branch || slot == none ? device : home[slot];
      if (listed(control.results, i) != none) home[listed(control.results, i)] = where;
      if (i >= control.states) continue;
      home[listed(control.others, i)] = where;
      const Id first = operand(step, i);
      readers[first] |= only(where);
    }
    if (control.done != none) home[control.done] = device;
    if (control.kind == ir::ControlKind::branch) readers[operand(step, 0)] |= decider(step, 0);
    if (control.kind == ir::ControlKind::given) {
      readers[operand(step, inputs.count_operand())] |= decider(step, inputs.count_operand());
    }
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& inner = block(control, k);
      for (int i = 0; i < inner.inputs.count; ++i) {
        const Id slot = listed(inner.inputs, i);
        if (slot == none || inputs.operand(i) == none) continue;
        if (inputs.is_loop() && i < inputs.first_slice()) continue;  // states are sent inside
        const Id outer = operand(step, inputs.operand(i));
        readers[outer] |= readers[slot];
      }
    }
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = operand(step, i);
      if (program_.slots[slot].kind != ir::SlotKind::variable) continue;
      members |= only(home[slot]);
      if (i >= step.inputs) written[slot] = 1;
    }
    streams[id] = members;
  }
  /// Who reads the number by which a step decides: its home, or the step's device.
  DeviceSet decider(const ir::Step& step, int i) const {
    const int where = home[operand(step, i)];
    return only(where == the_host ? number_of(step.device) : where);
  }

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::exec
