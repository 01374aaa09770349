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
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/forest.hpp"
#include "typeflow/estimators/sample_weights.hpp"
#include "typeflow/estimators/tree_estimator.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Batches of rows, in an order of its own for each epoch. A forest that is saved, loaded and
/// fitted again takes the next epochs' orders. grow(rows, shares) takes a batch.
template <class Grow>
void fit_forest(Forest& forest, const RepeatedRows& all, const ForestFitOptions& options,
                const std::string& name, const Grow& grow) {
  const auto rows = static_cast<std::int64_t>(all.rows.size());
  if (options.steps < 0) throw Error(name, "steps >= 0", std::to_string(options.steps));
  if (options.batch < 0) throw Error(name, "batch >= 0", std::to_string(options.batch));
  if (rows == 0 && options.steps > 0) {
    throw Error(name, all.are_weighted ? "at least 1 row of a weight above 0" : "at least 1 row",
                "0");
  }
  const std::int64_t batch = options.batch == 0 ? rows : std::min(options.batch, rows);
  std::vector<std::int64_t> order;
  std::vector<double> shares;
  std::int64_t next = rows;  // the first row of the next batch
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    if (next >= rows) {
      next = 0;
      if (options.shuffle) {
        const auto places = shuffled_rows(rows, forest.options().seed, forest.samples_seen());
        order.clear();
        shares.clear();
        for (const std::int64_t at : places) {
          order.push_back(all.rows[static_cast<std::size_t>(at)]);
          if (!all.shares.empty()) shares.push_back(all.shares[static_cast<std::size_t>(at)]);
        }
      } else if (order.empty()) {
        order = all.rows;
        shares = all.shares;
      }
    }
    const std::int64_t count = std::min(batch, rows - next);
    const auto batch_of = [&](const auto& list) {
      return std::span(list).subspan(static_cast<std::size_t>(next),
                                     static_cast<std::size_t>(count));
    };
    grow(batch_of(order), shares.empty() ? std::span<const double>() : batch_of(shares));
    next += count;
    if (options.after_step && !options.after_step(step)) return;
  }
}

}  // namespace detail

/// A forest that classifies rows of features. It grows row by row: fit() and partial_fit() may be
/// called again and again. Features may be NaN, which fail every test "feature <= threshold", and
/// infinite. Matrices are row-major.
///
/// Weights, (N), are how often a row counts: a row of weight 2 as two rows one after the other, a
/// row of weight 0 not at all. Of a weight of 2.25 each tree draws whether the row counts a third
/// time, with probability 0.25. Error for weights that are negative or not finite.
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
    return fit(x, labels, std::span<const double>(), options);
  }
  RandomForestClassifier& fit(std::span<const float> x, std::span<const std::int32_t> labels,
                              std::span<const double> weights,
                              const ForestFitOptions& options = {}) {
    const detail::RepeatedRows rows(check(x, labels, "fit"), weights, title("fit"));
    detail::fit_forest(forest_, rows, options, title("fit"), [&](auto order, auto shares) {
      forest_.grow(x.data(), labels.data(), order, shares);
    });
    return *this;
  }
  /// Grows by these rows, once and in their order.
  RandomForestClassifier& partial_fit(std::span<const float> x,
                                      std::span<const std::int32_t> labels,
                                      std::span<const double> weights = {}) {
    const detail::RepeatedRows rows(check(x, labels, "partial_fit"), weights, title("partial_fit"));
    forest_.grow(x.data(), labels.data(), rows.rows, rows.shares);
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
  /// The score for the rows' weights.
  ClassificationScore evaluate(std::span<const float> x, std::span<const std::int32_t> labels,
                               std::span<const double> weights = {}) const {
    detail::check_weights(weights, check(x, labels, "evaluate"), title("evaluate"));
    return detail::score_labels(predict_proba(x), classes(), labels, weights);
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
    return fit(x, targets, std::span<const double>(), options);
  }
  RandomForestRegressor& fit(std::span<const float> x, std::span<const float> targets,
                             std::span<const double> weights,
                             const ForestFitOptions& options = {}) {
    const detail::RepeatedRows rows(check(x, targets, "fit"), weights, title("fit"));
    detail::fit_forest(forest_, rows, options, title("fit"), [&](auto order, auto shares) {
      forest_.grow(x.data(), targets.data(), order, shares);
    });
    return *this;
  }
  RandomForestRegressor& partial_fit(std::span<const float> x, std::span<const float> targets,
                                     std::span<const double> weights = {}) {
    const detail::RepeatedRows rows(check(x, targets, "partial_fit"), weights,
                                    title("partial_fit"));
    forest_.grow(x.data(), targets.data(), rows.rows, rows.shares);
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
  RegressionScore evaluate(std::span<const float> x, std::span<const float> targets,
                           std::span<const double> weights = {}) const {
    detail::check_weights(weights, check(x, targets, "evaluate"), title("evaluate"));
    return detail::score_targets(predict(x), targets, outputs(), weights);
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
