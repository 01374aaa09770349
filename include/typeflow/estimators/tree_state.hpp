// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trees in files: lists of numbers by names, in the library's safetensors files. Files may be
// damaged or of other programs, so each list is checked when it is read.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/decision_tree.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The key of the metadata that says what the lists are: "RandomForestClassifier".
inline constexpr std::string_view state_kind = "typeflow.estimator";

/// Lists to write.
class TreeWriter {
 public:
  template <class T>
  void put(std::string_view name, const std::vector<T>& list) {
    lists_.set<T>(name, std::span<const T>(list), Dims{1, {static_cast<Extent>(list.size())}});
  }
  /// Replaces the file as a whole. `kind` says what the lists are.
  TYPEFLOW_COLD void save(const std::string& path, const std::string& kind) const {
    typeflow::save(lists_, path, {.metadata = {{std::string(state_kind), kind}}});
  }

 private:
  Variables lists_;
};

/// The lists of a file. Errors begin with its path.
class TreeReader {
 public:
  /// Error unless the file can be read and is of this kind.
  TYPEFLOW_COLD TreeReader(const std::string& path, const std::string& kind) : path_(path) {
    const Metadata metadata = typeflow::load(lists_, path);
    const auto found = metadata.find(state_kind);
    if (found == metadata.end() || found->second != kind) {
      throw Error(path, "a file of a " + kind,
                  found == metadata.end() ? "one of no estimator" : "one of a " + found->second);
    }
  }

  const std::string& path() const { return path_; }

  /// A list of `size` numbers, or of any number of them.
  template <class T>
  std::vector<T> take(std::string_view name, std::int64_t size = -1) const {
    const Variables::Entry* const entry = lists_.find(name);
    if (entry == nullptr) throw Error(path_, "it has no list '" + std::string(name) + "'");
    if (entry->dtype != dtype_of<T> || entry->dims.rank != 1 ||
        (size >= 0 && entry->dims.extent[0] != size)) {
      const Dims expected{1, {size >= 0 ? size : batch}};
      throw Error(path_ + ": list '" + std::string(name) + "'", to_string(dtype_of<T>, expected),
                  to_string(entry->dtype, entry->dims));
    }
    const auto list = lists_.get<T>(name);
    return {list.begin(), list.end()};
  }
  /// The same, of numbers from `least` to `most`.
  template <class T>
  std::vector<T> take(std::string_view name, std::int64_t size, T least, T most) const {
    std::vector<T> list = take<T>(name, size);
    for (const T x : list) {
      if (!(x >= least && x <= most)) {
        throw Error(path_ + ": list '" + std::string(name) + "'",
                    "numbers from " + std::to_string(least) + " to " + std::to_string(most),
                    std::to_string(x));
      }
    }
    return list;
  }

 private:
  std::string path_;
  Variables lists_;
};

/// Adds the trees that `tree(i)` gives.
template <class F>
void put_trees(TreeWriter& writer, std::size_t count, const F& tree) {
  std::vector<std::int32_t> sizes;
  std::vector<std::int32_t> features;
  std::vector<float> thresholds;
  std::vector<std::int32_t> lefts;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const DecisionTree& t = tree(i);
    sizes.push_back(t.size());
    for (const TreeNode& node : t.nodes()) {
      features.push_back(node.feature);
      thresholds.push_back(node.threshold);
      lefts.push_back(node.left);
    }
    values.insert(values.end(), t.values().begin(), t.values().end());
  }
  writer.put("tree_sizes", sizes);
  writer.put("features", features);
  writer.put("thresholds", thresholds);
  writer.put("left_children", lefts);
  writer.put("values", values);
}

/// The trees of a file, `count` of them, for rows of `features` features, with `columns` numbers a
/// node.
TYPEFLOW_COLD inline std::vector<DecisionTree> take_trees(const TreeReader& reader,
                                                          std::int64_t count, int features,
                                                          int columns) {
  const auto sizes = reader.take<std::int32_t>("tree_sizes", count, 1, 1 << 30);
  std::int64_t total = 0;
  for (const std::int32_t size : sizes) total += size;
  const auto tests = reader.take<std::int32_t>("features", total, -1, features - 1);
  const auto thresholds = reader.take<float>("thresholds", total);
  const auto lefts = reader.take<std::int32_t>("left_children", total);
  const auto values = reader.take<double>("values", total * columns);
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    throw Error(reader.path() + ": list 'values'", "finite numbers", "an infinity or NaN");
  }
  std::vector<DecisionTree> trees;
  std::size_t at = 0;
  for (const std::int32_t size : sizes) {
    std::vector<TreeNode> nodes;
    const auto end = at + static_cast<std::size_t>(size);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(at) * columns;
    for (; at < end; ++at) nodes.push_back({tests[at], thresholds[at], lefts[at]});
    trees.emplace_back(columns, std::move(nodes),
                       std::vector<double>(first, first + std::ptrdiff_t{size} * columns), features,
                       reader.path());
  }
  return trees;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
