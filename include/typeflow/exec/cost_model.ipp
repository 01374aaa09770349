// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/cost_model.hpp"
#include "typeflow/lower/cost.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::string> step_names(
    const ir::ProgramView& program) {
  std::vector<std::string> names;
  std::map<std::string, int> count;
  for (const ir::Step& step : program.steps) {
    Message text{};
    print_step(text, program, step);
    std::string name(text.view());
    const int before = count[name]++;
    if (before > 0) name += '#' + std::to_string(before);
    names.push_back(std::move(name));
  }
  return names;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION MeasuredTime mean_without_outliers(std::vector<double> samples) {
  if (samples.empty()) throw Error("mean_without_outliers", "samples", "none");
  const auto median = [](std::vector<double>& values) {
    const std::size_t half = values.size() / 2;
    std::sort(values.begin(), values.end());
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  };
  const double middle = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - middle));
  const double limit = 3 * std::max(1.4826 * median(deviations), 0.01 * middle);
  MeasuredTime mean{0, 0};
  for (const double sample : samples) {
    if (std::abs(sample - middle) > limit) continue;
    mean.seconds += sample;
    ++mean.samples;
  }
  mean.seconds /= static_cast<double>(mean.samples);
  return mean;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void measure(CostModel& model, const ir::ProgramView& program,
                                               std::span<const MachineDevice> devices,
                                               const std::vector<Span>& spans) {
  const std::vector<std::string> names = step_names(program);
  std::map<std::pair<Id, int>, std::vector<double>> samples;
  for (const Span& span : spans) {
    if (span.step != none) samples[{span.step, span.device}].push_back(span.end - span.begin);
  }
  for (const auto& [where, times] : samples) {
    const auto [step, device] = where;
    model.measured[names[static_cast<std::size_t>(step)]]
                  [detail::device_name(devices[static_cast<std::size_t>(device)])] =
        mean_without_outliers(times);
  }
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION StepCosts::StepCosts(const CostModel& model,
                                                       const ir::ProgramView& program,
                                                       std::span<const MachineDevice> devices,
                                                       const SymbolSizes& sizes)
    : model_(model), program_(program), devices_(devices), sizes_(sizes) {
  if (!model.measured.empty()) names_ = step_names(program);
  for (const MachineDevice& device : devices) device_names_.push_back(detail::device_name(device));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION const std::map<std::string, MeasuredTime>* StepCosts::times_of(
    Id step) const {
  if (names_.empty()) return nullptr;
  const auto found = model_.measured.find(names_[static_cast<std::size_t>(step)]);
  return found == model_.measured.end() || found->second.empty() ? nullptr : &found->second;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION bool StepCosts::is_measured(Id step, int device) const {
  const std::map<std::string, MeasuredTime>* const times = times_of(step);
  if (times == nullptr) return false;
  const std::string& own = device_names_[static_cast<std::size_t>(device)];
  const std::string kind = own.substr(0, own.find(':'));
  return std::any_of(times->begin(), times->end(),
                     [&](const auto& time) { return time.first.starts_with(kind); });
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION double StepCosts::seconds(Id id, int device) const {
  const ir::Step& step = program_.steps[id];
  if (program_.kernels[step.kernel].kind == ir::KernelKind::control) {
    const ir::ControlRecord& control = control_of(program_, step);
    double sum = 0;
    for (int k = 0; k < control.blocks.count; ++k) {
      const double block = block_seconds(control, k, device);
      sum = control.kind == ir::ControlKind::branch ? std::max(sum, block) : sum + block;
    }
    if (control.kind == ir::ControlKind::branch || control.kind == ir::ControlKind::once) {
      return sum;
    }
    const std::int64_t most = control.count.resolve(sizes_);
    std::int64_t times = most;
    if (control.kind != ir::ControlKind::counted) {
      times = most < 0 ? model_.iterations : std::min(model_.iterations, most);
    }
    return sum * static_cast<double>(times);
  }
  if (is_measured(id, device)) {
    const std::map<std::string, MeasuredTime>& times = *times_of(id);
    const std::string& own = device_names_[static_cast<std::size_t>(device)];
    if (const auto found = times.find(own); found != times.end()) {
      return found->second.seconds + model_.rates.launch_seconds;
    }
    const std::string kind = own.substr(0, own.find(':'));
    double sum = 0;
    double count = 0;
    for (const auto& [other, time] : times) {
      if (!other.starts_with(kind)) continue;
      sum += time.seconds;
      ++count;
    }
    return sum / count + model_.rates.launch_seconds;
  }
  const ir::StepCost cost = cost_of(program_, step, sizes_);
  return std::max(static_cast<double>(cost.flops) / model_.rates.flops_per_second,
                  static_cast<double>(cost.bytes) / model_.rates.bytes_per_second) +
         model_.rates.launch_seconds;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION double StepCosts::block_seconds(const ir::ControlRecord& control,
                                                                  int k, int device) const {
  const ir::Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
  double sum = 0;
  for (Id s = block.first; s < block.first + block.count; ++s) sum += seconds(s, device);
  return sum;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION SimulationOptions
simulation_by(const CostModel& model, const ir::ProgramView& program,
              std::span<const MachineDevice> devices, const Plan& plan, const SymbolSizes& sizes) {
  SimulationOptions options;
  options.sizes = sizes;
  options.iterations = model.iterations;
  options.bytes_per_second = model.rates.bytes_per_second;
  options.copied_bytes_per_second = model.link.bytes_per_second;
  options.launch_seconds = model.rates.launch_seconds;
  const StepCosts costs(model, program, devices, sizes);
  auto seconds =
      std::make_shared<std::vector<double>>(static_cast<std::size_t>(program.steps.size), 0.0);
  for (const Launch& launch : plan.launches) {
    (*seconds)[static_cast<std::size_t>(launch.step)] =
        costs.seconds(launch.step, launch.device) - model.rates.launch_seconds;
  }
  options.seconds = [seconds](Id step) { return (*seconds)[static_cast<std::size_t>(step)]; };
  return options;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
