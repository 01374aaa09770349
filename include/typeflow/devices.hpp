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
#include "typeflow/exec/explain.hpp"
#include "typeflow/exec/simulate.hpp"
#include "typeflow/exec/timeline.hpp"
#include "typeflow/front/placement.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The plan of a session's run of these names as text; see exec/explain.hpp.
template <Text... N, class S>
std::string explain(const S& session) {
  return session.template with_plan<N...>(
      [](const auto& program, const auto& devices, const auto& plan) {
        return exec::explain(program, devices, plan);
      });
}

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

/// A timeline of spans, simulated or measured (Trace), as an SVG drawing: a row for each
/// device. `width` is in pixels.
template <class S>
std::string timeline_svg(const S& session, const std::vector<Span>& spans, int width = 1000) {
  return session.with_devices([&](const auto& program, const auto& devices) {
    return exec::timeline_svg(program, devices, spans, width);
  });
}
/// The same for the trace viewers of Chrome and Perfetto: JSON, with a thread for each device.
template <class S>
std::string chrome_trace(const S& session, const std::vector<Span>& spans) {
  return session.with_devices([&](const auto& program, const auto& devices) {
    return exec::chrome_trace(program, devices, spans);
  });
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
