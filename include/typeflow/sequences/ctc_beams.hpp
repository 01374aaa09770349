// SPDX-License-Identifier: Apache-2.0
#pragma once

// Prefix beam search: the label sequences of highest probability, each over all paths that read as
// it. After each step the search keeps the best prefixes; with a beam as wide as there are
// prefixes the result is exact.
//
// Source: Graves, "Supervised sequence labelling with recurrent neural networks", 2012, 7.5.3;
// TensorFlow's ctc_beam_search.h.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ctc {

/// log(e^a + e^b)
inline double add_logs(double a, double b) {
  const double high = std::max(a, b);
  return high == -std::numeric_limits<double>::infinity()
             ? high
             : high + std::log1p(std::exp(-std::abs(a - b)));
}

class BeamSearch {
 public:
  /// The numbers of 8 bytes that a search needs.
  static std::int64_t memory(std::int64_t steps, std::int64_t width, std::int64_t classes) {
    const std::int64_t nodes = steps * width + 1;
    constexpr std::int64_t of_node = sizeof(Node) / 8;
    constexpr std::int64_t of_beam = sizeof(Beam) / 8;
    return nodes * of_node + 2 * width * of_beam + 2 * classes;
  }
  BeamSearch(void* numbers, std::int64_t steps, std::int64_t width, std::int64_t classes,
             std::int64_t blank)
      : nodes_(static_cast<Node*>(numbers)),
        beams_(reinterpret_cast<Beam*>(nodes_ + steps * width + 1)),
        next_(beams_ + width),
        log_p_(reinterpret_cast<double*>(next_ + width)),
        mark_(reinterpret_cast<std::int64_t*>(log_p_ + classes)),
        width_(width),
        classes_(classes),
        blank_(blank) {}

  /// Reads logit(t, k) of the steps. Afterwards the beams are sorted, the best one first.
  template <class Logit>
  void run(std::int64_t steps, const Logit& logit) {
    nodes_[0] = {none, none, none, none, 0, 0};
    node_count_ = 1;
    beams_[0] = {0, impossible, 0, 0, 0, none};
    beam_count_ = 1;
    stamp_ = 0;
    std::fill_n(mark_, classes_, std::int64_t{0});
    for (std::int64_t t = 0; t < steps; ++t) {
      normalize([&](std::int64_t k) { return logit(t, k); });
      step();
    }
  }
  std::int64_t count() const { return beam_count_; }
  double log_probability(std::int64_t i) const { return beams_[i].total; }
  /// The number of labels of a beam. With `merge` equal neighbours among them count once.
  std::int64_t length(std::int64_t i, bool merge = false) const {
    std::int64_t labels = 0;
    for (std::int32_t node = beams_[i].node; node != 0; node = nodes_[node].parent) {
      labels += !merge || !repeats(node);
    }
    return labels;
  }
  /// Calls put(position, label) for all labels of a beam, the last one first.
  template <class Put>
  void each_label(std::int64_t i, bool merge, const Put& put) const {
    std::int64_t position = length(i, merge);
    for (std::int32_t node = beams_[i].node; node != 0; node = nodes_[node].parent) {
      if (!merge || !repeats(node)) put(--position, nodes_[node].label);
    }
  }

 private:
  static constexpr double impossible = -std::numeric_limits<double>::infinity();
  static constexpr std::int32_t none = -1;

  /// A prefix, in a tree of all that were ever kept.
  struct Node {
    std::int32_t parent;
    std::int32_t label;
    std::int32_t child;    ///< the last one added
    std::int32_t sibling;  ///< the one added before
    std::int32_t depth;
    std::int32_t beam;  ///< its beam, plus 1; 0 if it is in none
  };
  /// The log-probabilities of the paths that read as a prefix: of those that end with a blank, with
  /// the last label, and of both.
  struct Beam {
    double blank;
    double label;
    double total;
    std::int64_t order;
    std::int32_t node;   ///< of the prefix, or of the prefix that `added` extends
    std::int32_t added;  ///< a label, or -1
  };
  /// Whether the label before that of a node is the same.
  bool repeats(std::int32_t node) const {
    const std::int32_t parent = nodes_[node].parent;
    return parent != 0 && nodes_[parent].label == nodes_[node].label;
  }
  static bool is_better(const Beam& a, const Beam& b) {
    return a.total != b.total ? a.total > b.total : a.order < b.order;
  }

  template <class F>
  void normalize(const F& logit) {
    double most = impossible;
    for (std::int64_t k = 0; k < classes_; ++k) {
      log_p_[k] = logit(k);
      most = std::max(most, log_p_[k]);
    }
    double sum = 0;
    for (std::int64_t k = 0; k < classes_; ++k) sum += std::exp(log_p_[k] - most);
    for (std::int64_t k = 0; k < classes_; ++k) log_p_[k] -= most + std::log(sum);
  }

  /// Adds a candidate if it is one of the best so far. One that is impossible, or NaN, is not.
  void offer(double blank, double label, std::int32_t node, std::int32_t added) {
    const double total = added == none ? add_logs(blank, label) : label;
    if (!(total > impossible)) return;
    const Beam beam{blank, label, total, order_++, node, added};
    if (next_count_ == width_) {
      if (!is_better(beam, next_[0])) return;
      std::pop_heap(next_, next_ + next_count_--, is_better);
    }
    next_[next_count_++] = beam;
    std::push_heap(next_, next_ + next_count_, is_better);
  }

  void step() {
    next_count_ = 0;
    order_ = 0;
    for (std::int64_t i = 0; i < beam_count_; ++i) nodes_[beams_[i].node].beam = to_int(i + 1);
    for (std::int64_t i = 0; i < beam_count_; ++i) {
      const Beam& b = beams_[i];
      const Node& node = nodes_[b.node];
      double label = impossible;
      if (b.node != 0) {
        // The same label again, or the prefix without it and now the label.
        label = b.label;
        if (const std::int32_t parent = nodes_[node.parent].beam; parent != 0) {
          label = add_logs(label, before(beams_[parent - 1], node.label));
        }
        label += log_p_[node.label];
      }
      offer(b.total + log_p_[blank_], label, b.node, none);
    }
    for (std::int64_t i = 0; i < beam_count_; ++i) {
      ++stamp_;
      for (std::int64_t k = 0; k < beam_count_; ++k) {
        const Node& other = nodes_[beams_[k].node];
        if (other.parent == beams_[i].node) mark_[other.label] = stamp_;  // it was extended above
      }
      for (std::int64_t k = 0; k < classes_; ++k) {
        if (k == blank_ || mark_[k] == stamp_) continue;
        const auto label = to_int(k);
        offer(impossible, before(beams_[i], label) + log_p_[k], beams_[i].node, label);
      }
    }
    for (std::int64_t i = 0; i < beam_count_; ++i) nodes_[beams_[i].node].beam = 0;
    std::sort(next_, next_ + next_count_, is_better);
    std::swap(beams_, next_);
    beam_count_ = next_count_;
    for (std::int64_t i = 0; i < beam_count_; ++i) {
      Beam& b = beams_[i];
      if (b.added != none) b.node = child(b.node, b.added);
    }
  }
  /// The paths that read as a prefix and can go on with a label as a new one.
  double before(const Beam& b, std::int32_t label) const {
    return nodes_[b.node].label == label ? b.blank : b.total;
  }
  std::int32_t child(std::int32_t parent, std::int32_t label) {
    for (std::int32_t c = nodes_[parent].child; c != none; c = nodes_[c].sibling) {
      if (nodes_[c].label == label) return c;
    }
    nodes_[node_count_] = {parent, label, none, nodes_[parent].child, nodes_[parent].depth + 1, 0};
    return nodes_[parent].child = node_count_++;
  }
  static std::int32_t to_int(std::int64_t i) { return static_cast<std::int32_t>(i); }

  Node* nodes_;
  Beam* beams_;
  Beam* next_;  ///< a heap, the worst in front
  double* log_p_;
  std::int64_t* mark_;
  std::int64_t width_;
  std::int64_t classes_;
  std::int64_t blank_;
  std::int64_t beam_count_ = 0;
  std::int64_t next_count_ = 0;
  std::int64_t order_ = 0;
  std::int64_t stamp_ = 0;
  std::int32_t node_count_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ctc
