// SPDX-License-Identifier: Apache-2.0
#pragma once

// What checkpoints of an estimator have beside its variables.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/checkpoints.hpp"
#include "typeflow/training/loop.hpp"
#include "typeflow/training/periodic.hpp"
#include "typeflow/training/state_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The training that a checkpoint was saved in, and how far it was.
struct ModelState {
  std::int64_t step = 0;        ///< steps of all trainings
  std::int64_t first_step = 0;  ///< steps before the training
  std::int64_t last_step = 0;   ///< its aim; 0: the end of the inputs
  std::int64_t taken = 0;       ///< batches of the inputs
  bool has_ended = true;
  bool was_stopped = false;  ///< it has ended, because a hook stopped it
  std::string inputs{};      ///< their names
  std::string loop{};        ///< the state of the TrainingLoop

  // For Checkpoints::include.
  std::string state() const {
    StateWriter out("estimator");
    out.number(step).number(first_step).number(last_step).number(taken);
    out.number(has_ended ? 1 : 0).number(was_stopped ? 1 : 0).end();
    return out.text(inputs).text(loop).end().finish();
  }
  void restore(std::string_view text) {
    StateReader in(text, "estimator", "the state of an estimator");
    ModelState read;
    read.step = in.integer();
    read.first_step = in.integer();
    read.last_step = in.integer();
    read.taken = in.integer();
    read.has_ended = in.integer() != 0;
    read.was_stopped = in.integer() != 0;
    in.end();
    read.inputs = in.text();
    read.loop = in.text();
    in.end();
    constexpr std::int64_t most = std::int64_t{1} << 62;  // so that further steps can be counted
    for (const std::int64_t number : {read.step, read.first_step, read.taken}) {
      if (number >= 0 && number <= most && read.last_step >= 0) continue;
      throw Error("the state of an estimator", "numbers of steps and batches from 0 to 2^62",
                  std::to_string(number) + ", to step " + std::to_string(read.last_step));
    }
    *this = std::move(read);
  }
};

/// Saves an estimator's checkpoints, and goes on with a training that was killed.
class ModelCheckpoints : public Callback {
 public:
  struct Reader {
    std::function<std::int64_t()> taken;
    std::function<void(std::int64_t)> seek;
  };
  ModelCheckpoints(ModelState& state, Reader reader, bool resumes)
      : state_(state), reader_(std::move(reader)), resumes_(resumes) {}

  /// Without this, nothing is saved.
  void save_in(Checkpoints& checkpoints, Variables& variables, Interval interval) {
    checkpoints_ = &checkpoints;
    variables_ = &variables;
    due_.emplace(interval);
  }

  void on_resume(TrainingLoop& loop) override {
    if (!resumes_) return;
    checkpoints_->restore_latest(*variables_);  // with the states of the session
    loop.restore(state_.loop);
    reader_.seek(state_.taken);
  }
  void on_settled(TrainingLoop& loop) override {
    state_.step = loop.steps();
    if (checkpoints_ == nullptr || (!(*due_)(loop.steps()) && loop.goes_on())) return;
    state_.taken = reader_.taken();
    state_.has_ended = !loop.goes_on();
    state_.was_stopped = state_.has_ended && loop.epochs() == 0;
    state_.loop = loop.state();
    checkpoints_->save(*variables_, loop.steps());
  }

 private:
  ModelState& state_;
  Reader reader_;
  bool resumes_;
  Checkpoints* checkpoints_ = nullptr;
  Variables* variables_ = nullptr;
  std::optional<Periodic> due_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
