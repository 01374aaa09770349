// SPDX-License-Identifier: Apache-2.0
#pragma once

// The distance between two names, for "did you mean".

#include <array>
#include <cstddef>
#include <string_view>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Levenshtein's distance between two short texts.
constexpr int distance(std::string_view a, std::string_view b) {
  constexpr std::size_t longest = 63;
  if (a.size() > longest || b.size() > longest) return 1000;
  std::array<int, longest + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      const int shift = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
      row[j] = change < shift ? change : shift;
    }
  }
  return row[b.size()];
}

/// The same for names with scopes: scopes that one of them lacks in front count as one letter.
constexpr int path_distance(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) return path_distance(b, a);
  const std::size_t more = a.size() - b.size();
  if (more > 0 && a[more - 1] == '/' && a.substr(more) == b) return 1;
  return distance(a, b);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
