// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "typeflow/saving/callbacks.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION void SaveCheckpoints::on_resume(TrainingLoop& loop) {
  checkpoints_.include(name, loop);
  checkpoints_.restore_latest(variables_);
  due_ = Periodic(interval_);
}

TYPEFLOW_DEFINITION void SaveCheckpoints::on_settled(TrainingLoop& loop) {
  if (due_(loop.steps()) || !loop.goes_on()) checkpoints_.save(variables_, loop.steps());
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
