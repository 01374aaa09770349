// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps for which a step must wait, for a scheduler of concurrent steps. (Runs take steps in
// the program's order, which respects all of them.)

#include <algorithm>
#include <vector>

#include "typeflow/lower/program.hpp"
#include "typeflow/passes/effects.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Whether a slot is a resource whose operations wait for each other, such as a queue.
inline bool is_unordered(const ProgramView& program, Id slot) {
  if (program.slots[slot].kind != SlotKind::variable) return false;
  const InitializerRecord& how = program.variables[program.slots[slot].index].initializer;
  return how.kind == Initializer::Kind::resource && how.resource->is_unordered;
}

/// For each step, the earlier steps that must have run: the writers of what it reads, the readers
/// and the last writer of a variable that it writes, and the effects that it follows. Each is
/// listed once, in order. The size of a list is the step's dependency count.
inline std::vector<std::vector<Id>> dependencies_of(const ProgramView& program) {
  std::vector<std::vector<Id>> waits(static_cast<std::size_t>(program.steps.size));
  AccessOrder accesses(program.slots.size);
  for (Id s = 0; s < program.steps.size; ++s) {
    const Step& step = program.steps[s];
    std::vector<Id>& list = waits[static_cast<std::size_t>(s)];
    const auto wait = [&](Id before) { list.push_back(before); };
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = program.operands[step.operands.first + i];
      if (is_unordered(program, slot)) continue;
      if (i < step.inputs) {
        accesses.before_read(slot, wait);
        accesses.add_read(slot, s);
      } else {
        accesses.before_write(slot, wait);
        accesses.add_write(slot, s);
      }
    }
    for (int i = 0; i < step.after.count; ++i) {
      list.push_back(program.operands[step.after.first + i]);
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    list.erase(std::remove(list.begin(), list.end(), s), list.end());
  }
  return waits;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
