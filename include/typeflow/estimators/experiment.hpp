// SPDX-License-Identifier: Apache-2.0
#pragma once

// Experiments: an estimator with what it is trained and evaluated on, and schedules of them by
// name, which TensorFlow's learn_runner chooses.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/run_config.hpp"
#include "typeflow/estimators/validation_monitor.hpp"
#include "typeflow/training/loop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// When an evaluation of another process's checkpoints ends, and how often it looks for them.
struct ContinuousEvalOptions {
  double poll_seconds = 60;    ///< between two looks at the folder
  double timeout_seconds = 0;  ///< without a new checkpoint, after which it ends; 0: it waits on
  /// It ends with a checkpoint of this step or a later one. 0: ExperimentOptions::train_steps; if
  /// that is 0, too, no step ends it.
  std::int64_t stop_step = 0;
  /// Called after each evaluation. False ends it.
  std::function<bool(const Evaluation&)> after_evaluation{};
};

struct ExperimentOptions {
  std::int64_t train_steps = 0;  ///< steps of all trainings; 0: until the inputs end
  std::int64_t eval_steps = 0;   ///< batches of an evaluation; 0: all of the inputs
  /// Steps between two evaluations of train_and_evaluate(); 0: one at the end.
  std::int64_t evaluate_every = 0;
  ContinuousEvalOptions continuous{};
  /// What run() does: "train", "evaluate", "train_and_evaluate", "continuous_eval", "local_run" or
  /// "test".
  std::string schedule = "train_and_evaluate";
};

/// Trains and evaluates in turns:
///
///   tf::Experiment experiment(estimator, train_inputs, test_inputs,
///                             {.train_steps = 1000, .evaluate_every = 100});
///   const tf::Evaluation last = experiment.local_run();
template <class E, class Train, class Eval>
class Experiment {
 public:
  /// The estimator must outlive the experiment.
  Experiment(E& estimator, Train train, Eval eval, ExperimentOptions options = {})
      : estimator_(estimator),
        train_(std::move(train)),
        eval_(std::move(eval)),
        options_(std::move(options)) {}

  template <class... Hooks>
  FitResult train(Hooks&&... hooks) {
    return estimator_.fit(train_, {.max_steps = options_.train_steps},
                          std::forward<Hooks>(hooks)...);
  }
  Evaluation evaluate() { return estimator_.evaluate(eval_, {.steps = options_.eval_steps}); }
  /// Trains with evaluations in between, then evaluates. Hooks see the training.
  template <class... Hooks>
  Evaluation train_and_evaluate(Hooks&&... hooks) {
    if (options_.evaluate_every > 0) {
      train(ValidationMonitor(estimator_, eval_,
                              {.every_n_steps = options_.evaluate_every,
                               .evaluate = {.steps = options_.eval_steps}}),
            std::forward<Hooks>(hooks)...);
    } else {
      train(std::forward<Hooks>(hooks)...);
    }
    return evaluate();
  }
  /// The schedule of one machine: train_and_evaluate().
  template <class... Hooks>
  Evaluation local_run(Hooks&&... hooks) {
    return train_and_evaluate(std::forward<Hooks>(hooks)...);
  }
  /// Evaluates each checkpoint that another process saves in the estimator's folder, the last one
  /// of those that it finds, until ExperimentOptions::continuous ends it. Returns the evaluations.
  /// Error as that of Estimator::reload: the estimator's RunConfig must be read_only. Error for
  /// intervals that are negative or no numbers.
  std::vector<Evaluation> continuous_eval() {
    const ContinuousEvalOptions& how = options_.continuous;
    const auto seconds = [](const char* name, double value) {
      if (!(value >= 0 && value <= 1e9)) {
        throw Error(std::string("ContinuousEvalOptions: ") + name, "0 or more, at most 1e9",
                    std::to_string(value));
      }
      return std::chrono::duration<double>(value);
    };
    const auto poll = seconds("poll_seconds", how.poll_seconds);
    const auto timeout = seconds("timeout_seconds", how.timeout_seconds);
    const std::int64_t last = how.stop_step > 0 ? how.stop_step : options_.train_steps;
    std::vector<Evaluation> evaluations;
    bool is_new = estimator_.reload() || estimator_.is_trained();
    auto waits_since = std::chrono::steady_clock::now();
    while (true) {
      if (is_new) {
        evaluations.push_back(evaluate());
        const Evaluation& found = evaluations.back();
        if (how.after_evaluation && !how.after_evaluation(found)) break;
        if (last > 0 && found.step() >= last) break;
        waits_since = std::chrono::steady_clock::now();
      }
      is_new = estimator_.reload();
      if (is_new) continue;
      const auto waited = std::chrono::steady_clock::now() - waits_since;
      if (timeout.count() > 0 && waited >= timeout) break;
      std::this_thread::sleep_for(poll);
    }
    return evaluations;
  }
  /// A step of training and a batch of evaluation, to see whether all fits together.
  Evaluation test() {
    estimator_.fit(train_, {.steps = 1});
    return estimator_.evaluate(eval_, {.steps = 1});
  }

  /// Runs the schedule of the options, or that of a name, so that programs can take it from their
  /// settings. Hooks see the training, if there is one. Returns the last evaluation; none of
  /// "train", and of a "continuous_eval" that found no checkpoint. Error for another name; it lists
  /// those that there are.
  template <class... Hooks>
  std::optional<Evaluation> run(std::string_view schedule, Hooks&&... hooks) {
    if (schedule == "train") {
      train(std::forward<Hooks>(hooks)...);
      return std::nullopt;
    }
    if (schedule == "evaluate") return evaluate();
    if (schedule == "train_and_evaluate" || schedule == "local_run") {
      return train_and_evaluate(std::forward<Hooks>(hooks)...);
    }
    if (schedule == "continuous_eval") {
      std::vector<Evaluation> all = continuous_eval();
      if (all.empty()) return std::nullopt;
      return std::move(all.back());
    }
    if (schedule == "test") return test();
    throw Error("Experiment::run",
                "one of 'train', 'evaluate', 'train_and_evaluate', 'continuous_eval', 'local_run', "
                "'test'",
                "'" + std::string(schedule) + "'");
  }
  std::optional<Evaluation> run() { return run(options_.schedule); }

 private:
  E& estimator_;
  Train train_;
  Eval eval_;
  ExperimentOptions options_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
