// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls a program's kernels.

#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/runtime/checks.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The tables and settings that all runs of a program share.
struct Execution {
  const ir::ProgramView& program;
  const KernelEntry* kernels;
  std::span<const MachineDevice> devices;
  std::uint64_t seed;
  bool check_finite;
  bool wait_for_steps;
  const std::function<void(std::string_view)>& print;
  bool looks = false;                  ///< at each step: by one of these settings, or a step prints
  KernelTrace* trace = nullptr;        ///< takes the times of kernels, if somebody measures them
  const General* general = nullptr;    ///< not null if a device's memory is not the host's
  DeviceCounters* counters = nullptr;  ///< by device

  const MachineDevice& device(int number) const {
    return devices[static_cast<std::size_t>(number)];
  }
};

/// Waits for the kernels that a stream was given.
inline void finish(Stream* stream) {
  if (stream != nullptr) stream->finish();
}

class Launcher {
 public:
  explicit Launcher(const Execution& execution) : execution_(execution) {}

  /// Whether a run looks at each step before or after its kernel.
  bool is_watched(const Arena& arena) const {
    return execution_.trace != nullptr || execution_.looks || arena.run.stop.has_limit();
  }

  /// Calls a kernel, in runs that are not watched. If it finds its data wrong or has to wait,
  /// failure.what says so.
  TYPEFLOW_INLINE void call(BoundLaunch& launch, void* const* at, std::uint64_t draw,
                            Failure& failure) const {
    for (int i = 0; i < launch.count; ++i) {
      TYPEFLOW_FEW_TURNS;
      launch.operands[i] = at[launch.places[i]];
    }
    launch.call.random.draw = draw;
    launch.call.failure = &failure;
    try {
      launch.run(launch.call);
    } catch (...) {
      rethrow(launch.call.step);
    }
  }
  /// The same in runs that are watched. Throws also if the run's limit is reached.
  TYPEFLOW_COLD void call_watched(const Launch& of, BoundLaunch& launch, const Arena& arena,
                                  void* const* at, std::uint64_t draw, Failure& failure) const {
    arena.run.stop.before_step(of.step);
    const MachineDevice& device = execution_.device(of.device);
    KernelTrace* const trace = execution_.trace;
    if (trace != nullptr) trace->take(*trace, execution_.program, arena.sizes, of.device, -1);
    call(launch, at, draw, failure);
    if (trace != nullptr) {
      finish(device.stream);
      trace->take(*trace, execution_.program, arena.sizes, of.device, of.step);
    }
    if (execution_.wait_for_steps && execution_.general != nullptr) {
      execution_.general->wait(*this, device, of.step);
    }
    const ir::Step& step = execution_.program.steps[of.step];
    const bool prints = execution_.program.kernels[step.kernel].prints;
    if (execution_.check_finite || prints) {
      finish(device.stream);
      if (failure.what == 0) look(step, *device.memory, launch.operands, arena, prints);
    }
  }

  /// Throws the error that a kernel has reported.
  [[noreturn]] TYPEFLOW_COLD void fail(const Arena& arena, Failure& failure) const {
    const ir::ProgramView& program = execution_.program;
    const ir::Step& step = program.steps[failure.step];
    const KernelEntry& kernel = execution_.kernels[step.kernel];
    if (program.kernels[step.kernel].kind == ir::KernelKind::control) {
      fail_after(step, failure.number[0]);
    }
    if (kernel.explain == nullptr) typeflow::detail::fail_step(program, step, "its data is wrong");
    const Error error = kernel.explain({nullptr,
                                        arena.extents.data() + step.extents.first,
                                        program.words.data + step.words.first,
                                        nullptr,
                                        nullptr,
                                        {},
                                        kernel.description,
                                        &failure,
                                        failure.step});
    typeflow::detail::fail_step(program, step, error.what());
  }

  /// Throws the error of a loop that has not ended after so many iterations.
  [[noreturn]] TYPEFLOW_COLD void fail_after(const ir::Step& loop, std::int64_t count) const {
    typeflow::detail::fail_step(
        execution_.program, loop,
        typeflow::detail::sentence({"its condition holds after ", count,
                                    " iterations, the most that max_iterations allows"}));
  }

  /// Throws the exception of a kernel, with the step's name.
  [[noreturn]] TYPEFLOW_COLD void rethrow(Id id) const {
    const ir::ProgramView& program = execution_.program;
    const ir::Step& step = program.steps[id];
    try {
      throw;
    } catch (const Error& error) {
      typeflow::detail::fail_step(program, step, error.what(), error.rethrow());
    } catch (const std::bad_alloc&) {
      typeflow::detail::fail_step(program, step,
                                  "no memory for what its kernel needs besides its operands");
    }
  }

 private:
  /// Checks or prints the results of a step.
  TYPEFLOW_COLD void look(const ir::Step& step, Memory& memory, void** operands, const Arena& arena,
                          bool prints) const {
    std::vector<AlignedBytes> copies;
    for (int i = step.inputs; i < step.operands.count && !memory.is_host(); ++i) {
      const Id slot = execution_.program.operands[step.operands.first + i];
      const std::int64_t bytes = arena.slot_bytes[slot];
      std::byte* const copy = copies.emplace_back(bytes).data();
      execution_.general->transfer(&memory, operands[i], nullptr, copy, bytes);
      operands[i] = copy;
    }
    if (execution_.check_finite) {
      typeflow::detail::check_outputs(execution_.program, step, operands, arena.sizes);
    }
    if (prints) {
      typeflow::detail::print_value(execution_.program, step, operands, arena.sizes,
                                    execution_.print);
    }
  }

  const Execution& execution_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
