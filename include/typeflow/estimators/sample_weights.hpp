// SPDX-License-Identifier: Apache-2.0
#pragma once

// Weights of rows, as estimators of trees take them: one for each row, a finite number that is 0 or
// more. No weights at all mean 1 for each.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Error, beginning with `name`, if the weights do not fit.
inline void check_weights(std::span<const double> weights, std::int64_t rows,
                          const std::string& name) {
  if (weights.empty()) return;
  if (static_cast<std::int64_t>(weights.size()) != rows) {
    throw Error(name, std::to_string(rows) + " weights, one for each row, or none",
                std::to_string(weights.size()));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] >= 0 && weights[i] <= std::numeric_limits<double>::max()) continue;
    throw Error(name, "finite weights, 0 or more",
                std::to_string(weights[i]) + " in row " + std::to_string(i));
  }
}

/// Rows as often as their weights say: a row of weight 2.25 twice, and once more with a share of
/// 0.25.
struct RepeatedRows {
  std::vector<std::int64_t> rows;
  std::vector<double> shares;  ///< of each of them; none: all are whole
  bool are_weighted = false;

  /// All rows if there are no weights. Error, beginning with `name`, if the weights do not fit.
  RepeatedRows(std::int64_t count, std::span<const double> weights, const std::string& name) {
    check_weights(weights, count, name);
    if (weights.empty()) {
      rows.resize(static_cast<std::size_t>(count));
      std::iota(rows.begin(), rows.end(), std::int64_t{0});
      return;
    }
    are_weighted = true;
    constexpr double most = 1 << 30;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (!(sum <= most)) throw Error(name, "weights of 2^30 together at most", std::to_string(sum));
    bool are_whole = true;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double whole = std::floor(weights[i]);
      rows.insert(rows.end(), static_cast<std::size_t>(whole), static_cast<std::int64_t>(i));
      shares.resize(rows.size(), 1.0);
      if (weights[i] == whole) continue;
      rows.push_back(static_cast<std::int64_t>(i));
      shares.push_back(weights[i] - whole);
      are_whole = false;
    }
    if (are_whole) shares.clear();
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
