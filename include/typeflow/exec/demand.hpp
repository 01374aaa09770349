// SPDX-License-Identifier: Apache-2.0
#pragma once

// On which streams the tensors of a run are computed and read.

#include <cstdint>
#include <span>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/streams.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Maps the inputs of a control step's blocks to the step's operands.
struct BlockInputs {
  const ir::ControlRecord& control;

  bool is_loop() const {
    return control.kind != ir::ControlKind::once && control.kind != ir::ControlKind::branch;
  }
  /// The inputs of a loop's blocks: the index, the states, the slices, then captures.
  int first_slice() const { return 1 + control.states; }
  int first_capture() const { return is_loop() ? 1 + control.states + control.stacked_inputs : 0; }
  /// The step's operand with the trip count of a `given` loop.
  int count_operand() const { return control.states + control.stacked_inputs; }
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
  TYPEFLOW_COLD Demand(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                       std::span<const Id> steps)
      : of_steps(program, devices, steps),
        home(program.slots.size, the_host),
        readers(program.slots.size, StreamSet{}),
        streams(program.steps.size, StreamSet{}),
        outside(program.steps.size, 0),
        written(program.slots.size, 0),
        program_(program) {
    for (Id slot = 0; slot < program.slots.size; ++slot) {
      if (program.slots[slot].kind == ir::SlotKind::variable) {
        home[slot] = of_steps.device_of(program.slots[slot].device);
      }
    }
    for (const Id step : steps) visit(step);
  }

  int stream_of(Id step) { return of_steps.of_step(step); }
  int device(int stream) const { return of_steps.device(stream); }
  /// Who reads the number by which a step decides: who computes it, or the step's stream.
  int decider(Id step, Id slot) {
    if (program_.slots[slot].kind == ir::SlotKind::variable) {
      return of_steps.beside(home[slot], stream_of(step));
    }
    return home[slot] == the_host ? stream_of(step) : home[slot];
  }
  bool is_flag(Id slot) const { return program_.type_of(slot).dtype == DType::boolean; }
  Id operand(const ir::Step& step, int i) const {
    return program_.operands[step.operands.first + i];
  }
  /// The slot in whose memory this one is computed; none if it has memory of its own. A part has,
  /// if its tensor is put together on another device (exec/detached_parts.hpp).
  Id whole_of(Id slot) const {
    const Id whole = program_.slots[slot].within;
    if (whole == none || program_.slots[whole].step == none) return whole;
    const auto device = [&](Id of) {
      return of_steps.device_of(program_.steps[program_.slots[of].step].device);
    };
    return device(whole) == device(slot) ? whole : none;
  }
  Id listed(const ir::Range& range, int i) const { return program_.operands[range.first + i]; }
  const ir::Block& block(const ir::ControlRecord& control, int k) const {
    return program_.blocks[listed(control.blocks, k)];
  }

  StreamsOfSteps of_steps;
  Pool<int> home;           ///< by slot: the stream that computes it; the_host. A variable's device
  Pool<StreamSet> readers;  ///< by slot
  Pool<StreamSet> streams;  ///< by step: those that have a part in it
  Pool<char> outside;       ///< by step: it keeps the model's order with all such steps
  Pool<char> written;       ///< by slot of a variable

 private:
  TYPEFLOW_COLD void visit(Id id) {
    const ir::Step& step = program_.steps[id];
    const ir::KernelSummary& kernel = program_.kernels[step.kernel];
    if (kernel.kind == ir::KernelKind::control) return visit_control(id, step);
    const int stream = stream_of(id);
    streams[id].add(stream);
    outside[id] = kernel.outside;
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = operand(step, i);
      const bool variable = program_.slots[slot].kind == ir::SlotKind::variable;
      if (i < step.inputs) {
        readers[slot].add(stream);
      } else if (variable) {
        written[slot] = 1;
        outside[id] = outside[id] != 0 || is_lock(program_, slot);
      } else {
        home[slot] = stream;
        if (const Id whole = whole_of(slot); whole != none) home[whole] = stream;
      }
      if (variable) streams[id].add(of_steps.beside(home[slot], stream));
    }
  }

  TYPEFLOW_COLD void visit_control(Id id, const ir::Step& step) {
    const ir::ControlRecord& control = control_of(program_, step);
    const BlockInputs inputs{control};
    const int stream = stream_of(id);
    StreamSet members = StreamSet::only(stream);
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& inner = block(control, k);
      for (Id s = inner.first; s < inner.first + inner.count; ++s) {
        visit(s);
        members |= streams[s];
        outside[id] = outside[id] | outside[s];
      }
    }
    const ir::Block& last = block(control, control.blocks.count - 1);
    for (int i = 0; i < last.results.count; ++i) {
      const bool of_branch = control.kind == ir::ControlKind::branch;
      for (int k = 0; k < control.blocks.count && of_branch; ++k) {
        const Id slot = listed(block(control, k).results, i);
        if (slot != none) readers[slot].add(stream);
      }
      const Id slot = listed(last.results, i);
      const int where = of_branch || slot == none ? stream : home[slot];
      if (listed(control.results, i) != none) home[listed(control.results, i)] = where;
      if (i >= control.states) continue;
      home[listed(control.second_buffers, i)] = where;
      const Id first = operand(step, i);
      readers[first].add(where);
    }
    if (control.done != none) home[control.done] = stream;
    if (control.kind == ir::ControlKind::branch) {
      const Id chosen = operand(step, 0);
      readers[chosen].add(decider(id, chosen));
    }
    if (control.kind == ir::ControlKind::given) {
      const Id count = operand(step, inputs.count_operand());
      readers[count].add(decider(id, count));
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
      members.add(of_steps.beside(home[slot], stream));
      if (i >= step.inputs) written[slot] = 1;
    }
    streams[id] = members;
  }
  const ir::ProgramView& program_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
