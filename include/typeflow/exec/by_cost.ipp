// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plans of programs whose open steps get their devices by cost.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/late_copies.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/planner.hpp"
#include "typeflow/exec/program_placement.hpp"
#include "typeflow/exec/program_placement.ipp"
#include "typeflow/exec/resident_bytes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

namespace detail {

/// Gives a step, and the steps of its blocks, a device.
TYPEFLOW_COLD inline void move_step(const ir::ProgramView& program, Pool<ir::Step>& steps, Id id,
                                    Device device) {
  steps[id].device = device;
  const ir::Step& step = program.steps[id];
  if (program.kernels[step.kernel].kind != ir::KernelKind::control) return;
  const ir::ControlRecord& control = control_of(program, step);
  for (int k = 0; k < control.blocks.count; ++k) {
    const ir::Block& block = program.blocks[program.operands[control.blocks.first + k]];
    for (Id s = block.first; s < block.first + block.count; ++s) {
      move_step(program, steps, s, device);
    }
  }
}

TYPEFLOW_COLD inline Pool<ir::Step> placed_steps(const ir::ProgramView& program,
                                                 std::span<const MachineDevice> devices,
                                                 std::span<const Id> steps,
                                                 const PlacementSchedule& schedule) {
  Pool<ir::Step> out;
  for (const ir::Step& step : program.steps) out.push(step);
  for (std::size_t n = 0; n < steps.size(); ++n) {
    if (!is_open(program, program.steps[steps[n]])) continue;
    const Device device = devices[static_cast<std::size_t>(schedule.nodes[n].device)].device;
    move_step(program, out, steps[n], device);
  }
  return out;
}

/// A program whose steps have the devices of a schedule, and the order in which it placed them.
/// Devices run their steps in this order.
struct ScheduledProgram {
  TYPEFLOW_COLD ScheduledProgram(const ir::ProgramView& program,
                                 std::span<const MachineDevice> devices, std::span<const Id> steps,
                                 const PlacementSchedule& schedule)
      : placed(placed_steps(program, devices, steps, schedule)), view(program) {
    view.steps = {placed.data(), placed.size()};
    for (const int node : schedule.order) order.push_back(steps[static_cast<std::size_t>(node)]);
  }
  ScheduledProgram(const ScheduledProgram&) = delete;
  ScheduledProgram& operator=(const ScheduledProgram&) = delete;

  Pool<ir::Step> placed;
  ir::ProgramView view;
  std::vector<Id> order;
};

/// Steps that may wait for other runs keep the program's order: which steps wait behind them must
/// not depend on costs.
TYPEFLOW_COLD inline bool may_wait(const ir::ProgramView& program) {
  for (const ir::KernelSummary& kernel : program.kernels) {
    if (kernel.may_wait) return true;
  }
  return false;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION ByCost::ByCost(CostModel model, ByCostOptions options)
    : StepPlacer{
          &exec::general(),
          [](const StepPlacer& self, const ir::ProgramView& program,
             std::span<const MachineDevice> devices, std::span<const Id> steps) {
            const auto& by_cost = static_cast<const ByCost&>(self);
            return by_cost.plan_of(program, devices, steps,
                                   by_cost.placed(program, devices, steps).schedule);
          },
          [](const StepPlacer& self, const ir::ProgramView& program,
             std::span<const MachineDevice> devices, std::span<const Id> steps) {
            const Placed placed = static_cast<const ByCost&>(self).placed(program, devices, steps);
            return detail::placed_steps(program, devices, steps, placed.schedule);
          },
          [](const StepPlacer& self, const ir::ProgramView& program,
             std::span<const MachineDevice> devices, std::span<const Id> steps) {
            const Placed placed = static_cast<const ByCost&>(self).placed(program, devices, steps);
            return candidates_text(placed.graph, placed.machine, placed.schedule);
          }},
      model_(std::move(model)),
      options_(std::move(options)) {}

namespace detail {

/// Whether a plan's layout is within the limits of the devices.
TYPEFLOW_COLD inline bool fits(const ir::ProgramView& program,
                               std::span<const MachineDevice> devices, const Plan& plan,
                               const SymbolSizes& sizes) {
  bool is_limited = false;
  for (const MachineDevice& device : devices) is_limited = is_limited || device.memory_limit > 0;
  if (!is_limited) return true;
  const Layout layout = LayoutPlanner(program, plan, sizes, false).run();
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::int64_t limit = devices[d].memory_limit;
    if (limit > 0 &&
        layout.bytes[d] + resident_bytes(program, plan, static_cast<int>(d), sizes) > limit)
      return false;
  }
  return true;
}

}  // namespace detail

/// Senders hold what they send late. If that takes more than a limit allows, nothing is late.
TYPEFLOW_COLD TYPEFLOW_DEFINITION Plan ByCost::plan_of(const ir::ProgramView& program,
                                                       std::span<const MachineDevice> devices,
                                                       std::span<const Id> steps,
                                                       const PlacementSchedule& schedule) const {
  const detail::ScheduledProgram scheduled(program, devices, steps, schedule);
  const ir::ProgramView& view = scheduled.view;
  if (options_.late_copies) {
    const StepCosts costs(model_, view, devices, options_.sizes);
    const auto seconds = [&](Id step, int device) { return costs.seconds(step, device); };
    const auto bytes = [&](Id slot) {
      const Type& type = view.type_of(slot);
      return checked_product(count_of(type.dims).resolve(options_.sizes), size_of(type.dtype));
    };
    const auto late = [&](const Demand& demand) {
      return LateCopyFinder(view, static_cast<int>(devices.size()), demand, scheduled.order,
                            model_.link, seconds, bytes)
          .run();
    };
    Plan plan = Planner(view, devices, scheduled.order, late).run();
    if (detail::fits(view, devices, plan, options_.sizes)) return plan;
  }
  return general->plan(view, devices, scheduled.order);
}

/// The layout of a plan may take more than its tensors at any one time, and more than the schedule
/// foresaw, because a plan's copies don't wait for memory. Then the limit is lowered, and placed
/// again. If that does not help, the program's order may, by which memory is free earlier.
TYPEFLOW_COLD TYPEFLOW_DEFINITION ByCost::Placed ByCost::placed(
    const ir::ProgramView& program, std::span<const MachineDevice> devices,
    std::span<const Id> steps, PlacementGraph graph) const {
  constexpr int most_rounds = 8;
  Placed out{std::move(graph), machine_of(devices, model_), {}, false};
  bool is_limited = false;
  for (const MachineDevice& device : devices) is_limited = is_limited || device.memory_limit > 0;

  /// Whether a schedule was found whose plan keeps the limits.
  const auto find = [&](PlacementOrder order) {
    const PlacementRules rules{.order = order, .keep_candidates = true};
    out.machine = machine_of(devices, model_);
    out.schedule = place_by_cost(out.graph, out.machine, rules);
    for (int round = 0; round < most_rounds && is_limited; ++round) {
      const detail::ScheduledProgram scheduled(program, devices, steps, out.schedule);
      const Plan plan = general->plan(scheduled.view, devices, scheduled.order);
      const Layout layout = LayoutPlanner(program, plan, options_.sizes, false).run();
      PlacementMachine lower = out.machine;
      bool fits = true;
      for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::int64_t limit = devices[d].memory_limit;
        const std::int64_t bytes =
            layout.bytes[d] + resident_bytes(program, plan, static_cast<int>(d), options_.sizes);
        if (limit == 0 || bytes <= limit) continue;
        fits = false;
        lower.devices[d].memory_limit = std::max<std::int64_t>(
            1, static_cast<std::int64_t>(static_cast<double>(lower.devices[d].memory_limit) *
                                         static_cast<double>(limit) / static_cast<double>(bytes)));
      }
      if (fits) return true;
      PlacementSchedule schedule;
      try {
        schedule = place_by_cost(out.graph, lower, rules);
      } catch (const Error&) {
        return false;  // the run says which device lacks memory
      }
      out.machine = std::move(lower);
      out.schedule = std::move(schedule);
    }
    return !is_limited;
  };
  out.fits = !detail::may_wait(program) && find(PlacementOrder::best);
  if (!out.fits) out.fits = find(PlacementOrder::of_graph);
  return out;
}

/// Parts of a tensor are on other devices than the tensor if all is done earlier so.
TYPEFLOW_COLD TYPEFLOW_DEFINITION ByCost::Placed ByCost::placed(
    const ir::ProgramView& program, std::span<const MachineDevice> devices,
    std::span<const Id> steps) const {
  const auto attempt = [&](bool parts_together) {
    return placed(program, devices, steps,
                  graph_of(program, devices, steps, model_, options_, parts_together));
  };
  bool has_parts = false;
  for (const ir::Slot& slot : program.slots) has_parts = has_parts || slot.within != none;
  std::optional<Placed> together;
  try {
    together = attempt(true);
  } catch (const Error&) {
    if (!has_parts) throw;  // apart they may have devices, and memory
  }
  if (together && (!has_parts || together->machine.size() == 1)) return *std::move(together);
  try {
    Placed apart = attempt(false);
    const bool is_better = !together || (apart.fits != together->fits
                                             ? apart.fits
                                             : apart.schedule.seconds < together->schedule.seconds);
    if (is_better) return apart;
  } catch (const Error&) {
    if (!together) throw;
  }
  return *std::move(together);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
