// SPDX-License-Identifier: Apache-2.0
#pragma once

// A training: counts steps and epochs, shows its progress, validates, calls callbacks. tf::fit runs
// one; with a loop of your own:
//
//   tf::TrainingLoop loop({.epochs = 5, .steps_per_epoch = 100}, {"loss", "accuracy"},
//   callbacks...); while (loop.goes_on()) {
//     const auto [loss, accuracy] = session.run<"loss", "accuracy", "train">(...);
//     loop.step(loss, accuracy);
//   }
//   const tf::FitResult result = loop.finish();

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/training/callback.hpp"
#include "typeflow/training/figures.hpp"
#include "typeflow/training/progress.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct FitOptions {
  std::int64_t epochs = 1;
  /// Steps of training in an epoch. 0: an epoch ends where the data does.
  std::int64_t steps_per_epoch = 0;
  std::int64_t batch_size = 0;  ///< samples in a step, for the progress line
  /// Steps of earlier trainings of the same variables: the first step is number first_step + 1.
  std::int64_t first_step = 0;

  /// Called after each step, with the number of steps done and the loss of the last one. Return
  /// false to stop the training. The progress line on a terminal is not ended before the call; it
  /// is ended if the call throws.
  std::function<bool(std::int64_t step, double loss)> on_step{};

  /// Called after each epoch, after the end of the progress line. Returns a figure that should
  /// fall, such as the loss on a validation set, or several with names (Validation).
  std::function<Validation()> validate{};
  /// Stops after so many epochs in a row without a better first figure; 0: never. For a figure that
  /// rises use tf::EarlyStopping.
  std::int64_t patience = 0;
  double min_delta = 0;  ///< a better one is lower by at least this

  std::FILE* progress = stdout;       ///< output for the progress line; null: none
  std::int64_t progress_every = 100;  ///< steps between two lines if the output is no terminal
};

namespace detail {
/// Error for an option that is out of range.
void check_fit(const FitOptions& options, std::int64_t least_steps);
}  // namespace detail

/// The result of a training. If it was resumed, with its earlier parts.
struct FitResult {
  std::int64_t steps = 0;                                            ///< number of the last step
  std::int64_t epochs = 0;                                           ///< epochs completed
  double loss = std::numeric_limits<double>::quiet_NaN();            ///< of the last step
  double best_validation = std::numeric_limits<double>::infinity();  ///< the lowest first figure
  std::int64_t best_epoch = 0;  ///< the epoch, from 1 on, after which that was; 0: none
  bool stopped_early = false;   ///< by patience, on_step or a callback
  History history;              ///< an entry for each epoch
};

/// Thread safety: none.
class TrainingLoop {
 public:
  /// `names` are those of a step's figures; the first one is the loss. The callbacks must outlive
  /// the training. Error for an option that is out of range, and a name that is empty or given
  /// twice; and what callbacks throw that restore an earlier training.
  TrainingLoop(FitOptions options, std::vector<std::string> names,
               std::vector<Callback*> callbacks);
  template <std::derived_from<Callback>... C>
  explicit TrainingLoop(FitOptions options, std::vector<std::string> names = {"loss"},
                        C&... callbacks)
      : TrainingLoop(std::move(options), std::move(names),
                     std::vector<Callback*>{static_cast<Callback*>(&callbacks)...}) {}
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  /// Whether there is another step to do.
  bool goes_on() const { return !result_.stopped_early && result_.epochs < options_.epochs; }
  /// A step is done; its figures, in the order of their names. Ends the epoch after
  /// steps_per_epoch steps. Error if the number of figures is wrong, or if the loss is not finite.
  template <std::convertible_to<double>... Values>
  void step(const Values&... values) {
    const std::array<double, sizeof...(Values)> all{static_cast<double>(values)...};
    step(std::span<const double>(all));
  }
  void step(std::span<const double> values);
  /// The data have ended, and so does the epoch. Error if it had no step.
  void end_epoch();
  /// Calls on_end() of the callbacks, and ends the progress line.
  FitResult finish();

  // For callbacks.

  const FitOptions& options() const { return options_; }
  std::int64_t steps() const { return result_.steps; }             ///< number of the last one
  std::int64_t epochs() const { return result_.epochs; }           ///< completed
  std::int64_t steps_in_epoch() const { return steps_in_epoch_; }  ///< of the one that goes on
  const History& history() const { return result_.history; }
  /// In Callback::on_step, those of the step; in on_epoch, those of the epoch.
  const Figures& figures() const { return figures_; }
  /// One of them. Error if there is none of this name; it lists those that there are.
  double figure(std::string_view name) const;
  /// The first figure of the validation; the loss, if there is no validation.
  const Figure& main_figure() const;
  /// Ends the training after this step or epoch. A training that is resumed from a checkpoint
  /// remembers it.
  void stop() { result_.stopped_early = true; }
  /// Prints a line where the progress is shown.
  void print(std::string_view line) { progress_.print(line); }

  /// All of the training that a checkpoint has to keep: counters, the means of an epoch that is
  /// not complete, history, states of the callbacks.
  std::string state() const;
  /// Goes on where state() was called. Error if the text is not from a training with the same names
  /// and callbacks.
  void restore(std::string_view state);

 private:
  void validate();
  std::string epoch_line() const;

  FitOptions options_;
  std::vector<std::string> names_;
  std::vector<Callback*> callbacks_;
  Progress progress_;
  FitResult result_;
  Figures figures_;
  std::int64_t steps_in_epoch_ = 0;
  std::vector<double> sums_;     // of the figures of the epoch's steps
  bool is_interrupted_ = false;  // stopped by on_step
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/training/loop.ipp"
#endif
