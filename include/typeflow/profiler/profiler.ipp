// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "typeflow/core/error.hpp"
#include "typeflow/lower/cost.hpp"
#include "typeflow/profiler/profiler.hpp"
#include "typeflow/saving/cost_models.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD TYPEFLOW_DEFINITION void ProfileTallies::clear() {
  for (OfDevice& own : of_device_) own = {};
  start_ = Clock::now();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void ProfileTallies::change_program(
    OfDevice& own, const ir::ProgramView& program) {
  std::vector<StepTally>& steps = own.programs[&program];
  steps.resize(static_cast<std::size_t>(program.steps.size));
  own.program = &program;
  own.steps = steps;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void ProfileTallies::change_sizes(const ir::ProgramView& program,
                                                                    Id id, StepTally& tally,
                                                                    const SymbolSizes& sizes) {
  const ir::Step& step = program.steps[id];
  if (tally.of_sizes > 0) {
    const ir::StepCost cost = cost_of(program, step, tally.sizes);
    tally.flops = checked_sum(tally.flops, checked_product(tally.of_sizes, cost.flops));
    tally.bytes = checked_sum(tally.bytes, checked_product(tally.of_sizes, cost.bytes));
    std::int64_t results = 0;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Type& type = program.type_of(program.operands[step.operands.first + i]);
      results = checked_sum(
          results, checked_product(count_of(type.dims).resolve(tally.sizes), size_of(type.dtype)));
    }
    tally.output_bytes = std::max(tally.output_bytes, results);
  }
  tally.of_sizes = 0;
  tally.sizes = sizes;
}

/// Makes a profile of tallies and the tables of their programs.
class ProfileMaker {
 public:
  TYPEFLOW_COLD ProfileMaker(const ProfiledSession& session, const std::vector<FusedTable>& fused,
                             const ProfileTallies& tallies)
      : session_(session), fused_(fused), tallies_(tallies) {}

  TYPEFLOW_COLD Profile run(const std::optional<exec::DeviceRates>& rates) {
    add_devices(rates);
    add_variables();
    // The session's program, then others.
    std::vector<const ir::ProgramView*> programs{session_.program};
    for (const ProfileTallies::OfDevice& own : tallies_.of_device_) {
      for (const auto& [program, steps] : own.programs) {
        if (std::find(programs.begin(), programs.end(), program) == programs.end()) {
          programs.push_back(program);
        }
      }
    }
    for (const ir::ProgramView* const program : programs) add_program(*program);
    add_calls();
    return std::move(profile_);
  }

 private:
  /// By step of a program, then by device: the number in the profile, or -1.
  using Numbers = std::vector<std::vector<int>>;

  TYPEFLOW_COLD void add_devices(const std::optional<exec::DeviceRates>& rates) {
    const std::vector<DeviceStatistics> statistics = session_.statistics(session_.session);
    const SessionOptions& options = *session_.options;
    for (std::size_t d = 0; d < session_.devices.size(); ++d) {
      const MachineDevice& device = session_.devices[d];
      ProfiledDevice out{exec::detail::device_name(device)};
      out.peak_bytes = statistics[d].peak;
      out.planned_bytes = statistics[d].planned;
      const bool is_processor = device.device.kind == DeviceKind::cpu;
      if (rates || is_processor) {
        const exec::DeviceRates of_one = rates ? *rates : cost_model_of_machine().rates;
        const int number = static_cast<int>(d);
        int threads =
            number < options.devices.size() ? options.devices[number].threads : options.threads;
        if (threads == 0) threads = static_cast<int>(std::thread::hardware_concurrency());
        if (!is_processor || threads < 1) threads = 1;
        // Threads share the memory's rate.
        out.flops_per_second = of_one.flops_per_second * threads;
        out.bytes_per_second = of_one.bytes_per_second;
      }
      profile_.devices.push_back(std::move(out));
    }
  }

  TYPEFLOW_COLD void add_variables() {
    const ir::ProgramView& program = *session_.program;
    for (const ir::ProgramVariable& v : program.variables) {
      if (v.initializer.kind == Initializer::Kind::resource) continue;
      const Type& type = program.types[v.type];
      Message name{};
      print_name(name, program, v.name);
      Message text{};
      text << type.dtype << ' ' << type.dims;
      const std::int64_t elements = count_of(type.dims).resolve({});
      profile_.variables.push_back({std::string(name.view()), std::string(text.view()), elements,
                                    checked_product(elements, size_of(type.dtype)),
                                    v.trainable && !v.state});
    }
  }

  TYPEFLOW_COLD void add_program(const ir::ProgramView& program) {
    program_ = &program;
    numbers_ = &numbers_of_[&program];
    numbers_->assign(static_cast<std::size_t>(program.steps.size),
                     std::vector<int>(session_.devices.size(), -1));
    program_step_.clear();
    path_.clear();
    const std::size_t first = profile_.steps.size();
    add_steps();
    for (std::size_t i = first; i < profile_.steps.size(); ++i) {
      find_inputs(profile_.steps[i], static_cast<int>(i), program_step_[i - first]);
    }
  }
  TYPEFLOW_COLD void add_steps() {
    for (Id s = 0; s < program_->steps.size; ++s) {
      std::string name = name_of(program_->steps[s]);
      const int before = names_[name]++;
      if (before > 0) name += '#' + std::to_string(before);
      for (std::size_t d = 0; d < session_.devices.size(); ++d) {
        const auto& programs = tallies_.of_device_[d].programs;
        const auto found = programs.find(program_);
        if (found == programs.end()) continue;
        StepTally tally = found->second[static_cast<std::size_t>(s)];
        if (tally.calls == 0) continue;
        ProfileTallies::change_sizes(*program_, s, tally, {});
        add_step(s, static_cast<int>(d), name, tally);
      }
      path_.push_back(std::move(name));
    }
    // Branches and loops of which a kernel was called.
    for (Id s = 0; s < program_->steps.size; ++s) {
      if (is_control(s)) add_control(s);
    }
  }
  /// A kernel without a name of the user's that writes a variable is named after that:
  /// "fc1/W/update". If it writes several, as an optimiser's does, after the trainable one.
  TYPEFLOW_COLD std::string name_of(const ir::Step& step) const {
    const ir::ProgramVariable* written = nullptr;
    for (int i = step.inputs; i < step.operands.count && step.label.name == none; ++i) {
      const ir::Slot& slot = program_->slots[program_->operands[step.operands.first + i]];
      if (slot.kind != ir::SlotKind::variable) continue;
      const ir::ProgramVariable& variable = program_->variables[slot.index];
      const bool is_better = written == nullptr || (variable.trainable && !written->trainable);
      if (is_better) written = &variable;
    }
    Message text{};
    if (written != nullptr) {
      print_name(text, *program_, written->name);
      text << "/update";
    } else {
      print_label(text, *program_, step.label);
    }
    return std::string(text.view());
  }
  TYPEFLOW_COLD void add_control(Id s) {
    const ir::ControlRecord& control = control_of(*program_, program_->steps[s]);
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = program_->blocks[program_->operands[control.blocks.first + k]];
      for (Id inner = block.first; inner < block.first + block.count; ++inner) {
        if (is_control(inner) && first_index(inner) < 0) {
          add_control(inner);
        }
        const int index = first_index(inner);
        if (index < 0 || first_index(s) >= 0) continue;
        const int device = profile_.steps[static_cast<std::size_t>(index)].device;
        add_step(s, device, path_[static_cast<std::size_t>(s)], {});
      }
    }
  }
  TYPEFLOW_COLD void add_step(Id s, int device, const std::string& name, const StepTally& tally) {
    const ir::Step& step = program_->steps[s];
    ProfiledStep out;
    out.name = name;
    out.operation = std::string(step.label.operation.view());
    for (const FusedTable& table : fused_) {
      // Placement may give a program other kernels. It never gives it other steps.
      if (table.steps != program_->steps.data || table.count != program_->steps.size) continue;
      const Id kernel = table.as_compiled[s].kernel;
      for (const ir::OperationName& fused : table.of_kernel[static_cast<std::size_t>(kernel)]) {
        out.fused.emplace_back(fused.view());
      }
      if (has_operation(program_->kernels[step.kernel].kind)) out.operation = out.fused[0];
      break;
    }
    if (out.fused.empty() && !is_control(s)) out.fused.push_back(out.operation);
    if (!has_custom_kernel(step)) {
      for (int i = step.inputs; i < step.operands.count; ++i) {
        const ir::Slot& slot = program_->slots[program_->operands[step.operands.first + i]];
        if (slot.kind == ir::SlotKind::variable) out.fused.emplace_back("Assign");
      }
    }
    out.file = std::string(file_name(step.label.file));
    out.line = step.label.line;
    out.device = device;
    out.calls = tally.calls;
    out.seconds = tally.seconds;
    out.least_seconds = tally.least;
    out.most_seconds = tally.most;
    out.flops = tally.flops;
    out.bytes = tally.bytes;
    out.output_bytes = tally.output_bytes;
    (*numbers_)[static_cast<std::size_t>(s)][static_cast<std::size_t>(device)] =
        static_cast<int>(profile_.steps.size());
    program_step_.push_back(s);
    profile_.steps.push_back(std::move(out));
  }
  bool is_control(Id s) const {
    return program_->kernels[program_->steps[s].kernel].kind == ir::KernelKind::control;
  }
  bool has_custom_kernel(const ir::Step& step) const {
    const ir::KernelKind kind = program_->kernels[step.kernel].kind;
    return kind == ir::KernelKind::custom || kind == ir::KernelKind::control;
  }

  TYPEFLOW_COLD void add_calls() {
    double first = -1;
    double last = 0;
    for (std::size_t d = 0; d < session_.devices.size(); ++d) {
      const ProfileTallies::OfDevice& own = tallies_.of_device_[d];
      if (own.first >= 0) first = first < 0 ? own.first : std::min(first, own.first);
      last = std::max(last, own.last);
      for (const auto& [program, call] : own.kept) {
        const Numbers& numbers = numbers_of_.at(program);
        profile_.calls.push_back(
            {numbers[static_cast<std::size_t>(call.step)][d], call.begin, call.end});
      }
    }
    std::sort(profile_.calls.begin(), profile_.calls.end(),
              [](const ProfiledCall& a, const ProfiledCall& b) {
                return a.begin != b.begin ? a.begin < b.begin : a.step < b.step;
              });
    profile_.wall_seconds = first < 0 ? 0 : last - first;
  }

  /// The number in the profile of a program's step on the first device that ran it; -1 if none did.
  int first_index(Id s) const {
    for (const int index : (*numbers_)[static_cast<std::size_t>(s)]) {
      if (index >= 0) return index;
    }
    return -1;
  }
  TYPEFLOW_COLD void find_inputs(ProfiledStep& of, int number, Id s) const {
    std::vector<int>& inputs = of.inputs;
    const auto add = [&](Id slot) {
      if (slot == none || program_->slots[slot].step == none) return;
      const int index = first_index(program_->slots[slot].step);
      if (index < 0 || index == number) return;
      if (std::find(inputs.begin(), inputs.end(), index) == inputs.end()) inputs.push_back(index);
    };
    const ir::Step& step = program_->steps[s];
    for (int k = 0; k < step.inputs; ++k) add(program_->operands[step.operands.first + k]);
    if (!is_control(s)) return;
    const ir::ControlRecord& control = control_of(*program_, step);
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = program_->blocks[program_->operands[control.blocks.first + k]];
      for (int r = 0; r < block.results.count; ++r) {
        add(program_->operands[block.results.first + r]);
      }
    }
  }

  const ProfiledSession& session_;
  const std::vector<FusedTable>& fused_;
  const ProfileTallies& tallies_;
  Profile profile_;
  std::map<std::string, int> names_;  // of steps, and how many have each
  std::map<const ir::ProgramView*, Numbers> numbers_of_;

  // Of the program at hand.
  const ir::ProgramView* program_ = nullptr;
  Numbers* numbers_ = nullptr;
  std::vector<std::string> path_;  // by step
  std::vector<Id> program_step_;   // by step of the profile, from the program's first on
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION ProfilerOfAny::ProfilerOfAny(const ProfiledSession& session,
                                                               const FusedTable& fused,
                                                               const ProfilerOptions& options)
    : session_(session),
      options_(options),
      fused_{fused},
      tallies_(session.devices.size(), options.calls) {
  session_.trace(session_.session, &tallies_);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION ProfilerOfAny::~ProfilerOfAny() {
  session_.trace(session_.session, nullptr);
}

TYPEFLOW_DEFINITION void ProfilerOfAny::know(const FusedTable& fused) {
  const bool is_known = std::any_of(fused_.begin(), fused_.end(), [&](const FusedTable& known) {
    return known.steps == fused.steps;
  });
  if (!is_known) fused_.push_back(fused);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Profile ProfilerOfAny::profile() const {
  return ProfileMaker(session_, fused_, tallies_).run(options_.rates);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void ProfilerOfAny::add(const exec::Span& span,
                                                          const SymbolSizes& sizes) {
  const auto refuse_number = [](const char* what, int limit, int number) {
    if (number >= 0 && number < limit) return;
    throw Error(std::string("Profiler::add, ") + what,
                "a number from 0 to " + std::to_string(limit - 1), std::to_string(number));
  };
  refuse_number("device", static_cast<int>(session_.devices.size()), span.device);
  refuse_number("step", session_.program->steps.size, span.step);
  tallies_.add(*session_.program, span, sizes);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
