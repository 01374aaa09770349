// SPDX-License-Identifier: Apache-2.0
#pragma once

// Experiments: an estimator with what it is trained and evaluated on.

#include <cstdint>
#include <utility>

#include "typeflow/estimators/run_config.hpp"
#include "typeflow/estimators/validation_monitor.hpp"
#include "typeflow/training/loop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct ExperimentOptions {
  std::int64_t train_steps = 0;  ///< steps of all trainings; 0: until the inputs end
  std::int64_t eval_steps = 0;   ///< batches of an evaluation; 0: all of the inputs
  /// Steps between two evaluations of train_and_evaluate(); 0: one at the end.
  std::int64_t evaluate_every = 0;
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
        options_(options) {}

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
  /// A step of training and a batch of evaluation, to see whether all fits together.
  Evaluation test() {
    estimator_.fit(train_, {.steps = 1});
    return estimator_.evaluate(eval_, {.steps = 1});
  }

 private:
  E& estimator_;
  Train train_;
  Eval eval_;
  ExperimentOptions options_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
