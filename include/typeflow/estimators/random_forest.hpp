// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random forests that grow online, as TensorFlow's tensor_forest: RandomForestClassifier and
// RandomForestRegressor. Needs what saving.hpp needs.
//
//   tf::RandomForestClassifier forest(4, 3, {.trees = 3, .max_nodes = 1000});
//   forest.fit(measures, species, {.steps = 100});        // (150,4) floats, (150) labels
//   const double accuracy = forest.evaluate(measures, species).accuracy;

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/forest.hpp"
#include "typeflow/estimators/tree_estimator.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Batches of rows, in an order of its own for each epoch. A forest that is saved, loaded and
/// fitted again takes the next epochs' orders.
template <class Grow>
void fit_forest(Forest& forest, std::int64_t rows, const ForestFitOptions& options,
                const std::string& name, const Grow& grow) {
  if (options.steps < 0) throw Error(name, "steps >= 0", std::to_string(options.steps));
  if (options.batch < 0) throw Error(name, "batch >= 0", std::to_string(options.batch));
  if (rows == 0 && options.steps > 0) throw Error(name, "at least 1 row", "0");
  const std::int64_t batch = options.batch == 0 ? rows : std::min(options.batch, rows);
  std::vector<std::int64_t> order;
  std::int64_t next = rows;  // the first row of the next batch
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    if (next >= rows) {
      next = 0;
      if (options.shuffle) {
        order = shuffled_rows(rows, forest.options().seed, forest.samples_seen());
      } else if (order.empty()) {
        order.resize(static_cast<std::size_t>(rows));
        std::iota(order.begin(), order.end(), std::int64_t{0});
      }
    }
    const std::int64_t count = std::min(batch, rows - next);
    grow(std::span(order).subspan(static_cast<std::size_t>(next), static_cast<std::size_t>(count)));
    next += count;
    if (options.after_step && !options.after_step(step)) return;
  }
}

inline std::vector<std::int64_t> rows_in_order(std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

}  // namespace detail

/// A forest that classifies rows of features. It grows row by row: fit() and partial_fit() may be
/// called again and again. Features may be NaN, which fail every test "feature <= threshold", and
/// infinite. Matrices are row-major.
class RandomForestClassifier {
 public:
  /// Error if a size or an option is out of range.
  RandomForestClassifier(int features, int classes, const RandomForestOptions& options = {}) {
    forest_.configure(features, classes, false, options, "RandomForestClassifier");
  }
  /// The forest of a file of save(). Error if it can't be read, is damaged or is of another kind.
  static RandomForestClassifier from_file(const std::string& path, int threads = 0) {
    return RandomForestClassifier(path, threads);
  }

  /// Grows by batches of the rows. (N,features), (N) labels from 0 to classes - 1
  RandomForestClassifier& fit(std::span<const float> x, std::span<const std::int32_t> labels,
                              const ForestFitOptions& options = {}) {
    detail::fit_forest(
        forest_, check(x, labels, "fit"), options, title("fit"),
        [&](std::span<const std::int64_t> order) { forest_.grow(x.data(), labels.data(), order); });
    return *this;
  }
  /// Grows by these rows, once and in their order.
  RandomForestClassifier& partial_fit(std::span<const float> x,
                                      std::span<const std::int32_t> labels) {
    const std::int64_t rows = check(x, labels, "partial_fit");
    forest_.grow(x.data(), labels.data(), detail::rows_in_order(rows));
    return *this;
  }

  /// The mean of the trees' shares of the classes. (N,features) -> (N,classes)
  std::vector<float> predict_proba(std::span<const float> x) const {
    const std::int64_t rows = detail::rows_of(x, features(), title("predict"));
    check_trained("predict");
    std::vector<float> out(static_cast<std::size_t>(rows * classes()));
    forest_.infer(x.data(), rows, out.data());
    return out;
  }
  /// The most probable class. (N,features) -> (N)
  std::vector<std::int32_t> predict(std::span<const float> x) const {
    return detail::labels_of(predict_proba(x), classes());
  }
  ClassificationScore evaluate(std::span<const float> x,
                               std::span<const std::int32_t> labels) const {
    check(x, labels, "evaluate");
    return detail::score_labels(predict_proba(x), classes(), labels);
  }

  /// Saves trees and counts as a safetensors file, which is replaced as a whole.
  void save(const std::string& path) const { forest_.save(path); }
  /// Goes on from a file of save(), if it exists: growth then gives the same bits as without the
  /// interruption. Error if it is damaged, or of other features or classes.
  bool resume(const std::string& path) {
    if (!std::filesystem::exists(path)) return false;
    const auto saved = from_file(path, forest_.options().threads);
    if (saved.features() != features() || saved.classes() != classes()) {
      throw Error(
          path,
          std::to_string(features()) + " features and " + std::to_string(classes()) + " classes",
          std::to_string(saved.features()) + " and " + std::to_string(saved.classes()));
    }
    forest_.load(path, false, forest_.options().threads);
    return true;
  }

  int features() const { return forest_.features(); }
  int classes() const { return forest_.outputs(); }
  const Forest& forest() const { return forest_; }

 private:
  RandomForestClassifier(const std::string& path, int threads) {
    forest_.load(path, false, threads);
  }
  std::int64_t check(std::span<const float> x, std::span<const std::int32_t> labels,
                     const char* call) const {
    const std::int64_t rows = detail::rows_of(x, features(), title(call));
    detail::check_labels(labels, rows, classes(), title(call));
    return rows;
  }
  void check_trained(const char* call) const {
    if (forest_.samples_seen() > 0) return;
    throw Error(title(call), "a forest that has seen rows", "a new one; call fit() first");
  }

  static std::string title(const char* call) {
    return std::string("RandomForestClassifier.") + call;
  }

  Forest forest_;
};

/// A forest that estimates numbers, the mean of its leaves' targets. As RandomForestClassifier, but
/// with targets (N,outputs); splits lower the variance.
class RandomForestRegressor {
 public:
  explicit RandomForestRegressor(int features, const RandomForestOptions& options = {},
                                 int outputs = 1) {
    forest_.configure(features, outputs, true, options, "RandomForestRegressor");
  }
  static RandomForestRegressor from_file(const std::string& path, int threads = 0) {
    return RandomForestRegressor(path, threads);
  }

  /// (N,features), (N,outputs) finite targets
  RandomForestRegressor& fit(std::span<const float> x, std::span<const float> targets,
                             const ForestFitOptions& options = {}) {
    detail::fit_forest(forest_, check(x, targets, "fit"), options, title("fit"),
                       [&](std::span<const std::int64_t> order) {
                         forest_.grow(x.data(), targets.data(), order);
                       });
    return *this;
  }
  RandomForestRegressor& partial_fit(std::span<const float> x, std::span<const float> targets) {
    const std::int64_t rows = check(x, targets, "partial_fit");
    forest_.grow(x.data(), targets.data(), detail::rows_in_order(rows));
    return *this;
  }

  /// (N,features) -> (N,outputs)
  std::vector<float> predict(std::span<const float> x) const {
    const std::int64_t rows = detail::rows_of(x, features(), title("predict"));
    if (forest_.samples_seen() == 0) {
      throw Error(title("predict"), "a forest that has seen rows", "a new one; call fit() first");
    }
    std::vector<float> out(static_cast<std::size_t>(rows * outputs()));
    forest_.infer(x.data(), rows, out.data());
    return out;
  }
  RegressionScore evaluate(std::span<const float> x, std::span<const float> targets) const {
    check(x, targets, "evaluate");
    return detail::score_targets(predict(x), targets, outputs());
  }

  void save(const std::string& path) const { forest_.save(path); }
  bool resume(const std::string& path) {
    if (!std::filesystem::exists(path)) return false;
    const auto saved = from_file(path, forest_.options().threads);
    if (saved.features() != features() || saved.outputs() != outputs()) {
      throw Error(
          path,
          std::to_string(features()) + " features and " + std::to_string(outputs()) + " outputs",
          std::to_string(saved.features()) + " and " + std::to_string(saved.outputs()));
    }
    forest_.load(path, true, forest_.options().threads);
    return true;
  }

  int features() const { return forest_.features(); }
  int outputs() const { return forest_.outputs(); }
  const Forest& forest() const { return forest_; }

 private:
  RandomForestRegressor(const std::string& path, int threads) { forest_.load(path, true, threads); }
  std::int64_t check(std::span<const float> x, std::span<const float> targets,
                     const char* call) const {
    const std::int64_t rows = detail::rows_of(x, features(), title(call));
    detail::check_targets(targets, rows, outputs(), title(call));
    return rows;
  }

  static std::string title(const char* call) {
    return std::string("RandomForestRegressor.") + call;
  }

  Forest forest_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
