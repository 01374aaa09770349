// SPDX-License-Identifier: Apache-2.0
#pragma once

// What steps and copies cost: told from rates, or measured.
//
//   tf::CostModel model = tf::cost_model_of_machine();       // rates; saving/cost_models.hpp
//   tf::Trace trace;
//   session.trace(&trace);
//   for (int i = 0; i < 20; ++i) session.run<"train">(...);
//   tf::measure(model, session, trace);                      // from now on these steps' means
//
// A step's estimate is max(flops / rate, bytes / rate) and the time of a launch. A measured step's
// is the mean of its kernel times without outliers, and the time of a launch.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/placement_graph.hpp"
#include "typeflow/exec/simulate.hpp"
#include "typeflow/exec/timeline.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// What a device does in a second.
struct DeviceRates {
  double flops_per_second = 2e10;
  double bytes_per_second = 1e10;  ///< read and written by kernels
  double launch_seconds = 1e-6;    ///< of each kernel call
};

/// The mean of a step's kernel times.
struct MeasuredTime {
  double seconds;
  std::int64_t samples;  ///< without outliers
};

struct CostModel {
  DeviceRates rates{};  ///< of all devices
  LinkRates link{};     ///< between two devices
  /// Iterations of loops whose trip count is a tensor, and of tested loops; no more than they
  /// allow.
  std::int64_t iterations = 2;
  /// By the name of a step (step_names), then by device ("/cpu:0").
  std::map<std::string, std::map<std::string, MeasuredTime>> measured{};
};

/// The names of a program's steps in a cost model: "fc2/MatMul (mlp.cpp:14)". Further steps with
/// the same text have "#1", "#2"... behind it.
std::vector<std::string> step_names(const ir::ProgramView& program);

/// The mean of the samples within 3 standard deviations of their median. The standard deviation is
/// 1.4826 times the median absolute deviation, as of normal samples, but at least 1 % of the
/// median. So a few runs that the system interrupted don't count. Error if there are no samples.
MeasuredTime mean_without_outliers(std::vector<double> samples);

/// Measured means replace the model's estimates of the steps that were traced. Earlier means of
/// these steps on these devices are forgotten.
void measure(CostModel& model, const ir::ProgramView& program,
             std::span<const MachineDevice> devices, const std::vector<Span>& spans);

/// The costs of a program's steps by a model.
class StepCosts {
 public:
  /// The arguments must outlive it.
  StepCosts(const CostModel& model, const ir::ProgramView& program,
            std::span<const MachineDevice> devices, const SymbolSizes& sizes);

  /// Seconds of a step on a device of the list, with the launch. If it was measured on other
  /// devices of the same kind alone, the mean of those. A branch counts as its longest arm, a loop
  /// as its iterations.
  double seconds(Id step, int device) const;
  /// Whether a measured time holds for the step on this device.
  bool is_measured(Id step, int device) const;

 private:
  const std::map<std::string, MeasuredTime>* times_of(Id step) const;
  double block_seconds(const ir::ControlRecord& control, int k, int device) const;

  const CostModel& model_;
  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  SymbolSizes sizes_;
  std::vector<std::string> names_;  // if the model has measured times
  std::vector<std::string> device_names_;
};

/// Assumptions for exec::simulate: the costs of a model.
SimulationOptions simulation_by(const CostModel& model, const ir::ProgramView& program,
                                std::span<const MachineDevice> devices, const Plan& plan,
                                const SymbolSizes& sizes);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/cost_model.ipp"
#endif
