// SPDX-License-Identifier: Apache-2.0
#pragma once

// What estimators of trees share: the options of fit(), scores, and labels from probabilities.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How fit() gives rows to a forest.
struct ForestFitOptions {
  std::int64_t steps = 100;  ///< batches
  std::int64_t batch = 0;    ///< rows of a batch; 0: all rows
  bool shuffle = true;       ///< whether each epoch has a random order of its own
  /// Called after each step, with its number from 1 on. False ends the training.
  std::function<bool(std::int64_t step)> after_step = {};
};

/// How well a classifier does.
struct ClassificationScore {
  double accuracy = 0;    ///< the share of right labels
  double loss = 0;        ///< the mean cross entropy, in nats; of probabilities of 1e-7 at least
  std::int64_t rows = 0;  ///< the number of rows
};

/// How well a regressor does.
struct RegressionScore {
  double mean_squared_error = 0;  ///< over rows and outputs
  double r2 = 0;                  ///< 1 - squared errors / squares of the targets less their means
  std::int64_t rows = 0;
};

namespace detail {

/// The most probable class of each row; of equal ones the first.
inline std::vector<std::int32_t> labels_of(std::span<const float> probabilities, int classes) {
  const auto n = static_cast<std::ptrdiff_t>(classes);
  std::vector<std::int32_t> labels;
  labels.reserve(probabilities.size() / static_cast<std::size_t>(classes));
  for (auto row = probabilities.begin(); row != probabilities.end(); row += n) {
    labels.push_back(static_cast<std::int32_t>(std::max_element(row, row + n) - row));
  }
  return labels;
}

/// Means are weighted; of no weights all are 1.
inline ClassificationScore score_labels(std::span<const float> probabilities, int classes,
                                        std::span<const std::int32_t> labels,
                                        std::span<const double> weights) {
  const std::vector<std::int32_t> predicted = labels_of(probabilities, classes);
  ClassificationScore score;
  score.rows = static_cast<std::int64_t>(labels.size());
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight;
    score.accuracy += predicted[i] == labels[i] ? weight : 0;
    const float p =
        probabilities[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(labels[i])];
    score.loss -= weight * std::log(std::max(static_cast<double>(p), 1e-7));
  }
  score.accuracy = sum > 0 ? score.accuracy / sum : std::numeric_limits<double>::quiet_NaN();
  score.loss = sum > 0 ? score.loss / sum : std::numeric_limits<double>::quiet_NaN();
  return score;
}

/// r2 is NaN if all targets of the rows are equal.
inline RegressionScore score_targets(std::span<const float> predictions,
                                     std::span<const float> targets, int outputs,
                                     std::span<const double> weights) {
  const auto columns = static_cast<std::size_t>(outputs);
  const std::size_t rows = targets.size() / columns;
  const auto weight = [&](std::size_t row) { return weights.empty() ? 1.0 : weights[row]; };
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) sum += weight(i);
  double errors = 0;
  double spread = 0;
  for (std::size_t k = 0; k < columns; ++k) {
    double mean = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      mean += weight(i) * static_cast<double>(targets[i * columns + k]);
    }
    mean /= sum;
    for (std::size_t i = 0; i < rows; ++i) {
      const double y = static_cast<double>(targets[i * columns + k]);
      const double error = y - static_cast<double>(predictions[i * columns + k]);
      errors += weight(i) * error * error;
      spread += weight(i) * (y - mean) * (y - mean);
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {sum > 0 ? errors / (sum * static_cast<double>(columns)) : nan,
          spread > 0 ? 1 - errors / spread : nan, static_cast<std::int64_t>(rows)};
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
