// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradient boosted trees: GradientBoostingClassifier and GradientBoostingRegressor. Needs what
// saving.hpp needs.
//
//   tf::GradientBoostingRegressor model(8, {.rounds = 200, .max_depth = 4});
//   model.fit(houses, prices);                    // (N,8) floats, (N) floats
//   const double r2 = model.evaluate(others, their_prices).r2;

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/boosting.hpp"
#include "typeflow/estimators/sample_weights.hpp"
#include "typeflow/estimators/tree_estimator.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// What both estimators of boosted trees have. Targets are labels or numbers.
template <class Target, bool IsRegression>
class BoostedEstimator {
 public:
  int features() const { return boosting_.features(); }
  /// The rounds that were boosted.
  int rounds() const { return boosting_.rounds(); }
  /// The trees, those of a round side by side.
  std::span<const DecisionTree> trees() const { return boosting_.trees(); }

  /// Boosts on these rows until there are as many rounds as the options say.
  void fit(std::span<const float> x, std::span<const Target> targets,
           const AfterRound& after_round = {}) {
    fit(x, targets, std::span<const double>(), after_round);
  }
  /// The same with weights, (N): a loss counts as many times. Rows of weight 0 are left out. Error
  /// for weights that are negative or not finite.
  void fit(std::span<const float> x, std::span<const Target> targets,
           std::span<const double> weights, const AfterRound& after_round = {}) {
    boost(x, targets, weights, std::max(boosting_.options().rounds - rounds(), 0), after_round,
          "fit");
  }
  /// Adds rounds, on these rows.
  void partial_fit(std::span<const float> x, std::span<const Target> targets, int rounds = 1,
                   const AfterRound& after_round = {}) {
    partial_fit(x, targets, std::span<const double>(), rounds, after_round);
  }
  void partial_fit(std::span<const float> x, std::span<const Target> targets,
                   std::span<const double> weights, int rounds = 1,
                   const AfterRound& after_round = {}) {
    if (rounds < 0) throw Error(title("partial_fit"), "rounds >= 0", std::to_string(rounds));
    boost(x, targets, weights, rounds, after_round, "partial_fit");
  }
  /// Saves the trees as a safetensors file, which is replaced as a whole.
  void save(const std::string& path) const { boosting_.save(path, name()); }
  /// Goes on from a file of save(), if it exists: the same rows then give the same bits as without
  /// the interruption. Error if it is damaged, or of other sizes. The options stay; those of the
  /// file do not count.
  bool resume(const std::string& path) {
    if (!std::filesystem::exists(path)) return false;
    boosting_.take_trees_of(
        Boosting::from_file(path, name(), IsRegression, boosting_.options().threads), path);
    return true;
  }

 protected:
  explicit BoostedEstimator(Boosting boosting) : boosting_(std::move(boosting)) {}

  static std::string name() {
    return IsRegression ? "GradientBoostingRegressor" : "GradientBoostingClassifier";
  }
  static std::string title(const char* call) { return name() + "." + call; }
  std::int64_t check(std::span<const float> x, std::span<const Target> targets,
                     const char* call) const {
    const std::int64_t rows = rows_of(x, features(), title(call));
    if constexpr (IsRegression) {
      check_targets(targets, rows, 1, title(call));
    } else {
      check_labels(targets, rows, boosting_.outputs(), title(call));
    }
    return rows;
  }
  void check_trained(std::span<const float> x, const char* call) const {
    rows_of(x, features(), title(call));
    if (!boosting_.is_trained()) {
      throw Error(title(call), "a model that has seen rows", "a new one; call fit() first");
    }
  }

  Boosting boosting_;

 private:
  void boost(std::span<const float> x, std::span<const Target> targets,
             std::span<const double> weights, int rounds, const AfterRound& after_round,
             const char* call) {
    const std::int64_t rows = check(x, targets, call);
    check_weights(weights, rows, title(call));
    if (rows == 0) throw Error(title(call), "at least 1 row", "0");
    if (rows > std::int64_t{1} << 31) {
      throw Error(title(call), "at most 2^31 rows", std::to_string(rows));
    }
    const std::vector<double> numbers(targets.begin(), targets.end());
    if (std::find(weights.begin(), weights.end(), 0.0) == weights.end()) {
      boosting_.boost(x, numbers, weights, rounds, after_round);
      return;
    }
    // Without the rows of weight 0, which have no part in the bins of features either.
    std::vector<float> some;
    std::vector<double> their_numbers;
    std::vector<double> their_weights;
    const auto columns = static_cast<std::size_t>(features());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      const auto row = x.subspan(i * columns, columns);
      some.insert(some.end(), row.begin(), row.end());
      their_numbers.push_back(numbers[i]);
      their_weights.push_back(weights[i]);
    }
    if (some.empty()) throw Error(title(call), "at least 1 row of a weight above 0", "0");
    boosting_.boost(some, their_numbers, their_weights, rounds, after_round);
  }
};

}  // namespace detail

/// Boosted trees that classify: by the logistic loss for two classes, by softmax for more. Features
/// may be NaN, which fail every test "feature <= threshold", and infinite.
class GradientBoostingClassifier : public detail::BoostedEstimator<std::int32_t, false> {
 public:
  /// Error if a size or an option is out of range.
  GradientBoostingClassifier(int features, int classes, const GradientBoostingOptions& options = {})
      : BoostedEstimator(detail::Boosting(
            features, classes, detail::Boosting::loss_of(classes, false), options, name())) {}
  /// The model of a file of save(). Error if it can't be read, is damaged or is of another kind.
  static GradientBoostingClassifier from_file(const std::string& path, int threads = 0) {
    return GradientBoostingClassifier(detail::Boosting::from_file(path, name(), false, threads));
  }

  int classes() const { return boosting_.outputs(); }
  /// (N,features) -> (N,classes)
  std::vector<float> predict_proba(std::span<const float> x) const {
    check_trained(x, "predict");
    return boosting_.estimates(x);
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

 private:
  explicit GradientBoostingClassifier(detail::Boosting boosting)
      : BoostedEstimator(std::move(boosting)) {}
};

/// Boosted trees that estimate a number, by the squared loss.
class GradientBoostingRegressor : public detail::BoostedEstimator<float, true> {
 public:
  explicit GradientBoostingRegressor(int features, const GradientBoostingOptions& options = {})
      : BoostedEstimator(
            detail::Boosting(features, 1, detail::BoostingLoss::squared, options, name())) {}
  static GradientBoostingRegressor from_file(const std::string& path, int threads = 0) {
    return GradientBoostingRegressor(detail::Boosting::from_file(path, name(), true, threads));
  }

  /// (N,features) -> (N)
  std::vector<float> predict(std::span<const float> x) const {
    check_trained(x, "predict");
    return boosting_.estimates(x);
  }
  RegressionScore evaluate(std::span<const float> x, std::span<const float> targets,
                           std::span<const double> weights = {}) const {
    detail::check_weights(weights, check(x, targets, "evaluate"), title("evaluate"));
    return detail::score_targets(predict(x), targets, 1, weights);
  }

 private:
  explicit GradientBoostingRegressor(detail::Boosting boosting)
      : BoostedEstimator(std::move(boosting)) {}
};

}  // namespace typeflow::inline TYPEFLOW_ISA
