// SPDX-License-Identifier: Apache-2.0
#pragma once

// A callback that writes event files (training/callback.hpp), which TensorBoard shows:
//
//   tf::EventWriter writer("logs/train");
//   tf::fit(session, next, options, tf::WriteSummaries(writer, session, {.every_steps = 10}));

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "typeflow/records/event_writer.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/training/callbacks.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct WriteSummariesOptions {
  /// Steps between two points of the curves of steps; 0: none but those of epochs.
  std::int64_t every_steps = 100;
  /// Takes the figures of validations, without their "val_"; with two folders TensorBoard draws
  /// both in one chart. Null: they go to the other writer, under their names. It must outlive the
  /// callback.
  EventWriter* validation = nullptr;
  /// The store whose variables are shown as histograms after each epoch; null: none. It must
  /// outlive the callback. Variables that are not numbers, and those with NaN or infinite values,
  /// are left out.
  const Variables* variables = nullptr;
  /// The variables to show, by their names; empty: all.
  std::function<bool(std::string_view name)> only{};
};

/// Writes the figures of a training as scalars: those of steps under their names, the means of
/// epochs with "epoch_" before them. All are at the number of the step.
class WriteSummaries : public Callback {
 public:
  /// The writer must outlive the callback.
  explicit WriteSummaries(EventWriter& writer, WriteSummariesOptions options = {});
  /// The same, and writes the session's graph when the training begins, as EventWriter::graph does.
  /// Needs <typeflow/summaries.hpp>. The session must outlive the callback.
  template <class S>
    requires requires(EventWriter& w, const S& s) { w.graph(s), s.variables(); }
  WriteSummaries(EventWriter& writer, const S& session, WriteSummariesOptions options = {})
      : WriteSummaries(writer, std::move(options)) {
    write_graph_ = [&session](EventWriter& to) { to.graph(session); };
  }

  void on_begin(TrainingLoop& loop) override;
  void on_step(TrainingLoop& loop) override;
  void on_epoch(TrainingLoop& loop) override;
  /// Flushes the files.
  void on_end(TrainingLoop& loop) override;

 private:
  EventWriter& writer_;
  WriteSummariesOptions options_;
  std::function<void(EventWriter&)> write_graph_;  // none without a session
};

/// Adds a histogram of each variable of a store to a summary, under its name. As above, `only`
/// chooses, and what has no histogram is left out.
void add_histograms(Summary& summary, const Variables& variables,
                    const std::function<bool(std::string_view name)>& only = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/callbacks.ipp"
#endif
