// SPDX-License-Identifier: Apache-2.0
#pragma once

// SVG drawings of timelines: rows of boxes.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "typeflow/core/isa.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec::detail {

inline constexpr const char* kernel_color = "#6a9fd8";
inline constexpr const char* copy_color = "#bbb";

/// Text in which XML's or JSON's special characters are replaced.
TYPEFLOW_COLD inline std::string escaped(const std::string& text, bool json) {
  std::string out;
  for (const char c : text) {
    if (json && (c == '"' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (!json && (c == '<' || c == '>' || c == '&')) {
      out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}
TYPEFLOW_COLD inline std::string fixed(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", x);
  return text;
}
/// An SVG drawing of rows of boxes.
class TimelineDrawing {
 public:
  static constexpr int row = 28;

  TYPEFLOW_COLD TimelineDrawing(int width, int left, int rows, double seconds)
      : left_(left),
        height_(row * rows + row),
        seconds_(seconds),
        scale_(seconds > 0 ? (width - left) / seconds : 0) {
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
           "\" height=\"" + std::to_string(height_) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n";
  }
  TYPEFLOW_COLD void label(int at, const std::string& text) {
    out_ += "<text x=\"4\" y=\"" + std::to_string(row * at + 18) + "\">" + text + "</text>\n";
  }
  /// A box from `begin` to `end` seconds, with a text that viewers show on demand.
  TYPEFLOW_COLD void box(int at, double begin, double end, const char* color,
                         const std::string& title) {
    out_ += "<rect x=\"" + fixed(left_ + begin * scale_) + "\" y=\"" +
            std::to_string(row * at + 4) + "\" width=\"" +
            fixed(std::max((end - begin) * scale_, 0.5)) + "\" height=\"20\" fill=\"" + color +
            "\" stroke=\"#fff\" stroke-width=\"0.5\"><title>" + escaped(title, false) + ", " +
            fixed((end - begin) * 1e6) + " us</title></rect>\n";
  }
  TYPEFLOW_COLD std::string finish() {
    out_ += "<text x=\"" + std::to_string(left_) + "\" y=\"" + std::to_string(height_ - 8) + "\">" +
            fixed(seconds_ * 1e3) + " ms</text>\n</svg>\n";
    return std::move(out_);
  }

 private:
  int left_;
  int height_;
  double seconds_;
  double scale_;
  std::string out_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec::detail
