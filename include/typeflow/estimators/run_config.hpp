// SPDX-License-Identifier: Apache-2.0
#pragma once

// Settings and results of estimators.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/runtime/session.hpp"
#include "typeflow/training/figures.hpp"
#include "typeflow/training/periodic.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How an estimator runs and what it keeps.
struct RunConfig {
  /// The folder of checkpoints and summaries. Empty: the model is in memory only.
  std::string model_folder{};
  /// Another process trains in the folder: this one only reads its checkpoints (reload()), and
  /// writes nothing but the figures of evaluations. fit() is an error.
  bool read_only = false;
  std::uint64_t seed = 0;  ///< of initial values and random operations
  int threads = 0;         ///< of a run; 0: as many as the machine has
  DeviceList devices{};    ///< as SessionOptions::devices

  /// When a training saves a checkpoint, besides at its end.
  Interval save_checkpoints{.seconds = 600};
  int keep_checkpoints = 5;     ///< the last ones; 0: all
  double keep_every_hours = 0;  ///< of those that would be removed, one in so many hours; 0: none
  /// Steps between two points of the loss's curve in the folder's event file; 0: no event files.
  std::int64_t save_summaries_steps = 100;

  std::FILE* progress = stdout;       ///< output for the line of progress; null: none
  std::int64_t progress_every = 100;  ///< steps between two lines if the output is no terminal
};

/// How long fit() trains: so many steps, or until the model has so many of all trainings together;
/// by default until the inputs end.
struct TrainOptions {
  std::int64_t steps = 0;      ///< further steps
  std::int64_t max_steps = 0;  ///< steps of all trainings of the model
  /// Finish a training that was killed, if the model folder has one.
  bool resume = true;
  /// A loss that is not finite is an Error; if false, it ends the training.
  bool fail_on_nan_loss = true;
};

struct EvaluateOptions {
  std::int64_t steps = 0;  ///< batches to evaluate; 0: all of the inputs
  std::string name{};      ///< of this evaluation's folder of summaries: eval_NAME
};

/// The result of an evaluation: "loss", the mean of the batches' losses, and the metrics.
class Evaluation {
 public:
  Evaluation() = default;
  Evaluation(Figures figures, std::int64_t step) : figures_(std::move(figures)), step_(step) {}

  /// One of the figures. Error if there is none of this name; it lists those that there are.
  double operator[](std::string_view name) const {
    const auto found = std::ranges::find(figures_, name, &Figure::name);
    if (found != figures_.end()) return found->value;
    std::string known;
    for (const Figure& figure : figures_) {
      known += (known.empty() ? "'" : ", '") + figure.name + "'";
    }
    throw Error("a figure of the evaluation", "one of " + known, "'" + std::string(name) + "'");
  }
  const Figures& figures() const { return figures_; }
  /// The number of steps that the model was trained for, TensorFlow's global_step.
  std::int64_t step() const { return step_; }
  /// For FitOptions::validate.
  operator Validation() const { return Validation(figures_); }

  bool operator==(const Evaluation&) const = default;

 private:
  Figures figures_;
  std::int64_t step_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
