// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "typeflow/exec/timeline.hpp"
#include "typeflow/exec/timeline_drawing.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

namespace detail {

TYPEFLOW_COLD inline std::string span_name(const ir::ProgramView& program, const Span& span) {
  if (span.step == none) return "copy";
  Message text{};
  print_step(text, program, program.steps[span.step]);
  return std::string(text.view());
}
/// The time of the first span's beginning, and of the last one's end.
struct Interval {
  double first = 0;
  double last = 0;
};
TYPEFLOW_COLD inline Interval interval_of(const std::vector<Span>& spans) {
  if (spans.empty()) return {};
  Interval all{spans[0].begin, spans[0].end};
  for (const Span& s : spans) {
    all.first = std::min(all.first, s.begin);
    all.last = std::max(all.last, s.end);
  }
  return all;
}

/// A span as a box: gray for a copy.
TYPEFLOW_COLD inline void draw_span(TimelineDrawing& drawing, int row,
                                    const ir::ProgramView& program, const Span& s, double first,
                                    const char* color) {
  drawing.box(row, s.begin - first, s.end - first, s.step == none ? copy_color : color,
              span_name(program, s));
}

/// The events of a process in a trace of Chrome's format, each with a comma and a new line behind.
TYPEFLOW_COLD inline std::string trace_events(const ir::ProgramView& program,
                                              std::span<const MachineDevice> devices,
                                              const std::vector<Span>& spans, int process,
                                              double first) {
  const std::string pid = std::to_string(process);
  std::string out;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    out += "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " + pid +
           ", \"tid\": " + std::to_string(d) + ", \"args\": {\"name\": \"" +
           device_name(devices[d]) + "\"}},\n";
  }
  for (const Span& s : spans) {
    out += "{\"ph\": \"X\", \"name\": \"" + escaped(span_name(program, s), true) +
           "\", \"pid\": " + pid + ", \"tid\": " + std::to_string(s.device) +
           ", \"ts\": " + fixed((s.begin - first) * 1e6) +
           ", \"dur\": " + fixed((s.end - s.begin) * 1e6) + "},\n";
  }
  return out;
}
TYPEFLOW_COLD inline std::string trace_file(std::string events) {
  if (events.ends_with(",\n")) events.erase(events.size() - 2, 1);
  return "{\"traceEvents\": [\n" + events + "]}\n";
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string timeline_svg(const ir::ProgramView& program,
                                                           std::span<const MachineDevice> devices,
                                                           const std::vector<Span>& spans,
                                                           int width) {
  const detail::Interval all = detail::interval_of(spans);
  detail::TimelineDrawing drawing(width, 70, static_cast<int>(devices.size()),
                                  all.last - all.first);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    drawing.label(static_cast<int>(d), detail::device_name(devices[d]));
  }
  for (const Span& s : spans)
    detail::draw_span(drawing, s.device, program, s, all.first, detail::kernel_color);
  return drawing.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string timelines_svg(const ir::ProgramView& program,
                                                            std::span<const MachineDevice> devices,
                                                            const std::vector<Span>& predicted,
                                                            const std::vector<Span>& measured,
                                                            int width) {
  const detail::Interval first = detail::interval_of(predicted);
  const detail::Interval second = detail::interval_of(measured);
  const double seconds = std::max(first.last - first.first, second.last - second.first);
  detail::TimelineDrawing drawing(width, 130, 2 * static_cast<int>(devices.size()), seconds);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::string name = detail::device_name(devices[d]);
    drawing.label(2 * static_cast<int>(d), name + " predicted");
    drawing.label(2 * static_cast<int>(d) + 1, name + " measured");
  }
  for (const Span& s : predicted)
    detail::draw_span(drawing, 2 * s.device, program, s, first.first, "#e0a458");
  for (const Span& s : measured) {
    detail::draw_span(drawing, 2 * s.device + 1, program, s, second.first, detail::kernel_color);
  }
  return drawing.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string chrome_trace(const ir::ProgramView& program,
                                                           std::span<const MachineDevice> devices,
                                                           const std::vector<Span>& spans) {
  return detail::trace_file(detail::trace_events(program, devices, spans, 0, 0));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string chrome_traces(const ir::ProgramView& program,
                                                            std::span<const MachineDevice> devices,
                                                            const std::vector<Span>& predicted,
                                                            const std::vector<Span>& measured) {
  std::string events;
  const char* const names[] = {"predicted", "measured"};
  for (int process = 0; process < 2; ++process) {
    const std::vector<Span>& spans = process == 0 ? predicted : measured;
    events +=
        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " + std::to_string(process) +
        ", \"args\": {\"name\": \"" + names[process] + "\"}},\n" +
        detail::trace_events(program, devices, spans, process, detail::interval_of(spans).first);
  }
  return detail::trace_file(std::move(events));
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
