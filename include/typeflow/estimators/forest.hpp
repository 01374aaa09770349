// SPDX-License-Identifier: Apache-2.0
#pragma once

// Many growing trees: what the estimators of random_forest.hpp and the operations of
// forest_operations.hpp have in common.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/estimators/growing_tree.hpp"
#include "typeflow/estimators/tree_state.hpp"
#include "typeflow/runtime/threads.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Threads for loops over trees and rows; none for one thread.
class TreeThreads {
 public:
  /// 0: one for each core.
  explicit TreeThreads(int threads) {
    const int count = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
    if (count > 1) pool_ = std::make_unique<ThreadPool>(count);
  }

  /// Calls f(begin, end) for parts of [0, count) of at least `grain` elements.
  template <class F>
  void each(std::int64_t count, std::int64_t grain, const F& f) const {
    KernelCall call{};
    call.stream = pool_ == nullptr ? nullptr : pool_->executor();
    cpu_kernels::parallel(call, count, grain,
                          [&](std::int64_t begin, std::int64_t end) { f(begin, end); });
  }

 private:
  std::unique_ptr<ThreadPool> pool_;
};

/// The number of rows of a matrix. Error if it is no whole number.
inline std::int64_t rows_of(std::span<const float> x, int features, const std::string& name) {
  const auto size = static_cast<std::int64_t>(x.size());
  if (size % features != 0) {
    throw Error(name, "rows of " + std::to_string(features) + " features",
                std::to_string(size) + " numbers");
  }
  return size / features;
}

inline void check_labels(std::span<const std::int32_t> labels, std::int64_t rows, int classes,
                         const std::string& name) {
  if (static_cast<std::int64_t>(labels.size()) != rows) {
    throw Error(name, std::to_string(rows) + " labels, one for each row",
                std::to_string(labels.size()));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw Error(name, "labels from 0 to " + std::to_string(classes - 1),
                  std::to_string(labels[i]) + " in row " + std::to_string(i));
    }
  }
}

inline void check_targets(std::span<const float> targets, std::int64_t rows, int outputs,
                          const std::string& name) {
  if (static_cast<std::int64_t>(targets.size()) != rows * outputs) {
    throw Error(
        name,
        std::to_string(rows * outputs) + " targets, " + std::to_string(outputs) + " for each row",
        std::to_string(targets.size()));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!std::isfinite(targets[i])) {
      throw Error(name, "finite targets",
                  std::to_string(targets[i]) + " in row " +
                      std::to_string(i / static_cast<std::size_t>(outputs)));
    }
  }
}

/// The rows in a random order, which depends on the seed and the draw.
inline std::vector<std::int64_t> shuffled_rows(std::int64_t rows, std::uint64_t seed,
                                               std::int64_t draw) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::uint64_t key = random_key(seed, 0x73687566666c65u);  // apart from the trees' keys
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[integer_element(key, static_cast<std::uint64_t>(draw), i, i)]);
  }
  return order;
}

}  // namespace detail

/// A forest that grows. It keeps no rows: only counts, in memory that max_nodes and
/// max_fertile_nodes bound. Each tree depends on the seed, its number and the rows in their order,
/// but neither on the number of threads nor on how the rows are divided into batches.
///
/// Thread safety: predictions may run at the same time as each other; growth waits for them.
class Forest {
 public:
  static constexpr std::string_view name = "Forest";

  /// A forest without trees, which configure() makes.
  Forest() = default;

  /// Makes the trees: single leaves. If there are trees, the sizes and the seed must be the same.
  /// Error, beginning with `by`, if an option is out of range or another forest is there.
  void configure(int features, int outputs, bool is_regression, const RandomForestOptions& options,
                 const std::string& by) {
    const std::unique_lock lock(mutex_);
    if (trees_.empty()) {
      make(detail::plan_forest(features, outputs, is_regression, options, by));
      return;
    }
    const auto same = [&](const char* what, std::int64_t there, std::int64_t given) {
      if (there != given) {
        throw Error(by, what + (" " + std::to_string(there)) + ", as the forest was made with",
                    std::to_string(given));
      }
    };
    same("features", plan_.features, features);
    same(is_regression ? "outputs" : "classes", plan_.outputs, outputs);
    same("regression", plan_.is_regression ? 1 : 0, is_regression ? 1 : 0);
    same("trees", plan_.options.trees, options.trees);
    same("max_nodes", plan_.options.max_nodes, options.max_nodes);
  }

  int features() const { return plan_.features; }
  /// Classes, or outputs of regression.
  int outputs() const { return plan_.outputs; }
  bool is_regression() const { return plan_.is_regression; }
  /// The options, with the numbers that stand for 0.
  const RandomForestOptions& options() const { return plan_.options; }
  int size() const { return static_cast<int>(trees_.size()); }
  const DecisionTree& tree(int i) const { return trees_[static_cast<std::size_t>(i)].tree(); }
  /// The features that a tree may use.
  std::span<const std::int32_t> features_of(int tree) const {
    return trees_[static_cast<std::size_t>(tree)].features();
  }
  /// The number of leaves of a tree that count candidates now.
  int fertile_leaves(int tree) const {
    return trees_[static_cast<std::size_t>(tree)].fertile_leaves();
  }
  /// The number of rows given so far.
  std::int64_t samples_seen() const { return trees_.empty() ? 0 : trees_[0].seen(); }

  /// Grows by rows `order` of a matrix (N,features), with the labels (N) of all rows. `shares`, of
  /// the rows in this order, are the probabilities with which each tree takes them; none: all 1.
  /// Arguments are not checked.
  void grow(const float* x, const std::int32_t* labels, std::span<const std::int64_t> order,
            std::span<const double> shares = {}) {
    grow_blocks(x, labels, nullptr, order, shares);
  }
  /// The same with targets (N,outputs).
  void grow(const float* x, const float* targets, std::span<const std::int64_t> order,
            std::span<const double> shares = {}) {
    grow_blocks(x, nullptr, targets, order, shares);
  }

  /// The mean of the trees for each row: probabilities of the classes, or outputs.
  /// (rows,features) -> (rows,outputs)
  void infer(const float* x, std::int64_t rows, float* results) const {
    const std::shared_lock lock(mutex_);
    constexpr std::int64_t block = 64;
    threads_->each((rows + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> sums(static_cast<std::size_t>(block * plan_.outputs));
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t first = b * block;
        const auto count = static_cast<int>(std::min(block, rows - first));
        infer_block(x + first * plan_.features, count, sums.data());
        for (std::int64_t i = 0; i < std::int64_t{count} * plan_.outputs; ++i) {
          results[first * plan_.outputs + i] =
              static_cast<float>(sums[static_cast<std::size_t>(i)]);
        }
      }
    });
  }

  /// Saves trees and counts. Growth goes on from them as if it had not stopped.
  void save(const std::string& path) const {
    const std::shared_lock lock(mutex_);
    if (trees_.empty()) throw Error(path, "a forest with trees", "one without");
    const RandomForestOptions& o = plan_.options;
    detail::TreeWriter w;
    w.put<std::int64_t>(
        "options", {plan_.features, plan_.outputs, o.trees, o.max_nodes, o.split_after_samples,
                    o.splits_to_consider, o.max_fertile_nodes, o.max_depth, o.check_every,
                    static_cast<std::int64_t>(o.criterion), static_cast<std::int64_t>(o.dominance),
                    static_cast<std::int64_t>(o.seed)});
    w.put<double>("fractions",
                  {o.bagging_fraction, o.feature_bagging_fraction, o.dominate_fraction});
    detail::put_trees(w, trees_.size(),
                      [&](std::size_t i) -> const DecisionTree& { return trees_[i].tree(); });
    put_growth(w);
    w.save(path, kind_of(plan_.is_regression));
  }
  /// Replaces this forest by that of a file. Error, and no change, if the file is damaged or of
  /// another kind.
  void load(const std::string& path, bool is_regression, int threads = 0) {
    const detail::TreeReader r(path, kind_of(is_regression));
    const auto o = r.take<std::int64_t>("options", 12);
    const auto fractions = r.take<double>("fractions", 3);
    const auto number = [&](std::size_t i) {
      if (o[i] < 0 || o[i] > 1 << 30) {
        throw Error(path + ": list 'options'", "numbers from 0 to 2^30", std::to_string(o[i]));
      }
      return static_cast<int>(o[i]);
    };
    RandomForestOptions options;
    options.trees = number(2);
    options.max_nodes = number(3);
    options.split_after_samples = number(4);
    options.splits_to_consider = number(5);
    options.max_fertile_nodes = number(6);
    options.max_depth = number(7);
    options.check_every = number(8);
    if (number(9) > 2 || number(10) > 2) {
      throw Error(path + ": list 'options'", "a criterion and a dominance from 0 to 2",
                  std::to_string(number(9)) + " and " + std::to_string(number(10)));
    }
    options.criterion = static_cast<SplitCriterion>(number(9));
    options.dominance = static_cast<Dominance>(number(10));
    if (number(0) > 1 << 24) {
      throw Error(path + ": list 'options'", "at most 2^24 features", std::to_string(o[0]));
    }
    options.seed = static_cast<std::uint64_t>(o[11]);
    options.bagging_fraction = fractions[0];
    options.feature_bagging_fraction = fractions[1];
    options.dominate_fraction = fractions[2];
    options.threads = threads;
    const detail::ForestPlan plan =
        detail::plan_forest(number(0), number(1), is_regression, options, path);
    std::vector<DecisionTree> trees =
        detail::take_trees(r, options.trees, plan.features, plan.columns());
    std::vector<detail::GrowingTree::State> states = take_growth(r, plan, trees);
    const std::unique_lock lock(mutex_);
    make(plan);
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      trees_[i].restore(plan_, std::move(trees[i]), std::move(states[i]));
    }
  }

 private:
  static std::string kind_of(bool is_regression) {
    return is_regression ? "RandomForestRegressor" : "RandomForestClassifier";
  }
  void make(const detail::ForestPlan& plan) {
    plan_ = plan;
    threads_ = std::make_unique<detail::TreeThreads>(plan.options.threads);
    trees_.clear();
    trees_.reserve(static_cast<std::size_t>(plan.options.trees));
    for (int i = 0; i < plan.options.trees; ++i) trees_.emplace_back(plan_, i);
  }

  /// All trees take a block of rows, which stays in the caches, before the next block.
  void grow_blocks(const float* x, const std::int32_t* labels, const float* targets,
                   std::span<const std::int64_t> order, std::span<const double> shares) {
    const std::unique_lock lock(mutex_);
    const auto features = static_cast<std::size_t>(plan_.features);
    const auto outputs = static_cast<std::size_t>(targets == nullptr ? 0 : plan_.outputs);
    constexpr std::size_t block_bytes = std::size_t{3} << 20;
    const std::size_t block = std::max<std::size_t>(block_bytes / sizeof(float) / features, 64);
    std::vector<float> rows;
    std::vector<float> row_targets;
    std::vector<std::int32_t> row_labels;
    for (std::size_t first = 0; first < order.size(); first += block) {
      const std::size_t count = std::min(block, order.size() - first);
      rows.resize(count * features);
      row_targets.resize(count * outputs);
      row_labels.resize(targets == nullptr ? count : 0);
      for (std::size_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::size_t>(order[first + i]);
        std::copy_n(x + row * features, features, rows.data() + i * features);
        if (targets == nullptr) {
          row_labels[i] = labels[row];
        } else {
          std::copy_n(targets + row * outputs, outputs, row_targets.data() + i * outputs);
        }
      }
      // A thread costs more than a few rows do.
      const auto n = static_cast<std::int64_t>(count);
      threads_->each(
          size(), std::max<std::int64_t>(1, 200 / n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t t = begin; t < end; ++t) {
              trees_[static_cast<std::size_t>(t)].grow(
                  plan_, rows.data(), n, targets == nullptr ? row_labels.data() : nullptr,
                  row_targets.data(), shares.empty() ? nullptr : shares.data() + first);
            }
          });
    }
  }

  void infer_block(const float* x, int count, double* sums) const {
    const auto outputs = static_cast<std::size_t>(plan_.outputs);
    std::fill(sums, sums + static_cast<std::size_t>(count) * outputs, 0.0);
    std::int32_t leaves[64];
    for (const detail::GrowingTree& growing : trees_) {
      const DecisionTree& tree = growing.tree();
      tree.leaves_of(x, plan_.features, count, leaves);
      for (int i = 0; i < count; ++i) __builtin_prefetch(tree.value(leaves[i]).data());
      for (int i = 0; i < count; ++i) {
        const double* value = tree.value(leaves[i]).data();
        double total = 0;
        if (plan_.is_regression) {
          total = *value++;
        } else {
          for (std::size_t k = 0; k < outputs; ++k) total += value[k];
        }
        const double share = total > 0 ? 1 / total : 0;
        double* const sum = sums + static_cast<std::size_t>(i) * outputs;
        for (std::size_t k = 0; k < outputs; ++k) sum[k] += value[k] * share;
      }
    }
    const double share = 1.0 / static_cast<double>(trees_.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count) * outputs; ++i) sums[i] *= share;
  }

  void put_growth(detail::TreeWriter& w) const {
    std::vector<std::int64_t> counters;  // of each tree: rows seen, draws, fertile leaves
    std::vector<std::int64_t> leaves;  // of each fertile leaf: node, draw, rows, mixed, first rows
    std::vector<float> thresholds;
    std::vector<float> first_values;
    std::vector<std::uint32_t> counts;
    std::vector<double> sums;
    std::vector<double> total;
    std::vector<double> offset;
    std::vector<double> first_targets;
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const detail::GrowingTree& tree : trees_) {
      const detail::GrowingTree::State s = tree.state();
      add(counters, std::vector<std::int64_t>{s.seen, static_cast<std::int64_t>(s.draws),
                                              static_cast<std::int64_t>(s.leaves.size())});
      for (const detail::GrowingTree::Leaf& leaf : s.leaves) {
        const SplitStatistics::State& l = leaf.statistics;
        const auto kept =
            static_cast<std::int64_t>(l.first_values.size()) / plan_.options.splits_to_consider;
        add(leaves, std::vector<std::int64_t>{leaf.node, static_cast<std::int64_t>(leaf.draw),
                                              l.rows, l.is_mixed ? 1 : 0, kept});
        add(thresholds, l.thresholds);
        add(first_values, l.first_values);
        add(counts, l.counts);
        add(sums, l.sums);
        add(total, l.total);
        add(offset, l.offset);
        add(first_targets, l.first_targets);
      }
    }
    w.put("growth.counters", counters);
    w.put("growth.leaves", leaves);
    w.put("growth.thresholds", thresholds);
    w.put("growth.counts", counts);
    w.put("growth.sums", sums);
    w.put("growth.total", total);
    w.put("growth.offset", offset);
    w.put("growth.first_values", first_values);
    w.put("growth.first_targets", first_targets);
  }

  TYPEFLOW_COLD static std::vector<detail::GrowingTree::State> take_growth(
      const detail::TreeReader& r, const detail::ForestPlan& plan,
      const std::vector<DecisionTree>& trees) {
    const auto count = static_cast<std::int64_t>(trees.size());
    const std::int64_t candidates = plan.options.splits_to_consider;
    const auto counters =
        r.take<std::int64_t>("growth.counters", 3 * count, 0, std::int64_t{1} << 62);
    const auto damaged = [&](std::size_t tree, const char* what) {
      throw Error(r.path(), "the growth of tree " + std::to_string(tree) + " is damaged: " + what);
    };
    std::int64_t fertile = 0;
    for (std::size_t i = 2; i < counters.size(); i += 3) {
      if (counters[i] > trees[i / 3].leaves()) damaged(i / 3, "more fertile leaves than leaves");
      fertile += counters[i];
    }
    const auto leaves =
        r.take<std::int64_t>("growth.leaves", 5 * fertile, 0, std::int64_t{1} << 62);
    std::int64_t first = 0;
    for (std::size_t i = 4; i < leaves.size(); i += 5) {
      if (leaves[i] != (leaves[i - 2] < plan.first_rows() ? leaves[i - 2] : 0)) {
        throw Error(r.path() + ": list 'growth.leaves'", "the first rows of a leaf",
                    std::to_string(leaves[i]) + " of them");
      }
      first += leaves[i];
    }
    const std::int64_t outputs = plan.is_regression ? plan.outputs : 0;
    const auto thresholds = r.take<float>("growth.thresholds", fertile * candidates);
    const std::int64_t cells = candidates * plan.columns();
    const auto all_counts =
        r.take<std::uint32_t>("growth.counts", plan.is_regression ? 0 : fertile * cells);
    const auto sums = r.take<double>("growth.sums", plan.is_regression ? fertile * cells : 0);
    const auto total = r.take<double>("growth.total", fertile * plan.columns());
    const auto offset = r.take<double>("growth.offset", fertile * outputs);
    const auto first_values = r.take<float>("growth.first_values", first * candidates);
    const auto first_targets =
        r.take<double>("growth.first_targets", first * std::max<std::int64_t>(outputs, 1));
    check_first_targets(r, plan, first_targets);

    // Each list gives its next numbers.
    const auto cut = [](const auto& list, std::size_t& at, std::int64_t n) {
      const auto begin = list.begin() + static_cast<std::ptrdiff_t>(at);
      at += static_cast<std::size_t>(n);
      return std::decay_t<decltype(list)>(begin, begin + static_cast<std::ptrdiff_t>(n));
    };
    std::size_t at[8] = {};
    std::vector<detail::GrowingTree::State> states;
    for (std::size_t t = 0; t < trees.size(); ++t) {
      detail::GrowingTree::State s{
          counters[3 * t], static_cast<std::uint64_t>(counters[3 * t + 1]), {}};
      std::int64_t before = -1;
      for (std::int64_t k = 0; k < counters[3 * t + 2]; ++k) {
        const auto numbers = cut(leaves, at[0], 5);
        if (numbers[0] <= before || numbers[0] >= trees[t].size() ||
            !trees[t].node(static_cast<int>(numbers[0])).is_leaf()) {
          damaged(t, "a node that is no leaf counts candidates");
        }
        before = numbers[0];
        SplitStatistics::State counts;
        counts.rows = numbers[2];
        counts.is_mixed = numbers[3] != 0;
        counts.thresholds = cut(thresholds, at[1], candidates);
        counts.counts = cut(all_counts, at[2], plan.is_regression ? 0 : cells);
        counts.sums = cut(sums, at[7], plan.is_regression ? cells : 0);
        counts.total = cut(total, at[3], plan.columns());
        counts.offset = cut(offset, at[4], outputs);
        counts.first_values = cut(first_values, at[5], numbers[4] * candidates);
        counts.first_targets =
            cut(first_targets, at[6], numbers[4] * std::max<std::int64_t>(outputs, 1));
        s.leaves.push_back({static_cast<std::int32_t>(numbers[0]),
                            static_cast<std::uint64_t>(numbers[1]), std::move(counts)});
      }
      states.push_back(std::move(s));
    }
    return states;
  }
  /// Targets of classes become places in lists.
  static void check_first_targets(const detail::TreeReader& r, const detail::ForestPlan& plan,
                                  const std::vector<double>& targets) {
    if (plan.is_regression) return;
    for (const double y : targets) {
      if (y >= 0 && y < plan.outputs && y == std::floor(y)) continue;
      throw Error(r.path() + ": list 'growth.first_targets'",
                  "labels from 0 to " + std::to_string(plan.outputs - 1), std::to_string(y));
    }
  }

  detail::ForestPlan plan_;
  std::vector<detail::GrowingTree> trees_;
  std::unique_ptr<detail::TreeThreads> threads_;
  mutable std::shared_mutex mutex_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
