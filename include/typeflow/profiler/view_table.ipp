// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/profiler/view_table.hpp"
#include "typeflow/profiler/views.ipp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A number with an SI prefix: "47.04 M", "950".
TYPEFLOW_COLD inline std::string with_prefix(double x) {
  static constexpr const char* prefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  int prefix = 0;
  while (x >= 999.995 && prefix < 6) {
    x /= 1000;
    ++prefix;
  }
  char text[40];
  const bool whole = prefix == 0 && x == std::floor(x);
  std::snprintf(text, sizeof text, whole ? "%.0f%s" : "%.2f%s", x, prefixes[prefix]);
  return text;
}
TYPEFLOW_COLD inline std::string time_text(double seconds) {
  char text[40];
  if (seconds >= 1) {
    std::snprintf(text, sizeof text, "%.3f s", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.3f us", seconds * 1e6);
  }
  return text;
}
TYPEFLOW_COLD inline std::string percent_text(double share) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}
TYPEFLOW_COLD inline std::string cell_of(const ProfileNode& node, ProfileColumn column,
                                         double all) {
  if (const std::string* const text = text_in(node, column); text != nullptr) return *text;
  const double x = number_in(node, column, all);
  switch (column) {
    case ProfileColumn::time:
    case ProfileColumn::own_time:
    case ProfileColumn::mean:
    case ProfileColumn::least:
    case ProfileColumn::most:
      return node.total.calls > 0 ? time_text(x) : "-";
    case ProfileColumn::share:
      return percent_text(x);
    case ProfileColumn::roofline:
      return x > 0 ? percent_text(x) : "-";
    case ProfileColumn::flop_rate:
    case ProfileColumn::byte_rate: {
      char text[40];
      std::snprintf(text, sizeof text, "%.2f", x * 1e-9);
      return node.total.calls > 0 ? text : "-";
    }
    default:
      return with_prefix(x);
  }
}
inline const char* title_of(ProfileColumn column) {
  switch (column) {
    case ProfileColumn::own_time:
      return "own time";
    case ProfileColumn::flop_rate:
      return "Gflop/s";
    case ProfileColumn::byte_rate:
      return "GB/s";
    default:
      return profile_columns[static_cast<std::size_t>(column)].first.data();
  }
}
TYPEFLOW_COLD inline std::vector<ProfileColumn> columns_for(ProfileView view) {
  using enum ProfileColumn;
  switch (view) {
    case ProfileView::scope:
      return {time, share, calls, flops, bytes, flop_rate, byte_rate, roofline, parameters};
    case ProfileView::graph:
      return {own_time, time, share, calls, flops, flop_rate, roofline, operations};
    case ProfileView::kernels:
      return {time,      share,     calls,    mean,   flops,     bytes,
              flop_rate, byte_rate, roofline, source, operations};
    default:
      return {time, share, calls, occurrences, mean, flops, bytes, flop_rate, byte_rate, roofline};
  }
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string profile_table(const Profile& profile,
                                                            const ProfileViewOptions& options) {
  const ProfileNode root = profile_tree(profile, options);
  std::vector<ProfileColumn> columns{ProfileColumn::name};
  const std::vector<ProfileColumn> others =
      options.select.empty() ? detail::columns_for(options.view) : options.select;
  columns.insert(columns.end(), others.begin(), others.end());

  std::vector<std::vector<std::string>> rows(1);
  for (const ProfileColumn column : columns) rows[0].emplace_back(detail::title_of(column));
  const double all = profile.seconds();
  const auto add = [&](auto& self, const ProfileNode& node, std::size_t depth) -> void {
    std::vector<std::string> row;
    for (const ProfileColumn column : columns) row.push_back(detail::cell_of(node, column, all));
    row[0].insert(0, 2 * depth, ' ');
    rows.push_back(std::move(row));
    for (const ProfileNode& below : node.below) self(self, below, depth + 1);
  };
  add(add, root, 0);

  std::vector<std::size_t> widths(columns.size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      const bool is_text = detail::text_in(root, columns[i]) != nullptr;
      if (i > 0) line += "  ";
      line += is_text ? row[i] + space : space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + '\n';
  }
  return table;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
