// SPDX-License-Identifier: Apache-2.0
#pragma once

// Callbacks that save a training (training/callback.hpp):
//
//   tf::Checkpoints saver("run", {.keep = 3});
//   saver.include("batches", batches);
//   tf::fit(session, next, options, tf::SaveCheckpoints(saver, variables, {.seconds = 600}));
//
// The same program, started again after it was killed, goes on from the last checkpoint and ends
// with the same bits.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/checkpoints.hpp"
#include "typeflow/training/callbacks.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Resumes a training from the last checkpoint of a folder, and saves checkpoints of it: when the
/// interval has passed, and at the end. With the variables it saves all that the training counts,
/// the history and the states of other callbacks, under the name "training".
class SaveCheckpoints : public Callback {
 public:
  /// The checkpoints and the store must outlive the callback.
  SaveCheckpoints(Checkpoints& checkpoints, Variables& variables, Interval interval)
      : checkpoints_(checkpoints), variables_(variables), interval_(interval), due_(interval) {}

  /// Error as Checkpoints::restore_latest. A checkpoint that another loop has saved has no training
  /// in it, and is an Error, too.
  void on_resume(TrainingLoop& loop) override;
  void on_settled(TrainingLoop& loop) override;

 private:
  Checkpoints& checkpoints_;
  Variables& variables_;
  Interval interval_;
  Periodic due_;
};

struct SaveBestOptions {
  Watched watched{};
  bool restore = false;  ///< at the end, load the best ones into the store
  SaveOptions save = {};
};

/// Saves the variables in a file after each epoch with the best figure so far.
class SaveBest : public Callback {
 public:
  /// The store must outlive the callback.
  SaveBest(Variables& variables, std::string path, SaveBestOptions options = {})
      : variables_(variables),
        path_(std::move(path)),
        options_(std::move(options)),
        best_(options_.watched) {}

  void on_begin(TrainingLoop&) override { best_.reset(); }
  /// Error if the file can't be written.
  void on_epoch(TrainingLoop& loop) override;
  void on_end(TrainingLoop& loop) override;
  std::string state() const override;
  void restore(std::string_view state) override;

  std::int64_t best_epoch() const { return best_.epoch(); }  ///< from 1 on; 0: none
  double best() const { return best_.value(); }              ///< NaN if there is none

 private:
  Variables& variables_;
  std::string path_;
  SaveBestOptions options_;
  detail::BestFigure best_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/callbacks.ipp"
#endif
