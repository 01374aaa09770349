// SPDX-License-Identifier: Apache-2.0
#pragma once

// Connectionist temporal classification of one sequence: sums over all paths through its time steps
// that read as its labels. Probabilities are logarithms.
//
// Source: Graves et al., Connectionist temporal classification: labelling unsegmented sequence data
// with recurrent neural networks, 2006. The recursions are (7.5) to (7.14) in the chapter on it in
// Graves, Supervised sequence labelling with recurrent neural networks.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "typeflow/core/extent.hpp"
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
  /// `classes` has room for most_states(count).
  States(const Rules& rules, const std::int64_t* labels, std::int64_t count, std::int64_t* classes)
      : merge_(rules.merge_repeated), blank_(rules.blank), classes_(classes) {
    classes[0] = rules.blank;
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_collapsed(rules, labels, i)) continue;
      classes[size_++] = labels[i];
      classes[size_++] = rules.blank;
    }
  }
  static std::int64_t most_states(std::int64_t labels) {
    return checked_sum(checked_product(2, labels), 1);
  }

  std::size_t size() const { return size_; }
  std::int64_t operator[](std::size_t u) const { return classes_[u]; }
  /// The smallest number of steps of a path that reads as these labels: one for each label, and a
  /// blank between two labels that would be merged.
  static std::int64_t least_time(const Rules& rules, const std::int64_t* labels,
                                 std::int64_t count) {
    std::int64_t time = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_collapsed(rules, labels, i)) continue;
      time += 1 + (rules.merge_repeated && i > 0 && labels[i] == labels[i - 1] ? 1 : 0);
    }
    return time;
  }
  /// Whether a path can stay in a state for two successive steps.
  bool may_stay(std::size_t u) const { return merge_ || classes_[u] == blank_; }
  /// Whether a path can enter a state directly from the label before, without a blank.
  bool may_skip_to(std::size_t u) const {
    if (u < 2 || u >= size() || classes_[u] == blank_) return false;
    return !merge_ || classes_[u] != classes_[u - 2];
  }

 private:
  static bool is_collapsed(const Rules& rules, const std::int64_t* labels, std::int64_t i) {
    return rules.collapse_repeated && i > 0 && labels[i] == labels[i - 1];
  }

  bool merge_;
  std::int64_t blank_;
  const std::int64_t* classes_;
  std::size_t size_ = 1;
};

/// The paths of `time` steps, where log_y(t, k) is the logarithm of the probability of class k.
template <class LogY>
class Paths {
 public:
  /// `memory` has room for a number for each step and state, and two more for each state.
  Paths(const States& states, std::int64_t time, const LogY& log_y, double* memory)
      : states_(states),
        time_(static_cast<std::size_t>(time)),
        log_y_(log_y),
        alpha_(memory),
        beta_(memory + time_ * states.size()),
        next_(beta_ + states.size()) {}

  /// The logarithm of the summed probability of all paths.
  double log_probability() {
    if (time_ == 0) return states_.size() == 1 ? 0 : log_zero;
    const std::size_t count = states_.size();
    std::fill_n(alpha_, count, log_zero);
    for (std::size_t u = 0; u < count && u < 2; ++u) alpha_[u] = y(0, u);
    for (std::size_t t = 1; t < time_; ++t) {
      const double* const last = alpha_ + (t - 1) * count;
      for (std::size_t u = 0; u < count; ++u) {
        double sum = states_.may_stay(u) ? last[u] : log_zero;
        if (u > 0) sum = log_sum(sum, last[u - 1]);
        if (states_.may_skip_to(u)) sum = log_sum(sum, last[u - 2]);
        alpha_[t * count + u] = sum == log_zero ? log_zero : sum + y(t, u);
      }
    }
    const double* const end = alpha_ + time_ * count;
    return count > 1 ? log_sum(end[-1], end[-2]) : end[-1];
  }

  /// Calls f(t, class, share) for each step and state, with the share of all paths that are there
  /// at that step. Call log_probability before; it must be above log_zero.
  template <class F>
  void each_share(double log_probability, const F& f) {
    const std::size_t count = states_.size();
    std::fill_n(beta_, count, log_zero);
    for (std::size_t u = count > 1 ? count - 2 : 0; u < count; ++u) beta_[u] = 0;
    for (std::size_t t = time_; t-- > 0;) {
      for (std::size_t u = 0; u < count; ++u) {
        const double both = alpha_[t * count + u] + beta_[u];
        if (both > log_zero) f(t, states_[u], std::exp(both - log_probability));
      }
      if (t == 0) return;
      for (std::size_t u = 0; u < count; ++u) next_[u] = beta_[u] + y(t, u);
      for (std::size_t u = 0; u < count; ++u) {
        double sum = states_.may_stay(u) ? next_[u] : log_zero;
        if (u + 1 < count) sum = log_sum(sum, next_[u + 1]);
        if (states_.may_skip_to(u + 2)) sum = log_sum(sum, next_[u + 2]);
        beta_[u] = sum;
      }
    }
  }

 private:
  double y(std::size_t t, std::size_t u) const { return log_y_(t, states_[u]); }

  const States& states_;
  std::size_t time_;
  const LogY& log_y_;
  double* alpha_;  // by step and state: sums over the steps up to it
  double* beta_;   // by state: sums over the steps after one
  double* next_;
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

  /// The least steps of a path for sequence b.
  std::int64_t least_time(const Rules& rules, std::int64_t b) const {
    return States::least_time(rules, labels + b * most_labels, label_lengths[b]);
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
      const std::int64_t needed = least_time(rules, b);
      if (needed > steps && !rules.ignore_too_long) return {too_little_time, {needed, b, steps}};
    }
    return {};
  }
  /// How many numbers of 8 bytes `loss` needs as memory; too_many if 63 bits can't count them.
  std::int64_t memory(bool gradient) const {
    const std::int64_t states = States::most_states(most_labels);
    const std::int64_t paths = checked_product(states, checked_sum(time, 3));
    const std::int64_t rows = checked_product(time, gradient ? checked_sum(classes, 1) : 1);
    return checked_sum(paths, rows);
  }
  /// The loss of sequence b with logits x(t, k). Calls give(t, k, gradient) for all steps and
  /// classes of the sequence, if the gradient is asked for.
  template <bool Gradient, class X, class Give>
  double loss(const Rules& rules, std::int64_t b, const X& x, void* memory,
              const Give& give) const {
    auto* const classes_of_states = static_cast<std::int64_t*>(memory);
    const std::int64_t states = States::most_states(most_labels);
    auto* const normalizer = static_cast<double*>(memory) + states;
    double* const of_paths = normalizer + time;
    const States path(rules, labels + b * most_labels, label_lengths[b], classes_of_states);
    const auto steps = static_cast<std::size_t>(logit_lengths[b]);
    for (std::size_t t = 0; t < steps; ++t) {
      double largest = log_zero;
      for (std::int64_t k = 0; k < classes; ++k) largest = std::fmax(largest, x(t, k));
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(x(t, k) - largest);
      normalizer[t] = largest + std::log(sum);
    }
    const auto log_y = [&](std::size_t t, std::int64_t k) { return x(t, k) - normalizer[t]; };
    const bool ignored = least_time(rules, b) > logit_lengths[b];
    Paths paths(path, logit_lengths[b], log_y, of_paths);
    const double log_probability = ignored ? 0 : paths.log_probability();
    if constexpr (Gradient) {
      double* const rows = of_paths + states * (time + 2);
      std::fill_n(rows, steps * static_cast<std::size_t>(classes), 0.);
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
