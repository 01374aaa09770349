// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ready callbacks for tf::fit and tf::TrainingLoop. Those that save variables are in
// saving/callbacks.hpp, those that write event files in records/callbacks.hpp.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "typeflow/runtime/variables.hpp"
#include "typeflow/training/loop.hpp"
#include "typeflow/training/periodic.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Which of an epoch's figures a callback watches.
struct Watched {
  /// Its name; empty: the first figure of the validation, or the loss, if there is none.
  std::string figure{};
  Goal goal = Goal::fall;
  double min_delta = 0;  ///< a better value differs by more than this
};

namespace detail {

/// The best value of a figure so far.
class BestFigure {
 public:
  explicit BestFigure(Watched watched) : watched_(std::move(watched)) {}

  /// Takes the figure of the epoch that has just ended, and says whether it is the best. NaN never
  /// is.
  bool update(const TrainingLoop& loop);
  void reset() { *this = BestFigure(watched_); }

  std::int64_t epoch() const { return epoch_; }  ///< of the best one, from 1 on; 0: none
  double value() const { return value_; }
  /// For a checkpoint; `kind` is the callback's name.
  std::string state(std::string_view kind) const;
  void restore(std::string_view state, std::string_view kind);

 private:
  Watched watched_;
  std::int64_t epoch_ = 0;
  double value_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace detail

/// Ends the training after `patience` epochs in a row without a better figure.
///
///   tf::fit(session, next, options, tf::EarlyStopping({.figure = "val_accuracy",
///                                                      .goal = tf::Goal::rise}, 3));
class EarlyStopping : public Callback {
 public:
  /// Error if patience < 1.
  EarlyStopping(Watched watched, std::int64_t patience);

  void on_begin(TrainingLoop&) override { best_.reset(); }
  void on_epoch(TrainingLoop& loop) override;
  std::string state() const override;
  void restore(std::string_view state) override;

  std::int64_t best_epoch() const { return best_.epoch(); }  ///< from 1 on; 0: none
  double best() const { return best_.value(); }              ///< NaN if there is none

 private:
  detail::BestFigure best_;
  std::int64_t patience_;
};

struct ReduceOnPlateauOptions {
  Watched watched{};
  double factor = 0.1;         ///< the rate is multiplied by it; in (0, 1)
  std::int64_t patience = 10;  ///< epochs in a row without a better figure
  std::int64_t cooldown = 0;   ///< epochs after a reduction that do not count
  double least = 0;            ///< the rate does not fall below
};

/// Reduces a learning rate, a scalar variable of float or double, if a figure gets no better:
///
///   auto rate = variable<float>(g, "rate", tf::filled(0.1), false);
///   tf::Momentum{.rate = rate}.minimize(loss).named("train");
///   ...
///   tf::fit(session, next, options, tf::ReduceOnPlateau(variables, "rate", {.patience = 3}));
class ReduceOnPlateau : public Callback {
 public:
  /// The store must outlive the callback. Error if an option is out of range.
  ReduceOnPlateau(Variables& variables, std::string rate, ReduceOnPlateauOptions options = {});

  /// Error if the store has no such variable, or if it is no scalar of float or double.
  void on_begin(TrainingLoop& loop) override;
  void on_epoch(TrainingLoop& loop) override;
  std::string state() const override;
  void restore(std::string_view state) override;

 private:
  double rate() const;

  Variables& variables_;
  std::string name_;
  ReduceOnPlateauOptions options_;
  detail::BestFigure best_;
  std::int64_t waited_ = 0;
  std::int64_t cooling_ = 0;
};

/// Writes a table of the epochs' figures as comma-separated values (RFC 4180): a row with the
/// names, then one for each epoch. The file is replaced as a whole after each epoch, so a resumed
/// training has the rows of its earlier epochs, too.
class CsvLog : public Callback {
 public:
  explicit CsvLog(std::string path) : path_(std::move(path)) {}

  /// Error if the file can't be written.
  void on_epoch(TrainingLoop& loop) override;

 private:
  std::string path_;
};

/// The table that CsvLog writes.
std::string csv_of(const History& history);

/// Calls functions; those that are empty it leaves out.
///
///   tf::fit(session, next, options, tf::LambdaCallback({.epoch = [](tf::TrainingLoop& t) {
///     t.print("after epoch " + std::to_string(t.epochs()));
///   }}));
class LambdaCallback : public Callback {
 public:
  struct Functions {
    std::function<void(TrainingLoop&)> begin{};
    std::function<void(TrainingLoop&)> step{};
    std::function<void(TrainingLoop&)> epoch{};
    std::function<void(TrainingLoop&)> end{};
  };
  explicit LambdaCallback(Functions functions) : functions_(std::move(functions)) {}

  void on_begin(TrainingLoop& loop) override { call(functions_.begin, loop); }
  void on_step(TrainingLoop& loop) override { call(functions_.step, loop); }
  void on_epoch(TrainingLoop& loop) override { call(functions_.epoch, loop); }
  void on_end(TrainingLoop& loop) override { call(functions_.end, loop); }

 private:
  static void call(const std::function<void(TrainingLoop&)>& function, TrainingLoop& loop) {
    if (function) function(loop);
  }

  Functions functions_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/training/callbacks.ipp"
#endif
