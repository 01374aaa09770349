// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "typeflow/exec/executor.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/planner.hpp"
#include "typeflow/exec/residency.hpp"
#include "typeflow/exec/workers.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

TYPEFLOW_COLD TYPEFLOW_DEFINITION const General& general() {
  static constexpr General functions = {
      [](const ir::ProgramView& program, std::span<const MachineDevice> devices,
         std::span<const Id> steps) { return Planner(program, devices, steps).run(); },
      run_streams,
      transfer,
      [](int count) { return new Workers(count); },
      [](Workers* workers) { delete workers; },
      [](const Launcher& launcher, const MachineDevice& device, Id step) {
        if (device.stream == nullptr) return;
        device.stream->finish();
        if (device.stream->asynchronous() == nullptr) return;
        try {
          device.stream->asynchronous()->check();
        } catch (...) {
          launcher.rethrow(step);
        }
      },
      [](const Execution& execution, const Plan& plan) {
        for (int s = 0; s < plan.streams.size(); ++s) {
          if (plan.streams[s].count == 0) continue;  // the run does not use the device
          Stream* const stream = execution.device(plan.devices[s]).stream;
          AsynchronousStream* const own = stream == nullptr ? nullptr : stream->asynchronous();
          if (own == nullptr) continue;
          own->finish();
          own->check();
        }
      },
      residents_of};
  return functions;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
