// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

#include "typeflow/exec/timeline.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::exec {

namespace detail {

TYPEFLOW_COLD inline std::string span_name(const ir::ProgramView& program, const Span& span) {
  if (span.step == none) return "copy";
  Message text{};
  print_step(text, program, program.steps[span.step]);
  return std::string(text.view());
}
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
TYPEFLOW_COLD inline std::string device_name(const MachineDevice& device) {
  Message text{};
  text << device.device;
  return std::string(text.view());
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string timeline_svg(const ir::ProgramView& program,
                                                           std::span<const MachineDevice> devices,
                                                           const std::vector<Span>& spans,
                                                           int width) {
  constexpr int row = 28;
  constexpr int left = 70;
  double first = spans.empty() ? 0 : spans[0].begin;
  double last = first;
  for (const Span& s : spans) {
    first = std::min(first, s.begin);
    last = std::max(last, s.end);
  }
  const double scale = last > first ? (width - left) / (last - first) : 0;
  const int height = row * static_cast<int>(devices.size()) + row;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
                    "\" height=\"" + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n";
  for (std::size_t d = 0; d < devices.size(); ++d) {
    out += "<text x=\"4\" y=\"" + std::to_string(row * static_cast<int>(d) + 18) + "\">" +
           detail::device_name(devices[d]) + "</text>\n";
  }
  for (const Span& s : spans) {
    out += "<rect x=\"" + detail::fixed(left + (s.begin - first) * scale) + "\" y=\"" +
           std::to_string(row * s.device + 4) + "\" width=\"" +
           detail::fixed(std::max((s.end - s.begin) * scale, 0.5)) + "\" height=\"20\" fill=\"" +
           (s.step == none ? "#bbb" : "#6a9fd8") +
           "\" stroke=\"#fff\" stroke-width=\"0.5\"><title>" +
           detail::escaped(detail::span_name(program, s), false) + ", " +
           detail::fixed((s.end - s.begin) * 1e6) + " us</title></rect>\n";
  }
  out += "<text x=\"" + std::to_string(left) + "\" y=\"" + std::to_string(height - 8) + "\">" +
         detail::fixed((last - first) * 1e3) + " ms</text>\n</svg>\n";
  return out;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string chrome_trace(const ir::ProgramView& program,
                                                           std::span<const MachineDevice> devices,
                                                           const std::vector<Span>& spans) {
  std::string out = "{\"traceEvents\": [\n";
  for (std::size_t d = 0; d < devices.size(); ++d) {
    out += "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": " + std::to_string(d) +
           ", \"args\": {\"name\": \"" + detail::device_name(devices[d]) + "\"}},\n";
  }
  for (const Span& s : spans) {
    out += "{\"ph\": \"X\", \"name\": \"" + detail::escaped(detail::span_name(program, s), true) +
           "\", \"pid\": 0, \"tid\": " + std::to_string(s.device) +
           ", \"ts\": " + detail::fixed(s.begin * 1e6) +
           ", \"dur\": " + detail::fixed((s.end - s.begin) * 1e6) + "},\n";
  }
  if (out.ends_with(",\n")) out.erase(out.size() - 2, 1);
  return out + "]}\n";
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::exec
