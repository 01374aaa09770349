// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a model as sessions do, but without a compiler. Graphs are compiled to programs at run time,
// and kernels run from their descriptions.
//
// Everything else is what sessions have: the choice of the program for a run, the engine with its
// arenas and memory plans, the store of variables. So passes, lowering and planning can be tested
// on any graph without a compiler, by comparing with the graph interpreter.
//
//   tf::Graph g;
//   model(g);
//   tf::ProgramInterpreter programs(g);
//   programs.variables = {{"W", w}, {"b", b}};
//   tf::HostTensor loss = programs.run({"loss", "train"}, {{"x", x}, {"y", y}})[0];

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "typeflow/exec/all.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/interpret/kernel.hpp"
#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace exec {
struct StepPlacer;
}

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// What interpreted programs run on. The devices must outlive them.
struct InterpretedMachine {
  std::span<const MachineDevice> devices = TargetView::host_devices;
  void (*run)(const KernelCall&) = &interpret_kernel;  ///< all kernels; their description follows
  bool (*may_wait)(int kernel) = nullptr;     ///< kernels that may wait, besides those that say so
  const exec::StepPlacer* by_cost = nullptr;  ///< places open steps; as SessionOptions has it
};

/// A graph that was compiled at run time: a program with the tables that an engine takes.
class InterpretedProgram {
 public:
  /// Error if the model has a mistake.
  explicit InterpretedProgram(const Graph& graph, const Request& request = {},
                              const FusionLimits& limits = {},
                              const InterpretedMachine& machine = {});
  ~InterpretedProgram();
  InterpretedProgram(const InterpretedProgram&) = delete;
  InterpretedProgram& operator=(const InterpretedProgram&) = delete;

  ProgramView view() const { return view_of(pools_); }
  /// For each kernel, `run` with its description.
  const KernelEntry* kernels() const { return entries_.data(); }
  const ProgramPools& pools() const { return pools_; }

 private:
  ProgramPools pools_;
  std::vector<KernelEntry> entries_;
};

/// Runs one graph's programs, any number of times. The graph must outlive it and not change.
class ProgramInterpreter {
 public:
  /// A graph as traced; it may be one for debugging (Mode::debug). What is pinned to a device that
  /// the machine lacks runs on another one.
  explicit ProgramInterpreter(const Graph& graph, std::uint64_t seed = 0,
                              const FusionLimits& limits = {},
                              const InterpretedMachine& machine = {});
  explicit ProgramInterpreter(Graph&&, std::uint64_t = 0, const FusionLimits& = {},
                              const InterpretedMachine& = {}) = delete;
  ~ProgramInterpreter();
  ProgramInterpreter(const ProgramInterpreter&) = delete;
  ProgramInterpreter& operator=(const ProgramInterpreter&) = delete;

  HostTensors variables;   ///< at the start of the next run; runs assign them by their effects
  std::uint64_t draw = 0;  ///< of the next run; each run draws anew
  std::stop_token stop;    ///< ends runs, as stop_when(token) does (run_limits.hpp)

  /// One run. Returns the values of the tensors among the fetches, in their order. Any named tensor
  /// can be fed. Errors: as those of Interpreter::run.
  std::vector<HostTensor> run(const std::vector<std::string>& fetches,
                              const HostTensors& feeds = {});

  /// The program for everything that the model names.
  const InterpretedProgram& program() const;

 private:
  class Parts;
  Parts* parts_;  // owned
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir

#ifndef TYPEFLOW_COMPILED_TESTING
#include "typeflow/interpret/program.ipp"
#endif
