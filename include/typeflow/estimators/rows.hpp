// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tables of numbers as estimators take them, row-major in a span: checks whose errors name the row,
// and draws of rows that are the same on every platform.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/config.hpp"
#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The number of rows of a table of `width` columns. Error if the number of elements is not a
/// multiple of the width, if there are fewer than `least` rows, or if an element is NaN or
/// infinite.
template <class T>
std::int64_t checked_rows(const char* call, std::span<const T> table, std::size_t width,
                          std::int64_t least) {
  if (table.size() % width != 0) {
    throw Error(std::string(call) + ": elements", "a multiple of " + std::to_string(width),
                std::to_string(table.size()));
  }
  const auto rows = static_cast<std::int64_t>(table.size() / width);
  if (rows < least) {
    throw Error(std::string(call) + ": rows", std::to_string(least) + " or more",
                std::to_string(rows));
  }
  bool is_finite = true;
  for (const T x : table) is_finite &= std::abs(x) <= std::numeric_limits<T>::max();
  if (!is_finite) {
    const auto bad =
        std::find_if(table.begin(), table.end(), [](T x) { return !std::isfinite(x); });
    const auto at = static_cast<std::size_t>(bad - table.begin());
    throw Error(std::string(call) + ": row " + std::to_string(at / width) + ", column " +
                    std::to_string(at % width),
                "a finite number", std::isnan(*bad) ? "NaN" : "infinity");
  }
  return rows;
}

/// Uniform in [0, 1). (std::uniform_real_distribution differs between libraries.)
inline double uniform_number(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// Uniform in 0...count-1.
inline std::int64_t uniform_row(std::mt19937_64& random, std::int64_t count) {
  return std::min(count - 1,
                  static_cast<std::int64_t>(uniform_number(random) * static_cast<double>(count)));
}

/// `count` different rows of `rows`, in ascending order, all sets equally likely (Knuth, The Art of
/// Computer Programming 2, 3.4.2, algorithm S).
inline std::vector<std::int64_t> different_rows(std::mt19937_64& random, std::int64_t rows,
                                                std::int64_t count) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t row = 0; count > 0; ++row) {
    if (uniform_number(random) * static_cast<double>(rows - row) < static_cast<double>(count)) {
      chosen.push_back(row);
      --count;
    }
  }
  return chosen;
}

/// 0...rows-1 in random order.
inline void shuffle_rows(std::mt19937_64& random, std::span<std::int32_t> order) {
  for (auto last = static_cast<std::int64_t>(order.size()) - 1; last > 0; --last) {
    const auto other = static_cast<std::size_t>(uniform_row(random, last + 1));
    std::swap(order[static_cast<std::size_t>(last)], order[other]);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
