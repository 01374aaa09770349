// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "typeflow/saving/callbacks.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Checkpoints have the state of a loop while this exists, and no longer: the loop may go before
/// them.
class IncludedLoop {
 public:
  IncludedLoop(Checkpoints& checkpoints, TrainingLoop& loop) : checkpoints_(checkpoints) {
    checkpoints.include(name, loop);
  }
  IncludedLoop(const IncludedLoop&) = delete;
  IncludedLoop& operator=(const IncludedLoop&) = delete;
  ~IncludedLoop() { checkpoints_.exclude(name); }

 private:
  static constexpr const char* name = "training";

  Checkpoints& checkpoints_;
};

}  // namespace detail

TYPEFLOW_DEFINITION void SaveCheckpoints::on_resume(TrainingLoop& loop) {
  const detail::IncludedLoop included(checkpoints_, loop);
  checkpoints_.restore_latest(variables_);
  due_ = Periodic(interval_);
}

TYPEFLOW_DEFINITION void SaveCheckpoints::on_settled(TrainingLoop& loop) {
  if (!due_(loop.steps()) && loop.goes_on()) return;
  const detail::IncludedLoop included(checkpoints_, loop);
  checkpoints_.save(variables_, loop.steps());
}

TYPEFLOW_DEFINITION void SaveBest::on_epoch(TrainingLoop& loop) {
  if (best_.update(loop)) save(variables_, path_, options_.save);
}

TYPEFLOW_DEFINITION void SaveBest::on_end(TrainingLoop&) {
  if (options_.restore && best_.epoch() > 0) load(variables_, path_);
}

TYPEFLOW_DEFINITION std::string SaveBest::state() const { return best_.state("SaveBest"); }

TYPEFLOW_DEFINITION void SaveBest::restore(std::string_view state) {
  best_.restore(state, "SaveBest");
}

}  // namespace typeflow::inline TYPEFLOW_ISA
