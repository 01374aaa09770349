// SPDX-License-Identifier: Apache-2.0
#pragma once

// A regression tree that takes the best split of all, by histograms of gradients. The larger child
// of a node gets its histogram as the difference of the node's and the smaller child's. Source: Ke
// et al., "LightGBM", NIPS 2017.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/estimators/binned_features.hpp"
#include "typeflow/estimators/decision_tree.hpp"
#include "typeflow/estimators/forest.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The gain by which gradient boosting chooses a split.
enum class SplitGain : std::uint8_t {
  variance,  ///< of the gradients: Friedman's, and scikit-learn's GradientBoosting
  newton,    ///< of the loss, to second order: XGBoost, scikit-learn's HistGradientBoosting
};

namespace detail {

struct BoostedTreeOptions {
  int max_depth = 3;
  int min_samples_leaf = 1;
  SplitGain gain = SplitGain::variance;
  double l2 = 0;
};

/// Grows trees on the same rows.
class BoostedTreeGrower {
 public:
  BoostedTreeGrower(const BinnedFeatures& features, const BoostedTreeOptions& options,
                    const TreeThreads& threads)
      : features_(features), options_(options), threads_(threads) {}

  /// A tree for the negative gradients and the second derivatives of all rows, by the `rows` given.
  /// A leaf's value is factor * sum(gradient) / (sum(hessian) + l2). rows_of_leaf(node, rows) is
  /// called for each leaf. Gradients and second derivatives are those of weighted losses; the
  /// weights are for gains by variances. Null: ones.
  template <class F>
  DecisionTree grow(std::vector<std::uint32_t>& rows, const double* gradients,
                    const double* hessians, const double* weights, double factor,
                    const F& rows_of_leaf) {
    rows_ = std::span(rows);
    gain_weights_ = options_.gain == SplitGain::newton ? hessians : weights;
    gradients_ = gradients;
    hessians_ = hessians;
    factor_ = factor;
    DecisionTree tree(1);
    Histogram histogram;
    if (can_split(rows.size(), 0)) histogram = histogram_of(0, rows.size());
    grow_node(tree, 0, 0, 0, rows.size(), std::move(histogram), rows_of_leaf);
    return tree;
  }

 private:
  struct Bin {
    double gradient = 0;
    double hessian = 0;  ///< the sum of the weights if the gain is of variances
    double rows = 0;
  };
  using Histogram = std::vector<Bin>;  // of all features
  struct Split {
    double gain = 0;
    std::size_t feature = 0;
    std::size_t bin = 0;
    std::size_t next = 0;  ///< the next bin that has rows
    bool is_found = false;
  };

  bool can_split(std::size_t rows, int depth) const {
    return depth < options_.max_depth &&
           rows >= 2 * static_cast<std::size_t>(options_.min_samples_leaf);
  }

  /// A thread costs more than some thousand additions do.
  std::int64_t grain(std::size_t cost) const {
    return static_cast<std::int64_t>(
        std::max<std::size_t>(1, 20000 / std::max<std::size_t>(cost, 1)));
  }

  Histogram histogram_of(std::size_t begin, std::size_t end) const {
    Histogram histogram(features_.all_bins());
    const std::size_t count = end - begin;
    // The rows' numbers side by side, so that features read them in order.
    std::vector<double> gradients(count);
    std::vector<double> hessians(gain_weights_ != nullptr ? count : 0);
    for (std::size_t i = 0; i < count; ++i) gradients[i] = gradients_[rows_[begin + i]];
    for (std::size_t i = 0; i < hessians.size(); ++i) hessians[i] = gain_weights_[rows_[begin + i]];
    const auto last = static_cast<std::int64_t>(features_.features());
    threads_.each(last, grain(count), [&](std::int64_t first, std::int64_t behind) {
      for (auto f = static_cast<std::size_t>(first); f < static_cast<std::size_t>(behind); ++f) {
        const std::uint8_t* const column = features_.column(f);
        Bin* const bins = histogram.data() + features_.offset(f);
        if (hessians.empty()) {
          for (std::size_t i = 0; i < count; ++i) {
            Bin& bin = bins[column[rows_[begin + i]]];
            bin.gradient += gradients[i];
            bin.rows += 1;
          }
        } else {
          for (std::size_t i = 0; i < count; ++i) {
            Bin& bin = bins[column[rows_[begin + i]]];
            bin.gradient += gradients[i];
            bin.hessian += hessians[i];
            bin.rows += 1;
          }
        }
      }
    });
    return histogram;
  }

  double score(double gradient, const Bin& sums) const {
    const double weight = (gain_weights_ != nullptr ? sums.hessian : sums.rows) + options_.l2;
    return weight > 0 ? gradient * gradient / weight : 0;
  }

  /// The best split of a feature; of equal ones the first.
  Split best_of(const Histogram& histogram, std::size_t feature) const {
    const Bin* const bins = histogram.data() + features_.offset(feature);
    const std::size_t count = features_.bins_of(feature);
    Bin total;
    for (std::size_t b = 0; b < count; ++b) add(total, bins[b]);
    const auto least = static_cast<double>(options_.min_samples_leaf);
    const double whole = score(total.gradient, total);
    Split best;
    Bin left;
    for (std::size_t b = 0; b + 1 < count; ++b) {
      add(left, bins[b]);
      const Bin right{total.gradient - left.gradient, total.hessian - left.hessian,
                      total.rows - left.rows};
      if (left.rows < least || bins[b].rows == 0) continue;
      if (right.rows < least) break;
      const double both = score(left.gradient, left) + score(right.gradient, right);
      // What rounding alone may give is no gain.
      if (both - whole <= std::max(best.gain, 1e-12 * both)) continue;
      std::size_t next = b + 1;
      while (bins[next].rows == 0) ++next;
      best = {both - whole, feature, b, next, true};
    }
    return best;
  }
  static void add(Bin& to, const Bin& bin) {
    to.gradient += bin.gradient;
    to.hessian += bin.hessian;
    to.rows += bin.rows;
  }
  Split best_split(const Histogram& histogram) const {
    std::vector<Split> best(features_.features());
    threads_.each(
        static_cast<std::int64_t>(best.size()), 200, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t f = begin; f < end; ++f) {
            best[static_cast<std::size_t>(f)] = best_of(histogram, static_cast<std::size_t>(f));
          }
        });
    Split found;
    for (const Split& split : best) {
      if (split.is_found && split.gain > found.gain) found = split;
    }
    return found;
  }

  template <class F>
  void grow_node(DecisionTree& tree, int node, int depth, std::size_t begin, std::size_t end,
                 Histogram histogram, const F& rows_of_leaf) {
    Split split;
    if (!histogram.empty()) split = best_split(histogram);
    if (!split.is_found) {
      const std::span<const std::uint32_t> rows = rows_.subspan(begin, end - begin);
      tree.value(node)[0] = leaf_value(rows);
      rows_of_leaf(tree.value(node)[0], rows);
      return;
    }
    const std::size_t middle = partition(split, begin, end);
    const int left = tree.split(node, static_cast<int>(split.feature),
                                features_.threshold(split.feature, split.bin, split.next));
    const bool small_left = middle - begin <= end - middle;
    const bool goes_on[2] = {can_split(middle - begin, depth + 1),
                             can_split(end - middle, depth + 1)};
    Histogram smaller;
    if (goes_on[0] || goes_on[1]) {
      smaller = small_left ? histogram_of(begin, middle) : histogram_of(middle, end);
      for (std::size_t i = 0; i < smaller.size(); ++i) {
        histogram[i].gradient -= smaller[i].gradient;
        histogram[i].hessian -= smaller[i].hessian;
        histogram[i].rows -= smaller[i].rows;
      }
    }
    Histogram of_left = small_left ? std::move(smaller) : std::move(histogram);
    Histogram of_right = small_left ? std::move(histogram) : std::move(smaller);
    if (!goes_on[0]) of_left = {};
    if (!goes_on[1]) of_right = {};
    grow_node(tree, left, depth + 1, begin, middle, std::move(of_left), rows_of_leaf);
    grow_node(tree, left + 1, depth + 1, middle, end, std::move(of_right), rows_of_leaf);
  }

  /// Moves the rows of the left child to the front; both children keep the order. Returns where the
  /// right child begins.
  std::size_t partition(const Split& split, std::size_t begin, std::size_t end) {
    const std::uint8_t* const column = features_.column(split.feature);
    right_.resize(end - begin);
    std::size_t left = begin;
    std::size_t right = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t row = rows_[i];
      const bool goes_left = column[row] <= split.bin;
      rows_[left] = row;  // stays if the row goes to the left
      right_[right] = row;
      left += goes_left ? 1 : 0;
      right += goes_left ? 0 : 1;
    }
    std::copy_n(right_.begin(), right, rows_.begin() + static_cast<std::ptrdiff_t>(left));
    return left;
  }

  double leaf_value(std::span<const std::uint32_t> rows) const {
    double gradient = 0;
    double hessian = options_.l2;
    for (const std::uint32_t row : rows) {
      gradient += gradients_[row];
      hessian += hessians_ == nullptr ? 1 : hessians_[row];
    }
    return std::abs(hessian) < 1e-150 ? 0 : factor_ * (gradient / hessian);
  }

  const BinnedFeatures& features_;
  BoostedTreeOptions options_;
  const TreeThreads& threads_;
  std::span<std::uint32_t> rows_;     // those of a node stand together
  std::vector<std::uint32_t> right_;  // memory of partition()
  const double* gradients_ = nullptr;
  const double* hessians_ = nullptr;  // null: ones
  const double* gain_weights_ = nullptr;
  double factor_ = 1;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
