// SPDX-License-Identifier: Apache-2.0
#pragma once

// Callbacks: objects that a training calls after its steps and epochs.

#include <string>
#include <string_view>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class TrainingLoop;

/// A base class for what is done beside the steps of a training. A training calls its callbacks in
/// the order in which they were given. Ready ones are in training/callbacks.hpp,
/// saving/callbacks.hpp and records/callbacks.hpp.
class Callback {
 public:
  virtual ~Callback() = default;

  /// The training begins, at step 0.
  virtual void on_begin(TrainingLoop&) {}
  /// After on_begin() of all callbacks: a callback that restores an earlier training does it here.
  virtual void on_resume(TrainingLoop&) {}
  /// A step is done; loop.figures() are the step's.
  virtual void on_step(TrainingLoop&) {}
  /// An epoch is done, and has been validated; loop.figures() are the epoch's.
  virtual void on_epoch(TrainingLoop&) {}
  /// After on_step() of all callbacks, and after on_epoch() of all, if the epoch is done: a
  /// callback that saves the whole training does it here.
  virtual void on_settled(TrainingLoop&) {}
  /// The training has ended, not by an error.
  virtual void on_end(TrainingLoop&) {}

  /// What the callback has to know if the training is resumed in another process. Checkpoints keep
  /// it. restore() throws Error if the text is not one that state() gave, before it changes the
  /// callback.
  virtual std::string state() const { return {}; }
  virtual void restore(std::string_view) {}

 protected:
  Callback() = default;
  Callback(const Callback&) = default;
  Callback(Callback&&) = default;
  Callback& operator=(const Callback&) = default;
  Callback& operator=(Callback&&) = default;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
