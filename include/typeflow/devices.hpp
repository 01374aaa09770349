// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several devices: tf::on pins operations to them, sessions run them there.
//
//   auto y = tf::on<tf::Cpu<1>>(g, [&] { return matmul(x, W); });
//   ...
//   tf::Session<model> session(variables, {.devices = {{.threads = 1}, {.threads = 1}}});
//   std::puts(tf::explain<"y">(session).c_str());     // what a run does, as text

#include <string>
#include <vector>

#include "typeflow/core/text.hpp"
#include "typeflow/exec/all.hpp"
#include "typeflow/exec/cost_model.hpp"
#include "typeflow/exec/device_memory.hpp"
#include "typeflow/exec/explain.hpp"
#include "typeflow/exec/placement.hpp"
#include "typeflow/exec/program_placement.hpp"
#include "typeflow/exec/simulate.hpp"
#include "typeflow/exec/timeline.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/front/swapped.hpp"
#include "typeflow/runtime/local_devices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The plan of a session's run of these names as text; see exec/explain.hpp. If the session places
/// operations by cost, the candidates and the choice for each step stand before it.
template <Text... N, class S>
std::string explain(const S& session) {
  std::string text;
  if (const exec::StepPlacer* const placer = session.options().by_cost; placer != nullptr) {
    text = session.template with_steps<N...>(
        [&](const auto& program, const auto& devices, const auto& steps) {
          return placer->explain(*placer, program, devices, steps);
        });
  }
  return text + session.template with_plan<N...>(
                    [](const auto& program, const auto& devices, const auto& plan) {
                      return exec::explain(program, devices, plan);
                    });
}

/// Where the variables and operations of a session run, in the lines of TensorFlow's
/// log_device_placement; see exec/placement.hpp.
template <class S>
std::string device_mapping(const S& session) {
  return session.with_devices([](const auto& program, const auto& devices) {
    return exec::device_mapping(program, devices);
  });
}

using exec::ByCost;
using exec::ByCostOptions;
using exec::CostModel;
using exec::DeviceRates;
using exec::LinkRates;
using exec::MeasuredTime;
using exec::PlacementDevice;
using exec::PlacementGraph;
using exec::PlacementMachine;
using exec::PlacementOrder;
using exec::PlacementRules;
using exec::PlacementSchedule;
using exec::Simulation;
using exec::SimulationOptions;
using exec::Span;
using exec::Trace;

/// How long a session's run of these names would take by the rates in the options, what each device
/// would do when, and mistakes of the plan, if it has any.
template <Text... N, class S>
Simulation simulate(const S& session, const SimulationOptions& options = {}) {
  return session.template with_plan<N...>(
      [&](const auto& program, const auto& devices, const auto& plan) {
        return exec::simulate(program, devices, plan, options);
      });
}

/// The same by the costs of a model, for runs of these sizes.
template <Text... N, class S>
Simulation simulate(const S& session, const CostModel& model, const SymbolSizes& sizes = {}) {
  return session.template with_plan<N...>(
      [&](const auto& program, const auto& devices, const auto& plan) {
        return exec::simulate(program, devices, plan,
                              exec::simulation_by(model, program, devices, plan, sizes));
      });
}

/// Measured means replace the model's estimates of the steps that a trace has; see cost_model.hpp.
template <class S>
void measure(CostModel& model, const S& session, const Trace& trace) {
  session.with_devices([&](const auto& program, const auto& devices) {
    exec::measure(model, program, devices, trace.spans());
  });
}

/// A timeline of spans, simulated or measured (Trace), as an SVG drawing: a row for each
/// device. `width` is in pixels.
template <class S>
std::string timeline_svg(const S& session, const std::vector<Span>& spans, int width = 1000) {
  return session.with_devices([&](const auto& program, const auto& devices) {
    return exec::timeline_svg(program, devices, spans, width);
  });
}
/// Predicted and measured spans side by side, on one scale: two rows for each device. For the
/// measured ones clear a trace, and make one run.
template <class S>
std::string timeline_svg(const S& session, const std::vector<Span>& predicted,
                         const std::vector<Span>& measured, int width = 1000) {
  return session.with_devices([&](const auto& program, const auto& devices) {
    return exec::timelines_svg(program, devices, predicted, measured, width);
  });
}
/// The same for the trace viewers of Chrome and Perfetto: JSON, with a thread for each device.
template <class S>
std::string chrome_trace(const S& session, const std::vector<Span>& spans) {
  return session.with_devices([&](const auto& program, const auto& devices) {
    return exec::chrome_trace(program, devices, spans);
  });
}
/// Predicted and measured spans, as two processes.
template <class S>
std::string chrome_trace(const S& session, const std::vector<Span>& predicted,
                         const std::vector<Span>& measured) {
  return session.with_devices([&](const auto& program, const auto& devices) {
    return exec::chrome_traces(program, devices, predicted, measured);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
