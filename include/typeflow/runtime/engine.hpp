// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs programs: tables in, kernel calls out. This header has what sessions and runners call.
// engine.ipp, with the headers that it includes, makes a run.

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/symbol.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/run_arguments.hpp"
#include "typeflow/runtime/target.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class RunStop;

namespace exec {
struct Arena;
struct Plan;
struct StepPlacer;
class Placer;
}  // namespace exec

/// Options that hold for all runs of an engine.
struct EngineOptions {
  std::uint64_t seed = 0;
  bool initialize = true;
  bool check_finite = false;
  bool wait_for_steps = false;
  bool soft_placement = false;
  const exec::Placer* placer = nullptr;         ///< moves steps when the engine is made; or null
  const exec::StepPlacer* by_cost = nullptr;    ///< chooses devices of open steps; or null
  bool whole_model = false;                     ///< the program has all of the model's names
  bool unused_variables = true;                 ///< also open variables that no step uses
  bool keep_all = false;                        ///< every temporary keeps its memory, for value()
  std::function<void(std::string_view)> print;  ///< takes the lines of tf::print
};

/// A program, ready to run on a target with a store of variables.
class Engine {
 public:
  /// The arguments' objects must outlive the engine.
  Engine(const ir::ProgramView& program, const TargetView& target, Variables& variables,
         Variables& states, const EngineOptions& options);
  /// For variables that are only read. It makes no variable, and `states` numbers the random draws.
  /// No step that a run executes may assign a variable.
  Engine(const ir::ProgramView& program, const TargetView& target, const Variables& variables,
         Variables& states, const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const ir::ProgramView& program() const;

  /// Sets the states back to their initial values.
  void reset_states();

  /// The bytes of temporaries, on all devices, for a run of all steps with these sizes.
  std::int64_t arena_bytes(const SymbolSizes& sizes) const;

  /// What a run of these steps does.
  const exec::Plan& plan(std::span<const Id> steps) const;
  std::span<const MachineDevice> devices() const;
  std::vector<DeviceStatistics> statistics() const;
  /// Runs tell the trace about their kernels; null: no more.
  void trace(KernelTrace* trace);

  /// A tensor of the last run, if the engine keeps all: by name, or by scope and operation
  /// ("fc1/MatMul"). Error if the program has no such tensor.
  HostTensor last_value(std::string_view name) const;

  /// One run. The constructor checks the feeds and finds the symbols.
  class Run {
   public:
    Run(Engine& engine, std::span<const FedTensor> feeds);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// The values of the symbols.
    const SymbolSizes& sizes() const { return sizes_; }
    /// The shape of a tensor of this type in this run.
    std::int64_t extent(const Type& type, int axis) const {
      return resolve(type.dims.extent[axis], sizes_);
    }
    std::int64_t count(const Type& type) const { return count_of(type.dims).resolve(sizes_); }

    /// Error if a buffer does not fit a tensor of this type: its size differs, or its shape, if it
    /// has one (rank >= 0).
    void check_buffer(std::string_view name, const Type& type, std::int64_t count, int rank,
                      const std::int64_t* extents) const;

    /// Error if buffers of fetches overlap each other, or a variable of the program.
    void execute(std::span<const Id> steps, std::span<FetchBuffer> fetches, bool draws);

    /// Ends the run early. For run_limits.hpp.
    RunStop& stop() const;
    const ir::ProgramView& program() const { return engine_.program(); }

    /// Throws because a result of a fetch could not be allocated.
    [[noreturn]] void no_memory_for(Id name) const;

   private:
    Engine& engine_;
    std::span<const FedTensor> feeds_;
    SymbolSizes sizes_;
    exec::Arena* arena_;
  };

 private:
  class Parts;
  Parts* parts_;  // owned
};

namespace detail {

/// The options of a target. 0 threads are as many as the machine has. A negative number is an Error
/// that names the call and its place.
TargetOptions target_options(int threads, const DeviceList& devices, std::string_view call,
                             const std::source_location* at = nullptr);

/// Writes a line to stderr: the default of SessionOptions::print.
void print_line(std::string_view line);

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/engine.ipp"
#endif
