// SPDX-License-Identifier: Apache-2.0
#pragma once

// Connectionist temporal classification of one sequence: sums over all paths through its time steps
// that read as its labels. Probabilities are logarithms.
//
// Source: Graves et al., Connectionist temporal classification: labelling unsegmented sequence data
// with recurrent neural networks, 2006. The recursions are (7.5) to (7.14) in the chapter on it in
// Graves, Supervised sequence labelling with recurrent neural networks.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "typeflow/core/failure.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ctc {

inline constexpr double log_zero = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b)).
inline double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == log_zero ? a : a + std::log1p(std::exp(b - a));
}

/// Which paths read as which labels.
struct Rules {
  std::int64_t blank;      ///< the class for "no label"
  bool collapse_repeated;  ///< equal neighbours among the labels count once
  bool merge_repeated;     ///< equal neighbours of a path count once
  bool ignore_too_long;    ///< labels that need too many steps have loss 0, instead of an error
};

/// The mistake in a sequence of a batch.
enum Mistake : std::int32_t {
  no_class = 1,        ///< label, sequence, position, classes
  label_length = 2,    ///< length, sequence, most
  logit_length = 3,    ///< length, sequence, most
  too_little_time = 4  ///< steps that the labels need, sequence, steps that it has
};

/// The states of a path: the labels of one sequence, with blanks before, between and after them.
class States {
 public:
  States(const Rules& rules, const std::int64_t* labels, std::int64_t count)
      : merge_(rules.merge_repeated), blank_(rules.blank), classes_{rules.blank} {
    for (std::int64_t i = 0; i < count; ++i) {
      if (rules.collapse_repeated && i > 0 && labels[i] == labels[i - 1]) continue;
      if (merge_ && classes_.size() > 1 && classes_[classes_.size() - 2] == labels[i]) ++repeats_;
      classes_.push_back(labels[i]);
      classes_.push_back(rules.blank);
    }
  }

  std::size_t size() const { return classes_.size(); }
  std::int64_t operator[](std::size_t u) const { return classes_[u]; }
  /// The smallest number of steps of a path: one for each label, and a blank between two labels
  /// that would be merged.
  std::int64_t least_time() const {
    return static_cast<std::int64_t>(classes_.size() / 2) + repeats_;
  }
  /// Whether a path can stay in a state for two successive steps.
  bool may_stay(std::size_t u) const { return merge_ || classes_[u] == blank_; }
  /// Whether a path can enter a state directly from the label before, without a blank.
  bool may_skip_to(std::size_t u) const {
    if (u < 2 || u >= size() || classes_[u] == blank_) return false;
    return !merge_ || classes_[u] != classes_[u - 2];
  }

 private:
  bool merge_;
  std::int64_t blank_;
  std::int64_t repeats_ = 0;
  std::vector<std::int64_t> classes_;
};

/// The paths of `time` steps, where log_y(t, k) is the logarithm of the probability of class k.
template <class LogY>
class Paths {
 public:
  Paths(const States& states, std::int64_t time, const LogY& log_y)
      : states_(states), time_(static_cast<std::size_t>(time)), log_y_(log_y) {}

  /// The logarithm of the summed probability of all paths.
  double log_probability() {
    if (time_ == 0) return states_.size() == 1 ? 0 : log_zero;
    const std::size_t count = states_.size();
    alpha_.assign(time_ * count, log_zero);
    for (std::size_t u = 0; u < count && u < 2; ++u) alpha_[u] = y(0, u);
    for (std::size_t t = 1; t < time_; ++t) {
      const double* const last = alpha_.data() + (t - 1) * count;
      for (std::size_t u = 0; u < count; ++u) {
        double sum = states_.may_stay(u) ? last[u] : log_zero;
        if (u > 0) sum = log_sum(sum, last[u - 1]);
        if (states_.may_skip_to(u)) sum = log_sum(sum, last[u - 2]);
        alpha_[t * count + u] = sum == log_zero ? log_zero : sum + y(t, u);
      }
    }
    const double* const end = alpha_.data() + time_ * count;
    return count > 1 ? log_sum(end[-1], end[-2]) : end[-1];
  }

  /// Calls f(t, class, share) for each step and state, with the share of all paths that are there
  /// at that step. Call log_probability before; it must be above log_zero.
  template <class F>
  void each_share(double log_probability, const F& f) const {
    const std::size_t count = states_.size();
    std::vector<double> beta(count, log_zero);  // sums over the steps after t
    std::vector<double> next(count);
    for (std::size_t u = count > 1 ? count - 2 : 0; u < count; ++u) beta[u] = 0;
    for (std::size_t t = time_; t-- > 0;) {
      for (std::size_t u = 0; u < count; ++u) {
        const double both = alpha_[t * count + u] + beta[u];
        if (both > log_zero) f(t, states_[u], std::exp(both - log_probability));
      }
      if (t == 0) return;
      for (std::size_t u = 0; u < count; ++u) next[u] = beta[u] + y(t, u);
      for (std::size_t u = 0; u < count; ++u) {
        double sum = states_.may_stay(u) ? next[u] : log_zero;
        if (u + 1 < count) sum = log_sum(sum, next[u + 1]);
        if (states_.may_skip_to(u + 2)) sum = log_sum(sum, next[u + 2]);
        beta[u] = sum;
      }
    }
  }

 private:
  double y(std::size_t t, std::size_t u) const { return log_y_(t, states_[u]); }

  const States& states_;
  std::size_t time_;
  const LogY& log_y_;
  std::vector<double> alpha_;
};

/// A batch of sequences: logits (T,B,C), labels (B,L), and the lengths of both, (B).
struct Batch {
  std::int64_t time;
  std::int64_t size;
  std::int64_t classes;
  std::int64_t most_labels;
  const std::int64_t* labels;
  const std::int64_t* label_lengths;
  const std::int64_t* logit_lengths;

  States states(const Rules& rules, std::int64_t b) const {
    return {rules, labels + b * most_labels, label_lengths[b]};
  }
  /// The first mistake of the first sequence that has one.
  Failure check(const Rules& rules) const {
    for (std::int64_t b = 0; b < size; ++b) {
      const std::int64_t count = label_lengths[b];
      const std::int64_t steps = logit_lengths[b];
      if (count < 0 || count > most_labels) return {label_length, {count, b, most_labels}};
      if (steps < 0 || steps > time) return {logit_length, {steps, b, time}};
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t label = labels[b * most_labels + i];
        if (label < 0 || label >= classes || label == rules.blank) {
          return {no_class, {label, b, i, classes}};
        }
      }
      const std::int64_t needed = states(rules, b).least_time();
      if (needed > steps && !rules.ignore_too_long) return {too_little_time, {needed, b, steps}};
    }
    return {};
  }
  /// The loss of sequence b with logits x(t, k). Calls give(t, k, gradient) for all steps and
  /// classes of the sequence, if the gradient is asked for.
  template <bool Gradient, class X, class Give>
  double loss(const Rules& rules, std::int64_t b, const X& x, const Give& give) const {
    const States path = states(rules, b);
    const auto steps = static_cast<std::size_t>(logit_lengths[b]);
    std::vector<double> normalizer(steps);
    for (std::size_t t = 0; t < steps; ++t) {
      double largest = log_zero;
      for (std::int64_t k = 0; k < classes; ++k) largest = std::fmax(largest, x(t, k));
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(x(t, k) - largest);
      normalizer[t] = largest + std::log(sum);
    }
    const auto log_y = [&](std::size_t t, std::int64_t k) { return x(t, k) - normalizer[t]; };
    const bool ignored = path.least_time() > logit_lengths[b];
    Paths paths(path, logit_lengths[b], log_y);
    const double log_probability = ignored ? 0 : paths.log_probability();
    if constexpr (Gradient) {
      std::vector<double> rows(steps * static_cast<std::size_t>(classes), 0.);
      const auto at = [&](std::size_t t, std::int64_t k) -> double& {
        return rows[t * static_cast<std::size_t>(classes) + static_cast<std::size_t>(k)];
      };
      if (!ignored && log_probability != log_zero) {
        paths.each_share(log_probability,
                         [&](std::size_t t, std::int64_t k, double share) { at(t, k) -= share; });
        for (std::size_t t = 0; t < steps; ++t) {
          for (std::int64_t k = 0; k < classes; ++k) at(t, k) += std::exp(log_y(t, k));
        }
      }
      for (std::size_t t = 0; t < steps; ++t) {
        for (std::int64_t k = 0; k < classes; ++k) give(t, k, at(t, k));
      }
    }
    return -log_probability;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ctc
