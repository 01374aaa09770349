// SPDX-License-Identifier: Apache-2.0
#pragma once

// Validation in a training, every so many steps, and early stopping by it.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/hooks.hpp"
#include "typeflow/estimators/run_config.hpp"
#include "typeflow/training/state_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct ValidationMonitorOptions {
  std::int64_t every_n_steps = 100;
  /// The figure that early stopping watches.
  std::string early_stopping_metric = "loss";
  bool early_stopping_metric_minimize = true;  ///< false: it should rise
  /// Steps without a better figure after which the training ends; 0: it never ends early.
  std::int64_t early_stopping_rounds = 0;
  EvaluateOptions evaluate{};
  /// Receives the lines; empty: they are printed where the progress is shown.
  std::function<void(std::string_view)> print{};
};

/// Evaluates an estimator during its training:
///
///   tf::ValidationMonitor monitor(estimator, test_inputs,
///                                 {.every_n_steps = 50, .early_stopping_rounds = 200});
///   estimator.fit(train_inputs, {.steps = 2000}, monitor);
///   std::printf("best step %d\n", int(monitor.best_step()));
///
/// It evaluates the variables as they are. (TensorFlow evaluates the last checkpoint, and waits if
/// there is no new one.) A figure that is not a number is never the best.
class ValidationMonitor : public Callback {
 public:
  /// Gives the figures of a validation; none if there is nothing new to validate.
  using Evaluate = std::function<std::optional<Evaluation>()>;

  /// Error if every_n_steps is below 1 or the rounds are negative.
  ValidationMonitor(Evaluate evaluate, ValidationMonitorOptions options = {})
      : evaluate_(std::move(evaluate)), options_(std::move(options)) {
    if (options_.every_n_steps < 1) {
      throw Error("ValidationMonitor: every_n_steps", "1 or more",
                  std::to_string(options_.every_n_steps));
    }
    if (options_.early_stopping_rounds < 0) {
      throw Error("ValidationMonitor: early_stopping_rounds", "0 or more",
                  std::to_string(options_.early_stopping_rounds));
    }
  }
  /// Evaluates an estimator with its inputs. It must outlive the monitor.
  template <class E, class I>
    requires requires(E& e, const I& i, const EvaluateOptions& how) {
      { e.evaluate(i, how) } -> std::convertible_to<Evaluation>;
    }
  ValidationMonitor(E& estimator, const I& inputs, ValidationMonitorOptions options = {})
      : ValidationMonitor(
            [&estimator, inputs, how = options.evaluate] {
              return std::optional<Evaluation>(estimator.evaluate(inputs, how));
            },
            options) {}

  /// Error if no figure has the name of early_stopping_metric.
  void on_step(TrainingLoop& loop) override {
    if (loop.steps() % options_.every_n_steps != 0) return;
    const std::optional<Evaluation> found = evaluate_();
    if (!found) return;
    const std::int64_t step = loop.steps();
    const double value = (*found)[options_.early_stopping_metric];
    print(loop, "validation at step " + std::to_string(step) + ": " + text(found->figures()));
    evaluations_.push_back(Evaluation(found->figures(), step));

    const bool is_better =
        options_.early_stopping_metric_minimize ? value < best_value_ : value > best_value_;
    if (!std::isnan(value) && (std::isnan(best_value_) || is_better)) {
      best_value_ = value;
      best_step_ = step;
    }
    const std::int64_t rounds = options_.early_stopping_rounds;
    if (rounds == 0 || step - best_step_ < rounds) return;
    early_stopped_ = true;
    print(loop, "stopping: the best step is " + std::to_string(best_step_) + ", with " +
                    text({{options_.early_stopping_metric, best_value_}}));
    loop.stop();
  }
  void on_begin(TrainingLoop& loop) override {
    evaluations_.clear();
    best_step_ = loop.steps();
    best_value_ = std::numeric_limits<double>::quiet_NaN();
    early_stopped_ = false;
  }

  std::string state() const override {
    return StateWriter("ValidationMonitor")
        .number(best_step_)
        .number(best_value_)
        .number(early_stopped_ ? 1 : 0)
        .end()
        .finish();
  }
  void restore(std::string_view state) override {
    StateReader reader(state, "ValidationMonitor", "the state of a ValidationMonitor");
    const std::int64_t step = reader.integer();
    const double value = reader.number();
    early_stopped_ = reader.integer() != 0;
    best_step_ = step;
    best_value_ = value;
  }

  bool early_stopped() const { return early_stopped_; }
  std::int64_t best_step() const { return best_step_; }  ///< the training's first, if none is
  double best_value() const { return best_value_; }      ///< NaN if there is none
  /// The validations of this training, in this process.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }

 private:
  /// "loss 0.25, accuracy 0.97"
  static std::string text(const Figures& figures) {
    std::string all;
    for (const Figure& figure : figures) {
      all += (all.empty() ? "" : ", ") + figure.name + ' ' + detail::element_text(figure.value);
    }
    return all;
  }
  void print(TrainingLoop& loop, const std::string& line) const {
    if (options_.print) {
      options_.print(line);
    } else {
      loop.print(line);
    }
  }

  Evaluate evaluate_;
  ValidationMonitorOptions options_;
  std::vector<Evaluation> evaluations_;
  std::int64_t best_step_ = 0;
  double best_value_ = std::numeric_limits<double>::quiet_NaN();
  bool early_stopped_ = false;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
