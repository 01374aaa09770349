// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "typeflow/core/files.hpp"
#include "typeflow/core/xml_text.hpp"
#include "typeflow/profiler/files.hpp"
#include "typeflow/profiler/view_table.ipp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Draws the boxes of a flame graph: a row for each level, as wide as the time.
class FlameGraph {
 public:
  TYPEFLOW_COLD FlameGraph(const ProfileNode& root, int width)
      : all_(root.total.seconds), scale_(all_ > 0 ? width / all_ : 0) {
    const std::string height = std::to_string(row * levels(root));
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
           "\" height=\"" + height + "\" viewBox=\"0 0 " + std::to_string(width) + ' ' + height +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n";
    draw(root, 0, 0);
    out_ += "</svg>\n";
  }
  TYPEFLOW_COLD std::string finish() { return std::move(out_); }

 private:
  static constexpr int row = 18;
  static constexpr double least_width = 0.2;  // in pixels: what nobody sees is not drawn
  static constexpr double character = 6.5;    // in pixels: room for one

  TYPEFLOW_COLD bool is_drawn(const ProfileNode& node) const {
    return node.total.seconds * scale_ >= least_width;
  }
  TYPEFLOW_COLD int levels(const ProfileNode& node) const {
    int deepest = 0;
    for (const ProfileNode& below : node.below) {
      if (is_drawn(below)) deepest = std::max(deepest, levels(below));
    }
    return deepest + 1;
  }
  TYPEFLOW_COLD static std::string pixels(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.2f", x);
    return text;
  }
  /// A warm colour, the same for the same name.
  TYPEFLOW_COLD static std::string color_of(const std::string& name) {
    std::uint32_t hash = 2166136261u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char text[40];
    std::snprintf(text, sizeof text, "hsl(%u,75%%,%u%%)", hash % 50, 62 + hash / 64 % 12);
    return text;
  }
  TYPEFLOW_COLD void draw(const ProfileNode& node, double begin, int level) {
    const double left = begin * scale_;
    const double width = node.total.seconds * scale_;
    std::string title = node.name + ": " + cell_of(node, ProfileColumn::time, all_) + ", " +
                        cell_of(node, ProfileColumn::share, all_) + ", " +
                        cell_of(node, ProfileColumn::calls, all_) + " calls, " +
                        cell_of(node, ProfileColumn::flop_rate, all_) + " Gflop/s, " +
                        cell_of(node, ProfileColumn::byte_rate, all_) + " GB/s";
    if (!node.operations.empty()) title += ", " + node.operations;
    if (!node.source.empty()) title += ", " + node.source;
    out_ += "<g><title>" + xml_escaped(title) + "</title><rect x=\"" + pixels(left) + "\" y=\"" +
            std::to_string(row * level) + "\" width=\"" + pixels(width) + "\" height=\"" +
            std::to_string(row - 1) + "\" fill=\"" +
            color_of(node.operations.empty() ? node.name : node.operations) + "\"/>";
    const auto room = static_cast<std::size_t>(std::max(width / character - 1, 0.0));
    const std::string label = node.name.substr(node.name.rfind('/') + 1);
    if (room >= 3) {
      std::size_t end = label.size() <= room ? label.size() : room - 2;
      while (end < label.size() && (static_cast<unsigned char>(label[end]) & 0xc0u) == 0x80) --end;
      const std::string shown = label.substr(0, end) + (end < label.size() ? ".." : "");
      out_ += "<text x=\"" + pixels(left + 3) + "\" y=\"" + std::to_string(row * level + 13) +
              "\">" + xml_escaped(shown) + "</text>";
    }
    out_ += "</g>\n";
    begin += node.own.seconds;
    for (const ProfileNode& below : node.below) {
      if (is_drawn(below)) draw(below, begin, level + 1);
      begin += below.total.seconds;
    }
  }

  double all_;
  double scale_;
  std::string out_;
};

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string flame_graph(const Profile& profile, int width) {
  return detail::FlameGraph(profile_tree(profile, {.view = ProfileView::scope}), width).finish();
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void save_flame_graph(const Profile& profile,
                                                        const std::string& path, int width) {
  detail::replace_file(path, flame_graph(profile, width));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
