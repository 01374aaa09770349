// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who chooses devices for the steps that a model leaves open, when a plan is made. An engine has a
// pointer to one, or null: then passes/place.hpp has chosen all of them.

#include <span>
#include <string>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Functions instead of virtual ones, which would make a table in each file.
struct StepPlacer {
  const General* general;  ///< plans for several devices
  /// The plan of a run of `steps`.
  Plan (*make_plan)(const StepPlacer& self, const ir::ProgramView& program,
                    std::span<const MachineDevice> devices, std::span<const Id> steps);
  /// The program's steps with the chosen devices, for that run.
  Pool<ir::Step> (*place)(const StepPlacer& self, const ir::ProgramView& program,
                          std::span<const MachineDevice> devices, std::span<const Id> steps);
  /// The candidates and the choice for each step.
  std::string (*explain)(const StepPlacer& self, const ir::ProgramView& program,
                         std::span<const MachineDevice> devices, std::span<const Id> steps);
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
