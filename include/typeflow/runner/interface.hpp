// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface between a Runner and its model. The unit that makes the runner implements it. Units
// that are built for other instruction sets call it.

#include <span>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/runner/tensors.hpp"

namespace typeflow {

/// The results of a run that the run owns.
class RunnerResultsInterface {
 public:
  TYPEFLOW_EXCHANGED RunnerResultsInterface() {}
  RunnerResultsInterface(const RunnerResultsInterface&) = delete;
  RunnerResultsInterface& operator=(const RunnerResultsInterface&) = delete;

  virtual std::span<const RunnerTensor> tensors() const = 0;
  /// Error if there is no result of this name.
  virtual const RunnerTensor& tensor(std::string_view name) const = 0;
  virtual void destroy() = 0;

 protected:
  TYPEFLOW_EXCHANGED ~RunnerResultsInterface() = default;
};

/// A session that is ready to run.
class RunnerInterface {
 public:
  TYPEFLOW_EXCHANGED RunnerInterface() {}
  RunnerInterface(const RunnerInterface&) = delete;
  RunnerInterface& operator=(const RunnerInterface&) = delete;

  virtual std::span<const RunnerTensor> inputs() const = 0;
  virtual std::span<const RunnerTensor> outputs() const = 0;
  /// Without fetches it computes all outputs.
  virtual RunnerResultsInterface* run(std::span<const RunnerFeed> feeds,
                                      std::span<const RunnerFetch> fetches) = 0;
  virtual void destroy() = 0;

 protected:
  TYPEFLOW_EXCHANGED ~RunnerInterface() = default;
};

}  // namespace typeflow
