// SPDX-License-Identifier: Apache-2.0
#pragma once

// Binary decision trees: tests "feature <= threshold", and numbers at the nodes. Random forests and
// gradient boosting grow them; this header knows how rows go through them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A node. Rows whose feature is <= threshold go to node `left`, all others to node `left` + 1. So
/// a row whose feature is NaN goes to the right.
struct TreeNode {
  std::int32_t feature = -1;  ///< -1: a leaf
  float threshold = 0;
  std::int32_t left = 0;

  bool is_leaf() const { return feature < 0; }
  bool operator==(const TreeNode&) const = default;
};

/// A tree, with a row of numbers for each node. Node 0 is the root; children stand behind their
/// parent.
class DecisionTree {
 public:
  /// A single leaf with `columns` zeros.
  explicit DecisionTree(int columns)
      : columns_(columns), nodes_(1), values_(static_cast<std::size_t>(columns)) {}
  /// A tree from its parts. Error, beginning with `source`, if they are no tree on rows of this
  /// many features.
  DecisionTree(int columns, std::vector<TreeNode> nodes, std::vector<double> values, int features,
               const std::string& source)
      : columns_(columns), nodes_(std::move(nodes)), values_(std::move(values)) {
    check(features, source);
  }

  int columns() const { return columns_; }
  /// The number of nodes.
  int size() const { return static_cast<int>(nodes_.size()); }
  /// The number of leaves: each test adds one.
  int leaves() const { return (size() + 1) / 2; }
  std::span<const TreeNode> nodes() const { return nodes_; }
  const TreeNode& node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  std::span<const double> values() const { return values_; }
  std::span<double> value(int node) {
    return std::span(values_).subspan(place(node), static_cast<std::size_t>(columns_));
  }
  std::span<const double> value(int node) const {
    return std::span(values_).subspan(place(node), static_cast<std::size_t>(columns_));
  }

  /// The leaf that a row of features comes to, from a node on.
  int leaf_of(const float* row, std::int32_t at = 0) const {
    const TreeNode* const nodes = nodes_.data();
    while (nodes[at].feature >= 0) {
      const TreeNode& n = nodes[at];
      at = n.left + (row[n.feature] <= n.threshold ? 0 : 1);
    }
    return at;
  }
  /// The leaves of several rows, which are `stride` apart. The rows walk together in groups,
  /// because one row alone waits for memory at each node.
  void leaves_of(const float* rows, std::ptrdiff_t stride, int count, std::int32_t* leaves) const {
    constexpr int group = 8;
    const TreeNode* const nodes = nodes_.data();
    int i = 0;
    for (; i + group <= count; i += group) {
      std::int32_t at[group] = {};
      for (bool walking = nodes[0].feature >= 0; walking;) {
        walking = false;
        for (int k = 0; k < group; ++k) {
          const TreeNode& n = nodes[at[k]];
          if (n.feature < 0) continue;
          at[k] = n.left + (rows[(i + k) * stride + n.feature] <= n.threshold ? 0 : 1);
          walking = true;
        }
      }
      for (int k = 0; k < group; ++k) leaves[i + k] = at[k];
    }
    for (; i < count; ++i) leaves[i] = leaf_of(rows + i * stride);
  }
  /// The number of tests on the way to a row's leaf.
  int depth_of(const float* row) const {
    int depth = 0;
    std::int32_t at = 0;
    for (; !node(at).is_leaf(); ++depth) {
      at = node(at).left + (row[node(at).feature] <= node(at).threshold ? 0 : 1);
    }
    return depth;
  }

  /// Makes a leaf a test. Returns its left child; the right one stands behind it. Both have zeros.
  int split(int leaf, int feature, float threshold) {
    const int left = size();
    nodes_[static_cast<std::size_t>(leaf)] = {feature, threshold, left};
    nodes_.resize(nodes_.size() + 2);
    values_.resize(values_.size() + 2 * static_cast<std::size_t>(columns_));
    return left;
  }

 private:
  std::size_t place(int node) const {
    return static_cast<std::size_t>(node) * static_cast<std::size_t>(columns_);
  }

  TYPEFLOW_COLD void check(int features, const std::string& source) const {
    const auto count = static_cast<std::int64_t>(nodes_.size());
    if (count == 0 || nodes_.size() * static_cast<std::size_t>(columns_) != values_.size()) {
      throw Error(source, std::to_string(columns_) + " numbers for each node of a tree",
                  std::to_string(values_.size()) + " for " + std::to_string(count) + " nodes");
    }
    std::vector<char> has_parent(nodes_.size());
    has_parent[0] = 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const TreeNode& n = nodes_[static_cast<std::size_t>(i)];
      if (n.is_leaf()) continue;
      const bool inside = n.left > i && n.left + std::int64_t{1} < count;
      if (n.feature >= features || !inside || n.threshold != n.threshold ||
          has_parent[static_cast<std::size_t>(n.left)] != 0 ||
          has_parent[static_cast<std::size_t>(n.left) + 1] != 0) {
        throw Error(source, "node " + std::to_string(i) + " of a tree is damaged: feature " +
                                std::to_string(n.feature) + " of " + std::to_string(features) +
                                ", children from " + std::to_string(n.left) + " on among " +
                                std::to_string(count) + " nodes");
      }
      has_parent[static_cast<std::size_t>(n.left)] = 1;
      has_parent[static_cast<std::size_t>(n.left) + 1] = 1;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (has_parent[static_cast<std::size_t>(i)] != 0) continue;
      throw Error(source, "node " + std::to_string(i) + " of a tree has no parent");
    }
  }

  int columns_;
  std::vector<TreeNode> nodes_;
  std::vector<double> values_;  // (nodes,columns)
};

}  // namespace typeflow::inline TYPEFLOW_ISA
