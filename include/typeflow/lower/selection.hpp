// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps that a run takes: those on which its names depend.

#include "typeflow/core/pool.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// The part of a program that computes some of its names.
struct Selection {
  Pool<char> steps;         ///< by step: whether it is taken
  Pool<char> placeholders;  ///< by placeholder: whether it is read
  int count = 0;            ///< steps that are taken
  bool draws = false;       ///< one of them draws random numbers
  bool exact = true;        ///< the names need all that the steps compute
};

/// Whether one of the names is in a set of ProgramView::need_sets.
constexpr bool is_needed(const ProgramView& program, Id set, const Id* names, int name_count) {
  const int width = (program.names.size + 31) / 32;
  const std::uint32_t* const words = program.need_sets.data + set * width;
  for (int i = 0; i < name_count; ++i) {
    if ((words[names[i] / 32] >> (names[i] % 32) & 1u) != 0) return true;
  }
  return false;
}

/// The steps for a run of these names (ProgramView::names; tensors must have a slot).
constexpr Selection select_steps(const ProgramView& program, const Id* names, int name_count) {
  Selection out;
  out.steps = Pool<char>(program.steps.size, 0);
  out.placeholders = Pool<char>(program.placeholders.size, 0);
  // Runs for every step while the compiler evaluates, so it is plain.
  char* const steps = out.steps.data();
  char* const placeholders = out.placeholders.data();
  const Slot* const slots = program.slots.data;
  const Id* const operands = program.operands.data;
  const auto need = [&](Id id) {
    const Slot& slot = slots[id];
    if (slot.kind == SlotKind::temporary) steps[slot.step] = 1;
    if (slot.kind == SlotKind::placeholder && slot.index != none) placeholders[slot.index] = 1;
  };
  for (int i = 0; i < name_count; ++i) {
    const ProgramName& name = program.names[names[i]];
    if (name.slot != none) need(name.slot);
    for (int k = 0; k < name.steps.count; ++k) steps[operands[name.steps.first + k]] = 1;
  }
  for (Id s = program.steps.size - 1; s >= 0; --s) {  // steps come after those that they need
    if (steps[s] == 0) continue;
    const Step& step = program.steps.data[s];
    ++out.count;
    for (int k = 0; k < step.needs.count && out.exact; ++k) {
      out.exact = is_needed(program, operands[step.needs.first + k], names, name_count);
    }
    const KernelSummary& kernel = program.kernels.data[step.kernel];
    if (kernel.random) out.draws = true;
    if (kernel.kind == KernelKind::control) {
      const Range blocks = control_of(program, step).blocks;
      for (int k = 0; k < blocks.count; ++k) {
        out.draws = out.draws || program.blocks[operands[blocks.first + k]].draws;
      }
    }
    const Id last = step.operands.first + step.inputs;
    for (Id k = step.operands.first; k < last; ++k) need(operands[k]);
    const Id last_after = step.after.first + step.after.count;
    for (Id k = step.after.first; k < last_after; ++k) steps[operands[k]] = 1;
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
