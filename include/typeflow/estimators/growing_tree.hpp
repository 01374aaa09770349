// SPDX-License-Identifier: Apache-2.0
#pragma once

// A tree of a random forest that grows row by row, as in TensorFlow's tensor_forest: a fertile leaf
// counts what its candidate splits would do, and takes the best one when it has seen enough rows.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/estimators/decision_tree.hpp"
#include "typeflow/estimators/split_statistics.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// When a leaf may split before it has seen `split_after_samples` rows: when the best candidate
/// dominates the second best one. By Hoeffding's bound on the difference of their gains
/// (Domingos, Hulten, "Mining high-speed data streams", KDD 2000), or if the best candidate is the
/// better one in enough resamplings of the rows.
enum class Dominance : std::uint8_t { off, hoeffding, bootstrap };

/// How a forest grows. The names in brackets are TensorFlow's, of ForestHParams.
struct RandomForestOptions {
  int trees = 100;                ///< [num_trees]
  int max_nodes = 10000;          ///< of a tree; it bounds the memory
  int split_after_samples = 250;  ///< rows that a leaf sees before it splits
  int splits_to_consider = 0;     ///< candidates of a leaf; 0: sqrt(features), but at least 10
  int max_fertile_nodes = 0;      ///< leaves of a tree that count at a time; 0: half of max_nodes
  int max_depth = 0;              ///< tests on the way to a leaf; 0: no limit
  double bagging_fraction = 1;    ///< the share of the rows that a tree sees
  double feature_bagging_fraction = 1;  ///< the share of the features that a tree uses
  /// For classification gini or entropy; regression always has squared_error.
  SplitCriterion criterion = SplitCriterion::gini;
  Dominance dominance = Dominance::off;  ///< [split_finish_name]
  double dominate_fraction = 0.99;       ///< how sure it must be
  int check_every = 50;                  ///< rows between two such tests
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: one for each core; the results do not depend on it
};

namespace detail {

/// The options of a forest with its sizes, checked and without zeros.
struct ForestPlan {
  int features = 0;
  int outputs = 0;  ///< classes, or outputs of regression
  bool is_regression = false;
  RandomForestOptions options{};

  int columns() const { return is_regression ? outputs + 1 : outputs; }
  int first_rows() const {
    return std::max(1, std::min({options.splits_to_consider, SplitStatistics::most_first_rows,
                                 options.split_after_samples / 2}));
  }
};

TYPEFLOW_COLD inline ForestPlan plan_forest(int features, int outputs, bool is_regression,
                                            RandomForestOptions o, const std::string& name) {
  const auto expect = [&](bool holds, const char* what, auto given) {
    if (!holds) throw Error(name, what, std::to_string(given));
  };
  expect(features >= 1, "at least 1 feature", features);
  if (is_regression) {
    expect(outputs >= 1, "at least 1 output", outputs);
  } else {
    expect(outputs >= 2, "at least 2 classes", outputs);
  }
  expect(o.trees >= 1, "trees >= 1", o.trees);
  expect(o.max_nodes >= 1, "max_nodes >= 1", o.max_nodes);
  expect(o.split_after_samples >= 2, "split_after_samples >= 2", o.split_after_samples);
  expect(o.splits_to_consider >= 0, "splits_to_consider >= 0", o.splits_to_consider);
  expect(o.max_fertile_nodes >= 0, "max_fertile_nodes >= 0", o.max_fertile_nodes);
  expect(o.max_depth >= 0, "max_depth >= 0", o.max_depth);
  expect(o.check_every >= 1, "check_every >= 1", o.check_every);
  expect(o.threads >= 0, "threads >= 0", o.threads);
  expect(o.bagging_fraction > 0 && o.bagging_fraction <= 1, "0 < bagging_fraction <= 1",
         o.bagging_fraction);
  expect(o.feature_bagging_fraction > 0 && o.feature_bagging_fraction <= 1,
         "0 < feature_bagging_fraction <= 1", o.feature_bagging_fraction);
  expect(o.dominate_fraction > 0 && o.dominate_fraction < 1, "0 < dominate_fraction < 1",
         o.dominate_fraction);
  if (is_regression) {
    o.criterion = SplitCriterion::squared_error;
    if (o.dominance != Dominance::off) {
      throw Error(name, "Dominance::off, since bounds need classes", "another dominance");
    }
  } else if (o.criterion == SplitCriterion::squared_error) {
    throw Error(name, "a criterion of classes, gini or entropy", "squared_error");
  }
  if (o.splits_to_consider == 0) {
    o.splits_to_consider = std::max(10, static_cast<int>(std::ceil(std::sqrt(features))));
  }
  if (o.max_fertile_nodes == 0) o.max_fertile_nodes = o.max_nodes / 2 + 1;
  return {features, outputs, is_regression, o};
}

/// One tree of a forest.
class GrowingTree {
 public:
  GrowingTree(const ForestPlan& plan, int number)
      : key_(random_key(plan.options.seed, static_cast<std::uint64_t>(number))),
        tree_(plan.columns()),
        slot_of_(1, no_slot) {
    const auto features = static_cast<std::size_t>(plan.features);
    features_.resize(features);
    std::iota(features_.begin(), features_.end(), 0);
    const double share = plan.options.feature_bagging_fraction * plan.features;
    const auto kept = static_cast<std::size_t>(std::max(1.0, std::floor(share)));
    if (kept >= features) return;
    for (std::size_t i = 0; i < kept; ++i) {
      std::swap(features_[i], features_[i + integer_element(key_, feature_draw, i, features - i)]);
    }
    features_.resize(kept);
    std::sort(features_.begin(), features_.end());
  }

  const DecisionTree& tree() const { return tree_; }
  /// The features that it may use.
  std::span<const std::int32_t> features() const { return features_; }
  /// The number of rows given, those left out by bagging included.
  std::int64_t seen() const { return seen_; }
  int fertile_leaves() const { return static_cast<int>(slots_.size() - free_.size()); }

  /// Grows by rows (count,features) with their labels, or with their targets (count,outputs).
  /// `shares`, (count), are the probabilities that rows count; null: all do.
  void grow(const ForestPlan& plan, const float* rows, std::int64_t count,
            const std::int32_t* labels, const float* targets, const double* shares) {
    constexpr int group = 8;  // rows that wait for memory together
    std::int32_t leaves[group];
    for (std::int64_t first = 0; first < count; first += group) {
      const int here = static_cast<int>(std::min<std::int64_t>(group, count - first));
      const float* const x = rows + first * plan.features;
      tree_.leaves_of(x, plan.features, here, leaves);
      for (int i = 0; i < here; ++i) {
        const std::int32_t slot = slot_of_[static_cast<std::size_t>(leaves[i])];
        if (slot != no_slot) __builtin_prefetch(slots_[static_cast<std::size_t>(slot)].get());
      }
      for (int i = 0; i < here; ++i) {
        const std::int32_t slot = slot_of_[static_cast<std::size_t>(leaves[i])];
        if (slot == no_slot) continue;
        slots_[static_cast<std::size_t>(slot)]->prefetch(labels == nullptr ? 0 : labels[first + i]);
      }
      for (int i = 0; i < here; ++i) {
        const std::int64_t number = seen_++;
        if (plan.options.bagging_fraction < 1 &&
            uniform_element<double>(key_, bagging_draw, static_cast<std::uint64_t>(number)) >=
                plan.options.bagging_fraction) {
          continue;
        }
        if (shares != nullptr && shares[first + i] < 1 &&
            uniform_element<double>(key_, share_draw, static_cast<std::uint64_t>(number)) >=
                shares[first + i]) {
          continue;
        }
        const float* const row = x + std::int64_t{i} * plan.features;
        // A row before this one may have split the leaf.
        const int leaf = tree_.leaf_of(row, leaves[i]);
        if (plan.is_regression) {
          const auto outputs = static_cast<std::size_t>(plan.outputs);
          add(plan, leaf, row, 0, std::span(targets + (first + i) * plan.outputs, outputs));
        } else {
          add(plan, leaf, row, labels[first + i], {});
        }
      }
    }
  }

  /// What files keep of a tree's growth.
  struct Leaf {
    std::int32_t node = 0;
    std::uint64_t draw = 0;
    SplitStatistics::State statistics;
  };
  struct State {
    std::int64_t seen = 0;
    std::uint64_t draws = 0;
    std::vector<Leaf> leaves;
  };
  State state() const {
    State s{seen_, draws_, {}};
    for (std::size_t node = 0; node < slot_of_.size(); ++node) {
      if (slot_of_[node] == no_slot) continue;
      const SplitStatistics& statistics = *slots_[static_cast<std::size_t>(slot_of_[node])];
      s.leaves.push_back({static_cast<std::int32_t>(node), statistics.draw(), statistics.state()});
    }
    return s;
  }
  void restore(const ForestPlan& plan, DecisionTree tree, State s) {
    tree_ = std::move(tree);
    seen_ = s.seen;
    draws_ = s.draws;
    slot_of_.assign(static_cast<std::size_t>(tree_.size()), no_slot);
    slots_.clear();
    free_.clear();
    for (Leaf& leaf : s.leaves) {
      slot_of_[static_cast<std::size_t>(leaf.node)] = static_cast<std::int32_t>(slots_.size());
      slots_.push_back(std::make_unique<SplitStatistics>(
          plan.options.splits_to_consider, plan.columns(), plan.is_regression, plan.first_rows(),
          key_, leaf.draw, features_));
      slots_.back()->restore(std::move(leaf.statistics));
    }
  }

 private:
  static constexpr std::int32_t no_slot = -1;
  // Draws under the tree's key; those of candidates are counted from 3 on.
  static constexpr std::uint64_t bagging_draw = 0;
  static constexpr std::uint64_t feature_draw = 1;
  static constexpr std::uint64_t share_draw = 2;
  static constexpr std::uint64_t first_draw = 3;

  void add(const ForestPlan& plan, int leaf, const float* row, std::int32_t label,
           std::span<const float> outputs) {
    const auto value = tree_.value(leaf);
    if (plan.is_regression) {
      value[0] += 1;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        value[k + 1] += static_cast<double>(outputs[k]);
      }
    } else {
      value[static_cast<std::size_t>(label)] += 1;
    }
    if (tree_.size() + 2 > plan.options.max_nodes) return;
    std::int32_t slot = slot_of_[static_cast<std::size_t>(leaf)];
    if (slot == no_slot) {
      slot = open(plan, leaf, row);
      if (slot == no_slot) return;
    }
    SplitStatistics& statistics = *slots_[static_cast<std::size_t>(slot)];
    if (plan.is_regression) {
      statistics.add(row, outputs);
    } else {
      statistics.add(row, label);
    }
    if (is_finished(plan, statistics)) finish(plan, leaf, slot);
  }

  /// Lets a leaf count, if it should and may. Rows of a single class need no split, so such a leaf
  /// costs nothing.
  std::int32_t open(const ForestPlan& plan, int leaf, const float* row) {
    const auto value = std::as_const(tree_).value(leaf);
    if (!plan.is_regression &&
        std::count_if(value.begin(), value.end(), [](double n) { return n > 0; }) < 2) {
      return no_slot;
    }
    if (plan.options.max_depth > 0 && tree_.depth_of(row) >= plan.options.max_depth) return no_slot;
    std::int32_t slot = no_slot;
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else if (static_cast<int>(slots_.size()) < plan.options.max_fertile_nodes) {
      slot = static_cast<std::int32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      return no_slot;
    }
    slots_[static_cast<std::size_t>(slot)] = std::make_unique<SplitStatistics>(
        plan.options.splits_to_consider, plan.columns(), plan.is_regression, plan.first_rows(),
        key_, first_draw + draws_++, features_);
    slot_of_[static_cast<std::size_t>(leaf)] = slot;
    return slot;
  }
  void close(int leaf, std::int32_t slot) {
    slots_[static_cast<std::size_t>(slot)].reset();
    slot_of_[static_cast<std::size_t>(leaf)] = no_slot;
    free_.push_back(slot);
  }

  bool is_finished(const ForestPlan& plan, const SplitStatistics& s) const {
    const RandomForestOptions& o = plan.options;
    if (s.rows() >= o.split_after_samples) return true;
    if (o.dominance == Dominance::off || s.rows() % o.check_every != 0 || !s.is_mixed() ||
        !s.is_ready()) {
      return false;
    }
    return o.dominance == Dominance::hoeffding ? dominates_by_bound(plan, s)
                                               : dominates_by_resampling(plan, s);
  }
  static bool dominates_by_bound(const ForestPlan& plan, const SplitStatistics& s) {
    const SplitStatistics::Best best = s.best(plan.options.criterion);
    if (best.second < 0) return false;
    const double range = plan.options.criterion == SplitCriterion::gini
                             ? 1 - 1.0 / plan.outputs
                             : std::log(static_cast<double>(plan.outputs));
    const double bound = range * std::sqrt(-std::log(1 - plan.options.dominate_fraction) /
                                           (2 * static_cast<double>(s.rows())));
    return best.gain - best.second_gain > bound;
  }
  /// Draws rows anew, by the counts of the two best candidates, and compares their gains. The best
  /// one must win in the share `dominate_fraction` of 1 / (1 - dominate_fraction) trials.
  bool dominates_by_resampling(const ForestPlan& plan, const SplitStatistics& s) const {
    const SplitStatistics::Best best = s.best(plan.options.criterion);
    if (best.second < 0) return false;
    const double fraction = plan.options.dominate_fraction;
    const int trials = std::clamp(static_cast<int>(std::ceil(1 / (1 - fraction))), 1, 1000);
    ElementStream random(random_key(key_, s.draw()), static_cast<std::uint64_t>(s.rows()), 0);
    int won = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const double first = resampled_gain(plan, s, best.first, random);
      const double second = resampled_gain(plan, s, best.second, random);
      won += first > second ? 1 : 0;
    }
    return won >= fraction * trials;
  }
  static double resampled_gain(const ForestPlan& plan, const SplitStatistics& s, int candidate,
                               ElementStream& random) {
    const std::vector<double> left = s.left(candidate);
    const std::size_t classes = left.size();
    std::vector<double> sums;  // running sums over the cells: classes on the left, then right
    double sum = 0;
    for (std::size_t i = 0; i < 2 * classes; ++i) {
      sum += i < classes ? left[i] : s.total()[i - classes] - left[i - classes];
      sums.push_back(sum);
    }
    std::vector<double> new_left(classes);
    std::vector<double> new_total(classes);
    for (std::int64_t i = 0; i < s.rows(); ++i) {
      const double at = random.next() * sum;
      const auto cell = std::min(
          static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), at) - sums.begin()),
          2 * classes - 1);
      new_total[cell % classes] += 1;
      if (cell < classes) new_left[cell] += 1;
    }
    return split_gain(plan.options.criterion, new_total, new_left);
  }

  /// Splits a leaf by its best candidate. Without one, it draws other candidates at its next row.
  void finish(const ForestPlan& plan, int leaf, std::int32_t slot) {
    const SplitStatistics& s = *slots_[static_cast<std::size_t>(slot)];
    const SplitStatistics::Best best = s.best(plan.options.criterion);
    if (best.first >= 0) {
      const std::vector<double> left = s.left(best.first);
      const int child =
          tree_.split(leaf, s.candidate(best.first).feature, s.candidate(best.first).threshold);
      slot_of_.resize(static_cast<std::size_t>(tree_.size()), no_slot);
      const auto to_left = tree_.value(child);
      const auto to_right = tree_.value(child + 1);
      for (std::size_t k = 0; k < left.size(); ++k) {
        to_left[k] = left[k];
        to_right[k] = s.total()[k] - left[k];
      }
      for (std::size_t k = 0; k < s.offset().size(); ++k) {  // sums were less the offset
        to_left[k + 1] += s.offset()[k] * to_left[0];
        to_right[k + 1] += s.offset()[k] * to_right[0];
      }
    }
    close(leaf, slot);
    if (tree_.size() + 2 <= plan.options.max_nodes) return;
    slots_.clear();  // the tree is full
    free_.clear();
    std::fill(slot_of_.begin(), slot_of_.end(), no_slot);
  }

  std::uint64_t key_;
  DecisionTree tree_;  // values: counts of classes; or the number of rows and sums of outputs
  std::vector<std::int32_t> features_;
  std::vector<std::int32_t> slot_of_;  // a node's place in slots_, or no_slot
  std::vector<std::unique_ptr<SplitStatistics>> slots_;
  std::vector<std::int32_t> free_;
  std::int64_t seen_ = 0;
  std::uint64_t draws_ = 0;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
