// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradient boosting: each tree follows the loss's gradient at the sum of the trees before it.
// Source: Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
// Statistics 29 (2001).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/estimators/binned_features.hpp"
#include "typeflow/estimators/boosted_tree.hpp"
#include "typeflow/estimators/decision_tree.hpp"
#include "typeflow/estimators/forest.hpp"
#include "typeflow/estimators/tree_state.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How gradient boosting learns. [TensorFlow's names, of BoostedTrees]
struct GradientBoostingOptions {
  int rounds = 100;  ///< trees, or trees for each class if there are more than two [n_trees]
  double learning_rate = 0.1;
  int max_depth = 3;         ///< tests on the way to a leaf
  int min_samples_leaf = 1;  ///< rows of a leaf
  double subsample = 1;      ///< the share of the rows that a round takes, drawn anew
  int max_bins = 255;        ///< of a feature; with at most so many values all splits are tried
  SplitGain gain = SplitGain::variance;
  double l2 = 0;  ///< added to the weight of a leaf [l2_regularization]
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: one for each core; the results do not depend on it
};

/// Called after each round, with its number from 1 on and the mean loss of the rows before it.
/// False ends the training.
using AfterRound = std::function<bool(int round, double loss)>;

namespace detail {

enum class BoostingLoss : std::uint8_t {
  squared,   ///< (y - raw)^2 / 2
  logistic,  ///< of two classes
  softmax,   ///< a tree for each class
};

/// Base of the boosted classifier and regressor: the trees of all rounds.
class Boosting {
 public:
  Boosting(int features, int outputs, BoostingLoss loss, const GradientBoostingOptions& options,
           const std::string& name)
      : features_(features),
        outputs_(outputs),
        loss_(loss),
        options_(options),
        threads_(options.threads) {
    const auto expect = [&](bool holds, const char* what, auto given) {
      if (!holds) throw Error(name, what, std::to_string(given));
    };
    expect(features >= 1, "at least 1 feature", features);
    expect(outputs >= (loss == BoostingLoss::squared ? 1 : 2), "at least 2 classes", outputs);
    expect(options.rounds >= 0, "rounds >= 0", options.rounds);
    expect(options.learning_rate > 0 && std::isfinite(options.learning_rate), "learning_rate > 0",
           options.learning_rate);
    expect(options.max_depth >= 1 && options.max_depth <= 64, "max_depth from 1 to 64",
           options.max_depth);
    expect(options.min_samples_leaf >= 1, "min_samples_leaf >= 1", options.min_samples_leaf);
    expect(options.subsample > 0 && options.subsample <= 1, "0 < subsample <= 1",
           options.subsample);
    expect(options.max_bins >= 2 && options.max_bins <= BinnedFeatures::most_bins,
           "max_bins from 2 to 255", options.max_bins);
    expect(options.l2 >= 0 && std::isfinite(options.l2), "l2 >= 0", options.l2);
  }

  int features() const { return features_; }
  int outputs() const { return outputs_; }
  const GradientBoostingOptions& options() const { return options_; }
  /// Trees of a round.
  int columns() const { return loss_ == BoostingLoss::softmax ? outputs_ : 1; }
  int rounds() const { return static_cast<int>(trees_.size()) / columns(); }
  std::span<const DecisionTree> trees() const { return trees_; }
  /// Whether rows were seen; there may still be no round.
  bool is_trained() const { return !first_.empty(); }
  /// Takes the trees of another one. Error, with its path, if it has other sizes.
  void take_trees_of(Boosting&& other, const std::string& path) {
    if (other.features_ != features_ || other.outputs_ != outputs_) {
      const auto sizes = [](const Boosting& b) {
        return std::to_string(b.features_) + " features and " + std::to_string(b.outputs_) +
               " outputs";
      };
      throw Error(path, sizes(*this), sizes(other));
    }
    first_ = std::move(other.first_);
    trees_ = std::move(other.trees_);
  }

  /// Adds rounds on these rows. `targets` has a number for each: a label, or what is to be
  /// estimated. Weights are above 0; of none all are 1.
  void boost(std::span<const float> x, std::span<const double> targets,
             std::span<const double> weights, int rounds, const AfterRound& after_round) {
    const auto count = static_cast<std::int64_t>(targets.size());
    if (first_.empty()) start(targets, weights);
    std::vector<double> raw = raw_of(x);
    const BinnedFeatures bins(x, count, features_, options_.max_bins,
                              [&](std::int64_t n, const auto& f) { threads_.each(n, 1, f); });
    const bool newton = options_.gain == SplitGain::newton;
    BoostedTreeGrower grower(
        bins, {options_.max_depth, options_.min_samples_leaf, options_.gain, options_.l2},
        threads_);
    // The factor of Friedman's multi-class step; Newton's own step has none.
    const double classes = static_cast<double>(outputs_);
    const double factor = options_.learning_rate *
                          (loss_ == BoostingLoss::softmax && !newton ? (classes - 1) / classes : 1);
    std::vector<double> gradients(raw.size());  // negative ones, (columns,N)
    std::vector<double> hessians(loss_ == BoostingLoss::squared ? 0 : raw.size());
    if (newton && loss_ == BoostingLoss::squared) hessians.assign(raw.size(), 1.0);
    if (!weights.empty() && loss_ == BoostingLoss::squared) {
      hessians.assign(weights.begin(), weights.end());
    }
    const auto n = static_cast<std::size_t>(count);
    for (int round = 0; round < rounds; ++round) {
      const double loss = differentiate(raw, targets, weights, gradients, hessians);
      for (int k = 0; k < columns(); ++k) {
        std::vector<std::uint32_t> rows = rows_of_round(count);
        const std::size_t column = static_cast<std::size_t>(k) * n;
        double* const raw_k = raw.data() + column;
        const bool all = rows.size() == n;
        const auto add = [&](double value, std::span<const std::uint32_t> leaf) {
          if (!all) return;
          for (const std::uint32_t row : leaf) raw_k[row] += value;
        };
        trees_.push_back(grower.grow(rows, gradients.data() + column,
                                     hessians.empty() ? nullptr : hessians.data() + column,
                                     weights.empty() ? nullptr : weights.data(), factor, add));
        if (!all) add_tree(trees_.back(), x, raw_k, count);
      }
      if (after_round && !after_round(this->rounds(), loss)) return;
    }
  }

  /// The sums of the trees, (columns,N).
  std::vector<double> raw_of(std::span<const float> x) const {
    const auto count = static_cast<std::int64_t>(x.size()) / features_;
    std::vector<double> raw(static_cast<std::size_t>(count * columns()));
    threads_.each((count + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t first = b * block;
        const auto rows = static_cast<int>(std::min(block, count - first));
        for (int k = 0; k < columns(); ++k) {
          double* const sums = raw.data() + k * count + first;
          std::fill_n(sums, rows, first_[static_cast<std::size_t>(k)]);
          for (std::size_t t = static_cast<std::size_t>(k); t < trees_.size();
               t += static_cast<std::size_t>(columns())) {
            add_block(trees_[t], x.data() + first * features_, rows, sums);
          }
        }
      }
    });
    return raw;
  }

  /// Probabilities of the classes, (N,outputs), or the estimates (N).
  std::vector<float> estimates(std::span<const float> x) const {
    const std::vector<double> raw = raw_of(x);
    const std::size_t n = x.size() / static_cast<std::size_t>(features_);
    if (loss_ == BoostingLoss::squared) return {raw.begin(), raw.end()};
    const auto classes = static_cast<std::size_t>(outputs_);
    std::vector<float> out(n * classes);
    std::vector<double> p(classes);
    for (std::size_t i = 0; i < n; ++i) {
      probabilities(raw, n, i, p);
      for (std::size_t k = 0; k < classes; ++k) out[i * classes + k] = static_cast<float>(p[k]);
    }
    return out;
  }

  void save(const std::string& path, const std::string& kind) const {
    const GradientBoostingOptions& o = options_;
    TreeWriter w;
    w.put<std::int64_t>("options",
                        {features_, outputs_, o.rounds, o.max_depth, o.min_samples_leaf, o.max_bins,
                         static_cast<std::int64_t>(o.gain), static_cast<std::int64_t>(o.seed)});
    w.put<double>("fractions", {o.learning_rate, o.subsample, o.l2});
    w.put("first", first_);
    put_trees(w, trees_.size(), [&](std::size_t i) -> const DecisionTree& { return trees_[i]; });
    w.save(path, kind);
  }
  /// Reads the options and trees of a file.
  static Boosting from_file(const std::string& path, const std::string& kind, bool is_regression,
                            int threads) {
    const TreeReader r(path, kind);
    const auto numbers = r.take<std::int64_t>("options", 8);
    const auto fractions = r.take<double>("fractions", 3);
    for (std::size_t i = 0; i < 7; ++i) {
      if (numbers[i] >= 0 && numbers[i] <= 1 << 24 && (i != 6 || numbers[i] <= 1)) continue;
      throw Error(path + ": list 'options'", "sizes from 0 to 2^24, and a gain of 0 or 1",
                  std::to_string(numbers[i]));
    }
    GradientBoostingOptions o;
    o.rounds = static_cast<int>(numbers[2]);
    o.max_depth = static_cast<int>(numbers[3]);
    o.min_samples_leaf = static_cast<int>(numbers[4]);
    o.max_bins = static_cast<int>(numbers[5]);
    o.gain = static_cast<SplitGain>(numbers[6]);
    o.seed = static_cast<std::uint64_t>(numbers[7]);
    o.learning_rate = fractions[0];
    o.subsample = fractions[1];
    o.l2 = fractions[2];
    o.threads = threads;
    const auto outputs = static_cast<int>(numbers[1]);
    Boosting b(static_cast<int>(numbers[0]), outputs, loss_of(outputs, is_regression), o, path);
    b.first_ = r.take<double>("first");
    const auto trees = static_cast<std::int64_t>(r.take<std::int32_t>("tree_sizes").size());
    const auto columns = static_cast<std::size_t>(b.columns());
    const bool starts = b.first_.size() == columns || (b.first_.empty() && trees == 0);
    if (!starts || trees % b.columns() != 0 ||
        !std::all_of(b.first_.begin(), b.first_.end(), [](double v) { return std::isfinite(v); })) {
      throw Error(
          path, "finite starts and whole rounds of " + std::to_string(columns) + " trees",
          std::to_string(b.first_.size()) + " starts and " + std::to_string(trees) + " trees");
    }
    b.trees_ = take_trees(r, trees, b.features_, 1);
    return b;
  }
  static BoostingLoss loss_of(int outputs, bool is_regression) {
    if (is_regression) return BoostingLoss::squared;
    return outputs == 2 ? BoostingLoss::logistic : BoostingLoss::softmax;
  }

 private:
  static constexpr std::int64_t block = 64;

  /// The constants that fit best: the mean, the log-odds, or the logarithms of the shares.
  void start(std::span<const double> targets, std::span<const double> weights) {
    double n = static_cast<double>(targets.size());
    if (!weights.empty()) n = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (loss_ == BoostingLoss::squared) {
      const double sum = weights.empty() ? std::accumulate(targets.begin(), targets.end(), 0.0)
                                         : std::inner_product(targets.begin(), targets.end(),
                                                              weights.begin(), 0.0);
      first_ = {sum / n};
      return;
    }
    constexpr double least = std::numeric_limits<double>::epsilon();
    std::vector<double> shares(static_cast<std::size_t>(outputs_));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      shares[static_cast<std::size_t>(targets[i])] += (weights.empty() ? 1 : weights[i]) / n;
    }
    for (double& share : shares) share = std::clamp(share, least, 1 - least);
    if (loss_ == BoostingLoss::logistic) {
      first_ = {std::log(shares[1] / (1 - shares[1]))};
    } else {
      for (double& share : shares) share = std::log(share);
      first_ = shares;
    }
  }

  void probabilities(const std::vector<double>& raw, std::size_t n, std::size_t row,
                     std::vector<double>& p) const {
    if (loss_ == BoostingLoss::logistic) {
      const double e = std::exp(-std::abs(raw[row]));
      p[1] = (raw[row] >= 0 ? 1 : e) / (1 + e);
      p[0] = (raw[row] >= 0 ? e : 1) / (1 + e);
      return;
    }
    double most = raw[row];
    for (std::size_t k = 1; k < p.size(); ++k) most = std::max(most, raw[k * n + row]);
    double sum = 0;
    for (std::size_t k = 0; k < p.size(); ++k) sum += p[k] = std::exp(raw[k * n + row] - most);
    for (double& x : p) x /= sum;
  }

  /// The negative gradients and the second derivatives by each row's raw numbers, times the
  /// weights. Returns the mean loss.
  double differentiate(const std::vector<double>& raw, std::span<const double> targets,
                       std::span<const double> weights, std::vector<double>& gradients,
                       std::vector<double>& hessians) const {
    const std::size_t n = targets.size();
    std::vector<double> losses(n);
    threads_.each(static_cast<std::int64_t>(n), 2000, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> p(static_cast<std::size_t>(outputs_));
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        if (loss_ == BoostingLoss::squared) {
          gradients[i] = targets[i] - raw[i];
          losses[i] = gradients[i] * gradients[i] / 2;
          continue;
        }
        probabilities(raw, n, i, p);
        losses[i] = -std::log(std::max(p[static_cast<std::size_t>(targets[i])], 1e-300));
        if (loss_ == BoostingLoss::logistic) {
          gradients[i] = targets[i] - p[1];
          hessians[i] = p[1] * p[0];
          continue;
        }
        for (std::size_t k = 0; k < p.size(); ++k) {
          gradients[k * n + i] = (targets[i] == static_cast<double>(k) ? 1 : 0) - p[k];
          hessians[k * n + i] = p[k] * (1 - p[k]);
        }
      }
    });
    if (weights.empty()) {
      return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] *= weights[i % n];
    if (loss_ != BoostingLoss::squared) {
      for (std::size_t i = 0; i < hessians.size(); ++i) hessians[i] *= weights[i % n];
    }
    return std::inner_product(losses.begin(), losses.end(), weights.begin(), 0.0) /
           std::accumulate(weights.begin(), weights.end(), 0.0);
  }

  std::vector<std::uint32_t> rows_of_round(std::int64_t count) const {
    std::vector<std::uint32_t> rows;
    rows.reserve(static_cast<std::size_t>(count));
    const std::uint64_t key = random_key(options_.seed, 0x626f6f7374u);
    for (std::int64_t i = 0; i < count; ++i) {
      if (options_.subsample < 1 &&
          uniform_element<double>(key, static_cast<std::uint64_t>(rounds()),
                                  static_cast<std::uint64_t>(i)) >= options_.subsample) {
        continue;
      }
      rows.push_back(static_cast<std::uint32_t>(i));
    }
    return rows;
  }

  void add_block(const DecisionTree& tree, const float* x, int rows, double* sums) const {
    std::int32_t leaves[block];
    tree.leaves_of(x, features_, rows, leaves);
    for (int i = 0; i < rows; ++i) sums[i] += tree.value(leaves[i])[0];
  }
  void add_tree(const DecisionTree& tree, std::span<const float> x, double* sums,
                std::int64_t count) const {
    threads_.each((count + block - 1) / block, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin * block; first < std::min(end * block, count);
           first += block) {
        add_block(tree, x.data() + first * features_,
                  static_cast<int>(std::min(block, count - first)), sums + first);
      }
    });
  }

  int features_;
  int outputs_;
  BoostingLoss loss_;
  GradientBoostingOptions options_;
  TreeThreads threads_;
  std::vector<double> first_;  // (columns), the sums before the first tree; empty before fit()
  std::vector<DecisionTree> trees_;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
