// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs an engine by names that are known at run time. It looks up names and checks types in every
// run; Session::run does that at compile time.

#include <span>
#include <string_view>

#include "typeflow/runner/interface.hpp"
#include "typeflow/runner/tensors.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

class EngineRunner {
 public:
  /// The outputs are tensors with a slot in the engine's program. The engine must outlive it.
  EngineRunner(Engine& engine, std::span<const std::string_view> outputs);
  ~EngineRunner();
  EngineRunner(const EngineRunner&) = delete;
  EngineRunner& operator=(const EngineRunner&) = delete;

  std::span<const RunnerTensor> inputs() const;
  std::span<const RunnerTensor> outputs() const;

  /// Null if all results go to the caller's memory.
  RunnerResultsInterface* run(std::span<const RunnerFeed> feeds,
                              std::span<const RunnerFetch> fetches) const;

 private:
  class Parts;
  Parts* parts_;  // owned
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runner/engine_runner.ipp"
#endif
