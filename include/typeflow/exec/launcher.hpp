// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls a program's kernels.

#include <cstdint>
#include <functional>
#include <new>
#include <span>
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
  bool looks;  ///< at results: `check_finite`, or a step prints
  const std::function<void(std::string_view)>& print;
  /// Takes the times of kernels, if somebody measures them: trace(context, device, step) at the
  /// beginning (step < 0) and at the end of each.
  void (*trace)(void* context, int device, Id step) = nullptr;
  void* trace_context = nullptr;
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

  /// Calls a kernel. Throws if it finds its data wrong, or if the run's limit is reached. If it has
  /// to wait, failure.what says so.
  void run(const Plan& plan, const Launch& launch, Arena& arena, void* const* at,
           std::uint64_t draw, Failure& failure) const {
    arena.run.stop.before_step(launch.step);
    const ir::ProgramView& program = execution_.program;
    const ir::Step& step = program.steps[launch.step];
    const MachineDevice& device = execution_.device(launch.device);
    void* operands[max_operands];
    const int* const places = plan.operands.data() + launch.places.first;
    for (int i = 0; i < launch.places.count; ++i) {
      TYPEFLOW_FEW_TURNS;
      operands[i] = at[places[i]];
    }
    if (execution_.trace != nullptr) execution_.trace(execution_.trace_context, launch.device, -1);
    try {
      const KernelEntry& kernel = execution_.kernels[step.kernel];
      kernel.run({operands,
                  arena.extents.data() + step.extents.first,
                  program.words.data + step.words.first,
                  arena.workspace[static_cast<std::size_t>(launch.device)].data(),
                  device.stream,
                  {execution_.seed, draw},
                  kernel.description,
                  &failure,
                  launch.step,
                  &arena.characters[static_cast<std::size_t>(launch.device)],
                  &arena.run});
    } catch (const Error& error) {
      typeflow::detail::fail_step(program, step, error.what(), error.rethrow());
    } catch (const std::bad_alloc&) {
      typeflow::detail::fail_step(program, step,
                                  "no memory for what its kernel needs besides its operands");
    }
    if (execution_.trace != nullptr) {
      finish(device.stream);
      execution_.trace(execution_.trace_context, launch.device, launch.step);
    }
    if (execution_.looks) {
      const bool prints = program.kernels[step.kernel].prints;
      if (execution_.check_finite || prints) {
        finish(device.stream);
        if (failure.what == 0) look(step, *device.memory, operands, arena, prints);
      }
    }
    if (failure.what > 0) fail(arena, failure);
  }

  /// Throws the error that a kernel has reported.
  [[noreturn]] TYPEFLOW_COLD void fail(const Arena& arena, Failure& failure) const {
    const ir::ProgramView& program = execution_.program;
    const ir::Step& step = program.steps[failure.step];
    const KernelEntry& kernel = execution_.kernels[step.kernel];
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

 private:
  static constexpr int max_operands = 96;

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
