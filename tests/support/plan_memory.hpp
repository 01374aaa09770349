// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory of a program's temporaries in a run of all its steps on one device.

#include <cstdint>
#include <vector>

#include <typeflow/exec/layout.hpp>
#include <typeflow/exec/planner.hpp>

namespace test {

struct MemoryPlan {
  std::vector<std::int64_t> offset;  ///< by slot; -1 for what no step writes
  std::int64_t bytes;
};

inline MemoryPlan plan_memory(const typeflow::ir::ProgramView& program,
                              const typeflow::SymbolSizes& sizes, bool keep_all = false) {
  namespace exec = typeflow::exec;
  const typeflow::MachineDevice device{typeflow::cpu(0)};
  std::vector<typeflow::Id> steps;
  for (typeflow::Id s = 0; s < main_steps(program); ++s) steps.push_back(s);
  const exec::Plan plan = exec::Planner(program, {&device, 1}, steps).run();
  const exec::Layout layout = exec::LayoutPlanner(program, plan, sizes, keep_all).run();
  MemoryPlan out{std::vector<std::int64_t>(static_cast<std::size_t>(program.slots.size), -1),
                 layout.bytes[0]};
  for (typeflow::Id slot = 0; slot < program.slots.size; ++slot) {
    if (plan.home[slot] == typeflow::none) continue;
    out.offset[static_cast<std::size_t>(slot)] = layout.offset[plan.home[slot]];
  }
  return out;
}

}  // namespace test
