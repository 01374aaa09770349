// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans carried out without a machine: how long they would take, and whether they are right.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/timeline.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Assumptions of a simulation.
struct SimulationOptions {
  SymbolSizes sizes{};
  /// Iterations of loops whose condition or trip count is a tensor; no more than they allow.
  std::int64_t iterations = 2;
  /// Not 0: streams go on in an order of this seed, and branches are taken at random. Else the
  /// stream goes on that is furthest behind, and the first arm of a branch is taken.
  std::uint64_t seed = 0;
  /// Rates of all devices, and of copies between two of them.
  double flops_per_second = 2e10;
  double bytes_per_second = 1e10;
  double copied_bytes_per_second = 5e9;
  /// The overhead of each kernel call and copy.
  double launch_seconds = 1e-6;
  /// The time of a step, where it was measured; else it is told from the rates.
  std::function<double(Id step)> seconds{};
};

struct Simulation {
  double seconds = 0;        ///< until the last stream is done
  std::vector<double> busy;  ///< by device: seconds with kernels and copies
  std::vector<Span> spans;   ///< in the order of their beginnings on each device
  /// The first mistake of the plan; empty if none was found. A tensor is read before it is written
  /// or after its memory was written again, two streams access memory without waiting for one
  /// another, a stream waits for ever, or a device lacks the tensor that it reads.
  std::string wrong;
};

Simulation simulate(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                    const Plan& plan, const SimulationOptions& options = {});

/// Looks for mistakes of a plan: simulates it in the order of time and in some random orders.
/// Empty if there are none.
std::string verify(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                   const Plan& plan, const SymbolSizes& sizes, int orders = 3);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/simulate.ipp"
#endif
