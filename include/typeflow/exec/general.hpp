// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of engines for programs with branches, loops or several devices. Headers that such
// programs include, like control_flow.hpp and devices.hpp, bring it (exec/all.hpp). So other
// programs do not compile it.

#include <cstdint>
#include <span>

#include "typeflow/exec/machine.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

struct Plan;
struct Arena;
struct Binding;
struct Execution;
class Launcher;
class Workers;
struct Residents;
class Binder;

struct General {
  Plan (*plan)(const ir::ProgramView&, std::span<const MachineDevice>, std::span<const Id> steps);
  void (*run)(const Execution&, Arena&, Binding&, std::uint64_t draw, Workers*);
  void (*transfer)(Memory* from_memory, const void* from, Memory* to_memory, void* to,
                   std::int64_t bytes);
  Workers* (*start)(int count);
  void (*stop)(Workers*);
  /// Waits for the kernel of a step. Throws what the device has found.
  void (*wait)(const Launcher&, const MachineDevice&, Id step);
  /// After a fetch from a run over several devices: throws what any of them has found wrong.
  void (*check)(const Execution&, const Plan&);
  /// Null if the memory of all devices is the host's.
  Residents* (*residents)(const Execution&, const Binder&);
};
const General& general();

/// Whether a program needs it on every machine.
constexpr bool is_general(const ir::ProgramView& program) {
  if (program.controls.size > 0) return true;
  for (const ir::KernelSummary& kernel : program.kernels) {
    if (kernel.may_wait) return true;
  }
  for (const ir::Step& step : program.steps) {
    if (!(step.device == cpu(0))) return true;
  }
  return false;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
