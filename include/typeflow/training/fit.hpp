// SPDX-License-Identifier: Apache-2.0
#pragma once

// tf::fit: runs a model's loss and train for so many steps, tells how far it is, and stops early
// where a validation says that it gets no better.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/training/progress.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t steps_per_epoch = 0;  ///< steps of training in an epoch; at least 1
  std::int64_t batch_size = 0;       ///< samples a step, for the line of progress

  /// Called after each step with the number of steps that are done and the last one's loss. To
  /// stop the training here, return false.
  std::function<bool(std::int64_t step, double loss)> on_step{};

  /// Called after each epoch; returns what is to fall, as a loss on data that is not trained on.
  /// For an accuracy, which is to rise, return its negative, or 1 - accuracy.
  std::function<double()> validate{};
  std::int64_t patience = 0;  ///< epochs in a row without a better one that end it; 0: none do
  double min_delta = 0;       ///< what a better one is lower by, at least

  std::FILE* progress = stdout;       ///< where the line of progress goes; null: nowhere
  std::int64_t progress_every = 100;  ///< steps between two lines where that is no terminal
};

namespace detail {
template <class T>
inline constexpr bool is_tuple = requires { std::tuple_size<std::remove_cvref_t<T>>::value; };
}  // namespace detail

/// What a training came to.
struct FitResult {
  std::int64_t steps = 0;                                            ///< steps done
  std::int64_t epochs = 0;                                           ///< epochs completed
  double loss = std::numeric_limits<double>::quiet_NaN();            ///< of the last step
  double best_validation = std::numeric_limits<double>::infinity();  ///< the lowest
  std::int64_t best_epoch = 0;  ///< the epoch, from 1 on, after which that was; 0: none
  bool stopped_early = false;   ///< by patience, or by on_step
};

/// Trains: runs `Loss` and `Train` of the session with what `next_batch()` feeds, a std::tuple of
/// feeds, for epochs * steps_per_epoch steps.
///
///   const auto next = [&] {
///     const tf::LabeledBatch b = batches.next();
///     return std::tuple(tf::feed<"x">(b.images), tf::feed<"y">(b.one_hot));
///   };
///   tf::fit(session, next, {.epochs = 5, .steps_per_epoch = 550, .batch_size = 100});
///
/// What is fed must live until next_batch is called again. Throws Error for a loss that is not
/// finite: the step that made it has changed the variables, so what came before has to be saved if
/// it is to be had again.
template <Text Loss = "loss", Text Train = "train", class S, class F>
FitResult fit(S& session, F&& next_batch, const FitOptions& options) {
  static_assert(detail::is_tuple<std::invoke_result_t<F&>>,
                "fit(session, next_batch, options): next_batch() must return a std::tuple of "
                "feeds, std::tuple(tf::feed<\"x\">(x))");
  if (options.epochs < 0) {
    throw Error("fit: epochs", "0 or more", std::to_string(options.epochs));
  }
  if (options.steps_per_epoch < 1) {
    throw Error("fit: steps_per_epoch", "1 or more", std::to_string(options.steps_per_epoch));
  }
  Progress progress({.steps = options.epochs * options.steps_per_epoch,
                     .batch_size = options.batch_size,
                     .out = options.progress,
                     .every = options.progress_every});
  FitResult result;
  while (result.epochs < options.epochs && !result.stopped_early) {
    for (std::int64_t i = 0; i < options.steps_per_epoch && !result.stopped_early; ++i) {
      result.loss = std::apply(
          [&](const auto&... feeds) {
            return static_cast<double>(session.template run<Loss, Train>(feeds...));
          },
          next_batch());
      ++result.steps;
      if (!std::isfinite(result.loss)) {
        progress.end_line();
        throw Error("fit: the loss of step " + std::to_string(result.steps), "a finite number",
                    std::to_string(result.loss));
      }
      progress.show(result.steps, result.loss);
      result.stopped_early = options.on_step && !options.on_step(result.steps, result.loss);
    }
    if (result.stopped_early) break;
    ++result.epochs;
    if (!options.validate) continue;
    const double validation = options.validate();
    if (validation < result.best_validation - options.min_delta) {
      result.best_validation = validation;
      result.best_epoch = result.epochs;
    }
    result.stopped_early =
        options.patience > 0 && result.epochs - result.best_epoch >= options.patience;
  }
  progress.end_line();
  return result;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
