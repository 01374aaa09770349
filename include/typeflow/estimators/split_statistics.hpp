// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a growing leaf counts: candidate splits, and the targets of the rows that each would send to
// the left. Source: the statistics of TensorFlow's tensor_forest; extremely randomised trees are
// from Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/core/philox.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How mixed the targets of a node are. Entropies are in nats. Regression has squared_error: the
/// variance, summed over the outputs.
enum class SplitCriterion : std::uint8_t { gini, entropy, squared_error };

/// 1 - sum p(k)^2 for the shares p of the classes; 0 without rows.
inline double gini_impurity(std::span<const double> counts) {
  double total = 0;
  double squares = 0;
  for (const double n : counts) {
    total += n;
    squares += n * n;
  }
  return total > 0 ? 1 - squares / (total * total) : 0;
}

/// - sum p(k) log p(k) for the shares p of the classes, in nats; 0 without rows.
inline double entropy_impurity(std::span<const double> counts) {
  double total = 0;
  double logs = 0;
  for (const double n : counts) {
    total += n;
    if (n > 0) logs += n * std::log(n);
  }
  return total > 0 ? std::max(std::log(total) - logs / total, 0.0) : 0;
}

/// The mean impurity that a split removes, by the counts of all rows and of those on its left; 0 if
/// a side has no row. For squared_error the columns are the number of rows and the sums of each
/// output.
inline double split_gain(SplitCriterion criterion, std::span<const double> total,
                         std::span<const double> left) {
  const std::size_t columns = total.size();
  if (criterion == SplitCriterion::squared_error) {
    const double n = total[0];
    const double n_left = left[0];
    const double n_right = n - n_left;
    if (!(n_left > 0) || !(n_right > 0)) return 0;
    double gain = 0;  // of the means on the two sides, a form without cancellation
    for (std::size_t k = 1; k < columns; ++k) {
      const double apart = left[k] / n_left - (total[k] - left[k]) / n_right;
      gain += apart * apart;
    }
    return gain * (n_left / n) * (n_right / n);
  }
  double n = 0;
  double n_left = 0;
  double squares[3] = {};  // of all rows, left, right; or sums of n log n
  const auto term = [criterion](double x) {
    return criterion == SplitCriterion::gini ? x * x : x > 0 ? x * std::log(x) : 0;
  };
  for (std::size_t k = 0; k < columns; ++k) {
    n += total[k];
    n_left += left[k];
    squares[0] += term(total[k]);
    squares[1] += term(left[k]);
    squares[2] += term(total[k] - left[k]);
  }
  const double n_right = n - n_left;
  if (!(n_left > 0) || !(n_right > 0)) return 0;
  if (criterion == SplitCriterion::gini) {
    return (squares[1] / n_left + squares[2] / n_right - squares[0] / n) / n;
  }
  return (term(n) - term(n_left) - term(n_right) + squares[1] + squares[2] - squares[0]) / n;
}

/// The candidates of a leaf, and what they have counted. For classification a column is a class;
/// for regression column 0 counts rows and the others sum the outputs, less `offset`.
///
/// The first rows, as many as there are candidates but `most_first_rows` at most, are kept until
/// thresholds are drawn from them. Then they are counted, too, so all candidates have seen the same
/// rows.
class SplitStatistics {
 public:
  static constexpr int most_first_rows = 32;

  struct Candidate {
    std::int32_t feature = 0;
    float threshold = std::numeric_limits<float>::quiet_NaN();
  };

  /// `draw` numbers this draw of features under the tree's key. `features`: those to choose from.
  SplitStatistics(int candidates, int columns, bool is_regression, int first_rows,
                  std::uint64_t key, std::uint64_t draw, std::span<const std::int32_t> features)
      : draw_(draw),
        first_rows_(first_rows),
        is_regression_(is_regression),
        candidates_(static_cast<std::size_t>(candidates)),
        total_(static_cast<std::size_t>(columns)) {
    const std::size_t cells = candidates_.size() * total_.size();
    if (is_regression) {
      sums_.resize(cells);
    } else {
      counts_.resize(cells);
    }
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      candidates_[c].feature = features[integer_element(key, draw, c, features.size())];
    }
  }

  int candidates() const { return static_cast<int>(candidates_.size()); }
  const Candidate& candidate(int c) const { return candidates_[static_cast<std::size_t>(c)]; }
  std::uint64_t draw() const { return draw_; }
  /// The number of rows seen.
  std::int64_t rows() const { return rows_; }
  /// Whether the thresholds are drawn.
  bool is_ready() const { return rows_ >= first_rows_; }
  /// Whether two rows of different targets were seen.
  bool is_mixed() const { return is_mixed_; }
  /// The columns of all rows, and of those that a candidate sends to the left.
  std::span<const double> total() const { return total_; }
  std::vector<double> left(int c) const {
    std::vector<double> columns(total_.size());
    left_columns(static_cast<std::size_t>(c), columns.data());
    return columns;
  }
  std::span<const double> offset() const { return offset_; }

  /// Asks the processor for the memory that add() will need, in two steps: the object itself, and
  /// what it points to.
  void prefetch(int label) const {
    constexpr std::size_t line = 64;
    const auto ask = [](const void* first, std::size_t bytes) {
      for (std::size_t at = 0; at < bytes; at += line) {
        __builtin_prefetch(static_cast<const char*>(first) + at);
      }
    };
    ask(candidates_.data(), candidates_.size() * sizeof(Candidate));
    if (is_regression_) return;
    ask(counts_.data() + static_cast<std::size_t>(label) * candidates_.size(),
        candidates_.size() * sizeof(std::uint32_t));
    ask(total_.data() + label, 1);
  }

  /// Counts a row of a class.
  void add(const float* row, int label) {
    const auto y = static_cast<std::size_t>(label);
    is_mixed_ = is_mixed_ || total_[y] != static_cast<double>(rows_);
    total_[y] += 1;
    if (++rows_ > first_rows_) {
      const std::size_t count = candidates_.size();
      const Candidate* const candidates = candidates_.data();
      std::uint32_t* const counts = counts_.data() + y * count;
      for (std::size_t c = 0; c < count; ++c) {
        counts[c] += row[candidates[c].feature] <= candidates[c].threshold ? 1u : 0u;
      }
    } else {
      keep(row);
      first_targets_.push_back(static_cast<double>(label));
      if (is_ready()) start();
    }
  }
  /// Counts a row of outputs.
  void add(const float* row, std::span<const float> outputs) {
    if (offset_.empty()) offset_.assign(outputs.begin(), outputs.end());
    total_[0] += 1;
    double squares = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const double apart = static_cast<double>(outputs[k]) - offset_[k];
      total_[k + 1] += apart;
      squares += apart * apart;
    }
    is_mixed_ = is_mixed_ || squares > 0;
    if (++rows_ > first_rows_) {
      const std::size_t count = candidates_.size();
      for (std::size_t c = 0; c < count; ++c) {
        if (!(row[candidates_[c].feature] <= candidates_[c].threshold)) continue;
        sums_[c] += 1;
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          sums_[(k + 1) * count + c] += static_cast<double>(outputs[k]) - offset_[k];
        }
      }
    } else {
      keep(row);
      for (const float y : outputs) first_targets_.push_back(static_cast<double>(y));
      if (is_ready()) start();
    }
  }

  /// The candidates of the largest and second largest gains, of equal gains the first. Two draws of
  /// one test count as one candidate.
  struct Best {
    int first = -1;  ///< -1: no candidate gains anything
    int second = -1;
    double gain = 0;
    double second_gain = 0;
  };
  Best best(SplitCriterion criterion) const {
    Best found;
    if (!is_ready()) return found;
    std::vector<double> columns(total_.size());
    for (int c = 0; c < candidates(); ++c) {
      left_columns(static_cast<std::size_t>(c), columns.data());
      const double gain = split_gain(criterion, total_, columns);
      if (found.first >= 0 && is_same_test(c, found.first)) continue;
      if (gain > found.gain) {
        found.second = found.first;
        found.second_gain = found.gain;
        found.first = c;
        found.gain = gain;
      } else if (gain > found.second_gain) {
        found.second = c;
        found.second_gain = gain;
      }
    }
    return found;
  }

  /// What files keep: the features follow from the draw.
  struct State {
    std::int64_t rows = 0;
    bool is_mixed = false;
    std::vector<float> thresholds;
    std::vector<std::uint32_t> counts;
    std::vector<double> sums;
    std::vector<double> total;
    std::vector<double> offset;
    std::vector<float> first_values;
    std::vector<double> first_targets;
  };
  State state() const {
    State s{rows_, is_mixed_, {}, counts_, sums_, total_, offset_, first_values_, first_targets_};
    for (const Candidate& candidate : candidates_) s.thresholds.push_back(candidate.threshold);
    return s;
  }
  void restore(State s) {
    rows_ = s.rows;
    is_mixed_ = s.is_mixed;
    for (std::size_t c = 0; c < candidates_.size(); ++c) candidates_[c].threshold = s.thresholds[c];
    counts_ = std::move(s.counts);
    sums_ = std::move(s.sums);
    total_ = std::move(s.total);
    offset_ = std::move(s.offset);
    first_values_ = std::move(s.first_values);
    first_targets_ = std::move(s.first_targets);
  }

 private:
  void left_columns(std::size_t c, double* columns) const {
    const std::size_t count = candidates_.size();
    for (std::size_t k = 0; k < total_.size(); ++k) {
      columns[k] = is_regression_ ? sums_[k * count + c] : counts_[k * count + c];
    }
  }
  bool is_same_test(int a, int b) const {
    return candidate(a).feature == candidate(b).feature &&
           candidate(a).threshold == candidate(b).threshold;
  }
  void keep(const float* row) {
    for (const Candidate& candidate : candidates_) {
      first_values_.push_back(row[candidate.feature]);
    }
  }

  /// Draws the thresholds from the first rows, and counts these rows.
  void start() {
    const std::size_t count = candidates_.size();
    const auto rows = static_cast<std::size_t>(first_rows_);
    for (std::size_t c = 0; c < count; ++c) candidates_[c].threshold = threshold_from(c, rows);
    const std::size_t outputs = offset_.size();
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t c = 0; c < count; ++c) {
        const bool is_left = first_values_[i * count + c] <= candidates_[c].threshold;
        if (!is_regression_) {
          counts_[static_cast<std::size_t>(first_targets_[i]) * count + c] += is_left ? 1u : 0u;
        } else if (is_left) {
          sums_[c] += 1;
          for (std::size_t k = 0; k < outputs; ++k) {
            sums_[(k + 1) * count + c] += first_targets_[i * outputs + k] - offset_[k];
          }
        }
      }
    }
    first_values_ = {};
    first_targets_ = {};
  }
  /// The value of one of the rows, another one for each candidate. It should part the rows: the
  /// first value from there on that is not NaN, and not the largest unless there are NaNs.
  float threshold_from(std::size_t c, std::size_t rows) const {
    const auto value = [&](std::size_t i) { return first_values_[i * candidates_.size() + c]; };
    float most = -std::numeric_limits<float>::infinity();
    bool has_nan = false;
    for (std::size_t i = 0; i < rows; ++i) {
      most = std::max(most, value(i));
      has_nan = has_nan || value(i) != value(i);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const float x = value((c + i) % rows);
      if (x < most || (has_nan && x == x)) return x;
    }
    return value(c % rows);
  }

  std::uint64_t draw_;
  std::int64_t rows_ = 0;
  int first_rows_;
  bool is_regression_;
  bool is_mixed_ = false;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> counts_;  // (classes,candidates), of rows on the left
  std::vector<double> sums_;           // (1+outputs,candidates), the same for regression
  std::vector<double> total_;          // (columns)
  std::vector<double> offset_;         // (outputs), for regression
  std::vector<float> first_values_;    // (rows,candidates), until the thresholds are drawn
  std::vector<double> first_targets_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
