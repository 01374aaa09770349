// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plans of an engine's runs, one for each list of steps. A plan is made at its first run, and
// with the first plan that needs them the threads and copies of constants that plans share.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/binder.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/step_placer.hpp"
#include "typeflow/exec/straight.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/growing_list.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class PlanCache {
 public:
  /// `placer` chooses devices of open steps; or null. The arguments' objects must outlive the
  /// cache.
  PlanCache(const Execution& execution, const StepPlacer* placer, Binder& binder)
      : execution_(execution), placer_(placer), binder_(binder) {}
  TYPEFLOW_COLD ~PlanCache() {
    if (workers_ != nullptr) execution_.general->stop(workers_);
    if (binder_.residents != nullptr) binder_.residents->destroy(binder_.residents);
  }
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// The plan of a run of these steps.
  const Plan& get(std::span<const Id> steps) {
    const auto is_for = [&](const Entry& known) {
      if (static_cast<int>(steps.size()) != known.steps.size()) return false;
      // (The first step tells most plans apart.)
      return steps.empty() || (steps.front() == known.steps[0] &&
                               std::equal(steps.begin() + 1, steps.end(), known.steps.begin() + 1));
    };
    return plans_
        .get(is_for,
             [&] {
               Entry made{{}, make(steps)};
               for (const Id step : steps) made.steps.push(step);
               return made;
             })
        .plan;
  }
  /// The plan of a run of the whole program.
  TYPEFLOW_COLD const Plan& get_all() {
    std::vector<Id> steps(static_cast<std::size_t>(main_steps(execution_.program)));
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<Id>(i);
    return get(steps);
  }
  /// The threads that run a plan of several devices with the caller's; null for other plans.
  Workers* workers(const Plan& plan) const {
    // Another thread may start workers meanwhile, for another plan.
    return plan.used_devices > 1 ? workers_ : nullptr;
  }

 private:
  struct Entry {
    Pool<Id> steps;
    Plan plan;
  };

  TYPEFLOW_COLD Plan make(std::span<const Id> steps) {
    const ir::ProgramView& program = execution_.program;
    const General* const general = execution_.general;
    // Straight programs run on /cpu:0; with soft placement, if it is lacking, on the last device.
    int device = 0;
    const int last = static_cast<int>(execution_.devices.size()) - 1;
    while (device < last && !(execution_.device(device).device == cpu(0))) ++device;
    const bool straight = !is_general(program) && execution_.device(device).memory->is_host();
    const StepPlacer* const placer = last > 0 ? placer_ : nullptr;
    if (general == nullptr || (straight && placer == nullptr)) {
      return plan_straight(program, device, steps);
    }
    Plan plan = placer != nullptr ? placer->make_plan(*placer, program, execution_.devices, steps)
                                  : general->plan(program, execution_.devices, steps);
    if (binder_.residents == nullptr) binder_.residents = general->residents(execution_, binder_);
    if (plan.used_devices > 1 && workers_ == nullptr) workers_ = general->start(last + 1);
    return plan;
  }

  const Execution& execution_;
  const StepPlacer* const placer_;
  Binder& binder_;
  typeflow::detail::GrowingList<Entry> plans_;
  Workers* workers_ = nullptr;  // made under the lock of plans_
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
