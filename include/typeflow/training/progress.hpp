// SPDX-License-Identifier: Apache-2.0
#pragma once

// A line that shows the progress of a training.
//
//   step 300 of 1000   loss 0.3412   52110 samples/s   0:12 left

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/training/figures.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct ProgressOptions {
  std::int64_t steps = 0;       ///< of the whole training; 0: unknown
  std::int64_t batch_size = 0;  ///< samples in a step; 0: shows steps a second
  std::FILE* out = stdout;      ///< null: nothing is written
  std::int64_t every = 100;     ///< steps between two lines if `out` is no terminal
};

namespace detail {

/// 75 -> "1:15", 3700 -> "1:01:40".
std::string clock_text(double seconds);

/// "   accuracy 0.9712"
std::string figure_text(const Figure& figure);

/// The text of the line; `done` of the `step` steps took `seconds`.
std::string progress_text(const ProgressOptions& options, std::int64_t step, std::int64_t done,
                          std::span<const Figure> figures, double seconds);

/// The time of a clock that nobody sets, in seconds.
double clock_seconds();

}  // namespace detail

/// A progress line. On a terminal it is overwritten, at most twenty times a second. Elsewhere there
/// is a line every `every` steps, and one for the last step. The destructor ends the line and shows
/// the last step, also when an exception ends the training.
///
/// The clock starts with the constructor, and stands still from pause() to resume().
class Progress {
 public:
  explicit Progress(ProgressOptions options = {});
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  /// Reports that `step` steps are done, and the loss of the last one, or several figures.
  void show(std::int64_t step, double loss) {
    loss_.value = loss;
    show(step, std::span<const Figure>(&loss_, 1));
  }
  void show(std::int64_t step, std::span<const Figure> figures);

  /// The training begins after these steps of an earlier one.
  void start_at(std::int64_t step) { first_ = step_ = step; }

  /// Writes a line of its own: on a terminal, above the line of progress.
  void print(std::string_view line);

  /// On a terminal, updates the line and ends it, before other output.
  void end_line();
  /// The same, for any output: the last step that was reported is always shown.
  void finish();

  /// Ends the line and stops the clock, for work between here and resume() that is not training.
  void pause();
  void resume();

 private:
  double seconds() const;
  /// Writes the last step that was reported, unless it is there already.
  void write();

  ProgressOptions options_;
  bool terminal_ = false;
  bool open_ = false;  // a line on a terminal that has not ended
  bool paused_ = false;
  bool pending_ = false;  // the last step that was told has not been written
  std::int64_t first_ = 0;
  std::int64_t step_ = 0;
  Figure loss_{"loss", 0};
  Figures figures_;
  double before_ = 0;  // seconds of training before start_
  double start_ = detail::clock_seconds();
  double shown_ = -1;  // when a line was written
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/training/progress.ipp"
#endif
