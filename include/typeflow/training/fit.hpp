// SPDX-License-Identifier: Apache-2.0
#pragma once

// tf::fit: a training loop with a progress line and early stopping.

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

namespace typeflow::inline TYPEFLOW_ISA {

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t steps_per_epoch = 0;  ///< steps of training in an epoch; at least 1
  std::int64_t batch_size = 0;       ///< samples in a step, for the progress line

  /// Called after each step, with the number of steps done and the loss of the last one. Return
  /// false to stop the training. The progress line on a terminal is not ended before the call; it
  /// is ended if the call throws.
  std::function<bool(std::int64_t step, double loss)> on_step{};

  /// Called after each epoch, after the end of the progress line. Returns a figure that should
  /// fall, such as the loss on a validation set. For an accuracy return 1 - accuracy, or its
  /// negative.
  std::function<double()> validate{};
  std::int64_t patience =
      0;                 ///< stops after so many epochs in a row without a better one; 0: never
  double min_delta = 0;  ///< a better one is lower by at least this

  std::FILE* progress = stdout;       ///< output for the progress line; null: none
  std::int64_t progress_every = 100;  ///< steps between two lines if the output is no terminal
};

namespace detail {
template <class T>
inline constexpr bool is_tuple = requires { std::tuple_size<std::remove_cvref_t<T>>::value; };
}  // namespace detail

/// The result of a training.
struct FitResult {
  std::int64_t steps = 0;                                            ///< steps done
  std::int64_t epochs = 0;                                           ///< epochs completed
  double loss = std::numeric_limits<double>::quiet_NaN();            ///< of the last step
  double best_validation = std::numeric_limits<double>::infinity();  ///< the lowest
  std::int64_t best_epoch = 0;  ///< the epoch, from 1 on, after which that was; 0: none
  bool stopped_early = false;   ///< by patience, or by on_step
};

/// Trains for epochs * steps_per_epoch steps. Each step runs `Loss` and `Train` of the session with
/// the feeds that `next_batch()` returns as a std::tuple.
///
///   const auto next = [&] {
///     const tf::LabeledBatch b = batches.next();
///     return std::tuple(tf::feed<"x">(b.images), tf::feed<"y">(b.one_hot));
///   };
///   tf::fit(session, next, {.epochs = 5, .steps_per_epoch = 550, .batch_size = 100});
///
/// The data of the feeds must live until the step has run. In the example, a batch lives until the
/// next one is taken. If next_batch() makes vectors of its own, move them into their feeds:
/// tf::feed<"x">(std::move(x)).
///
/// Throws Error if a loss is not finite. That step has already changed the variables, so save them
/// before if you want to go back.
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
        throw Error("fit: the loss of step " + std::to_string(result.steps), "a finite number",
                    std::to_string(result.loss));
      }
      progress.show(result.steps, result.loss);
      result.stopped_early = options.on_step && !options.on_step(result.steps, result.loss);
    }
    if (result.stopped_early) break;
    ++result.epochs;
    if (!options.validate) continue;
    progress.pause();  // validations are no training, and may print
    const double validation = options.validate();
    progress.resume();
    if (validation < result.best_validation - options.min_delta) {
      result.best_validation = validation;
      result.best_epoch = result.epochs;
    }
    result.stopped_early =
        options.patience > 0 && result.epochs - result.best_epoch >= options.patience;
  }
  return result;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
