// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/training/figures.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// 'loss', 'accuracy'
TYPEFLOW_COLD inline std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

}  // namespace detail

TYPEFLOW_DEFINITION std::vector<std::string> History::names() const {
  std::vector<std::string> names;
  for (const Epoch& epoch : epochs_) {
    for (const Figure& figure : epoch.figures) {
      if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
    }
  }
  return names;
}

TYPEFLOW_DEFINITION std::vector<double> History::of(std::string_view name) const {
  std::vector<double> values(epochs_.size(), std::numeric_limits<double>::quiet_NaN());
  bool is_known = false;
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    const auto found = std::ranges::find(epochs_[i].figures, name, &Figure::name);
    if (found == epochs_[i].figures.end()) continue;
    values[i] = found->value;
    is_known = true;
  }
  if (!is_known) {
    const std::vector<std::string> known = names();
    throw Error("History::of",
                known.empty() ? "a history with epochs" : "one of " + detail::quoted_list(known),
                "'" + std::string(name) + "'");
  }
  return values;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
