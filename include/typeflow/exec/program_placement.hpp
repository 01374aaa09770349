// SPDX-License-Identifier: Apache-2.0
#pragma once

// Placement by cost of a program's steps: the program as a placement graph, and the option of a
// session that uses it.
//
//   tf::ByCost placement(model, {.sizes = 64});
//   tf::Session<net> session(variables, {.devices = tf::DeviceList::of(4),
//                                        .by_cost = &placement});
//
// Only steps that the model leaves open move, and only between devices of one kind. A step is a
// fused kernel, or a branch or loop with its blocks. It is moved as a whole, after fusing, so its
// bits don't depend on the device. These stay where passes/place.hpp has put them:
//
//   - steps that assign a variable or work on a resource, and variables;
//   - steps of which the model has pinned a part;
//   - steps with effects outside of the program, such as printing.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/exec/cost_model.hpp"
#include "typeflow/exec/place_by_cost.hpp"
#include "typeflow/exec/step_placer.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// What a session's user demands of steps, besides the model's pins. Both lists are by step of the
/// program, and may be empty.
struct StepDemands {
  std::vector<std::uint32_t> feasible = {};  ///< devices as bits; 0: all of the step's kind
  std::vector<int> group = {};               ///< steps of one group share a device; none
};

struct ByCostOptions {
  /// The sizes for which placement is decided. Runs of other sizes are placed alike.
  SymbolSizes sizes{};
  StepDemands demands{};
  /// Copies between devices begin as late as their receivers allow (exec/late_copies.hpp).
  bool late_copies = true;
};

/// The devices of a session as placement sees them: one host, links by the model.
PlacementMachine machine_of(std::span<const MachineDevice> devices, const CostModel& model);

/// The steps of a run as a graph: node i is steps[i]. Nodes that access one variable, or have
/// effects outside of the program, stay in the order of the steps. If `parts_together`, a tensor is
/// put together where its parts are computed. Otherwise parts may be on other devices, and are
/// copied (exec/detached_parts.hpp).
PlacementGraph graph_of(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                        std::span<const Id> steps, const CostModel& model,
                        const ByCostOptions& options, bool parts_together = false);

/// Chooses devices by cost for a session's open steps. It must outlive the session, and may serve
/// several.
class ByCost : public StepPlacer {
 public:
  explicit ByCost(CostModel model, ByCostOptions options = {});

  const CostModel& model() const { return model_; }
  const ByCostOptions& options() const { return options_; }

 private:
  struct Placed {
    PlacementGraph graph;
    PlacementMachine machine;
    PlacementSchedule schedule;
    bool fits;  ///< the plan's layout is within the limits of the devices
  };
  /// The plan of a run with this schedule.
  Plan plan_of(const ir::ProgramView& program, std::span<const MachineDevice> devices,
               std::span<const Id> steps, const PlacementSchedule& schedule) const;
  Placed placed(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                std::span<const Id> steps) const;
  Placed placed(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                std::span<const Id> steps, PlacementGraph graph) const;

  CostModel model_;
  ByCostOptions options_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/by_cost.ipp"
#include "typeflow/exec/program_placement.ipp"
#endif
