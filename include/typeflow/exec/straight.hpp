// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans of programs without branches and loops on one device of the host: a list of launches.

#include <span>

#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The place of a tensor of the host: fed, constant or a variable.
TYPEFLOW_COLD inline int add_external(Plan& plan, const ir::ProgramView& program, Id slot) {
  if (plan.external[slot] == none) {
    plan.external[slot] = plan.places.push({PlaceKind::external, slot, the_host, the_host, none, 0,
                                            std::numeric_limits<int>::max(), false, false});
    const ir::Slot& s = program.slots[slot];
    if (s.kind == ir::SlotKind::placeholder && s.index != none &&
        program.placeholders[s.index].has_default) {
      plan.defaults.push(plan.external[slot]);
    }
  }
  return plan.external[slot];
}

/// The plan of some steps for a device whose memory is the host's.
TYPEFLOW_COLD inline Plan plan_straight(const ir::ProgramView& program, int device,
                                        std::span<const Id> steps) {
  Plan plan;
  plan.home = Pool<int>(program.slots.size, none);
  plan.external = Pool<int>(program.slots.size, none);
  for (int d = 0; d <= device; ++d) plan.scopes.push({none, d, d, none, 0, 0, 1});
  plan.main_device = device;
  for (const Id id : steps) {
    const ir::Step& step = program.steps[id];
    const int first = plan.operands.size();
    for (int i = 0; i < step.operands.count; ++i) {
      Id slot = program.operands[step.operands.first + i];
      if (program.slots[slot].within != none) slot = program.slots[slot].within;
      int place = plan.home[slot];
      if (program.slots[slot].kind != ir::SlotKind::temporary) {
        place = add_external(plan, program, slot);
      } else if (place == none) {
        place = plan.places.push({PlaceKind::temporary, slot, device, 0, device, plan.duration,
                                  plan.duration, false, false});
        plan.home[slot] = place;
      }
      if (plan.places[place].kind == PlaceKind::temporary) plan.places[place].last = plan.duration;
      plan.places[place].written |= i >= step.inputs;
      plan.operands.push(place);
    }
    plan.launches.push({id, device, {first, step.operands.count}, device, plan.duration++, none});
  }
  return plan;
}

/// Runs such a plan, up to a failure.
TYPEFLOW_INLINE void run_straight(const Launcher& launcher, Arena& arena, Binding& binding,
                                  std::uint64_t draw, Failure& failure) {
  const Plan& plan = *binding.plan;
  void* const* const at = binding.at[0].data();
  const bool watched = launcher.is_watched(arena);
  for (int l = 0; l < plan.launches.size(); ++l) {
    BoundLaunch& launch = binding.launches[l];
    if (watched) {
      launcher.call_watched(plan.launches.items[l], launch, arena, at, draw, failure);
    } else {
      launcher.call(launch, at, draw, failure);
    }
    if (failure.what > 0) return;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
