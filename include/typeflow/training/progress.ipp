// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/training/progress.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_DEFINITION std::string clock_text(double seconds) {
  const auto all = static_cast<long long>(std::min(std::ceil(seconds), 1e9));
  char text[32];
  if (all < 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld", all / 60, all % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
  }
  return text;
}

TYPEFLOW_DEFINITION std::string figure_text(const Figure& figure) {
  char value[32];
  std::snprintf(value, sizeof value, " %.4g", figure.value);
  return "   " + figure.name + value;
}

TYPEFLOW_DEFINITION std::string progress_text(const ProgressOptions& options, std::int64_t step,
                                              std::int64_t done, std::span<const Figure> figures,
                                              double seconds) {
  const bool samples = options.batch_size > 0;
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  std::string text = "step " + std::to_string(step);
  if (options.steps > 0) text += " of " + std::to_string(options.steps);
  for (const Figure& figure : figures) text += figure_text(figure);
  char speed[48];
  std::snprintf(speed, sizeof speed, "   %.4g %s/s",
                samples ? rate * static_cast<double>(options.batch_size) : rate,
                samples ? "samples" : "steps");
  text += speed;
  if (options.steps > step) {
    text += "   " + clock_text(static_cast<double>(options.steps - step) / rate) + " left";
  }
  return text;
}

TYPEFLOW_DEFINITION double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace detail

TYPEFLOW_DEFINITION Progress::Progress(ProgressOptions options) : options_(options) {
  terminal_ = options.out != nullptr && isatty(fileno(options.out)) != 0;
}

TYPEFLOW_DEFINITION void Progress::show(std::int64_t step, std::span<const Figure> figures) {
  if (options_.out == nullptr) return;
  step_ = step;
  figures_.assign(figures.begin(), figures.end());
  pending_ = true;
  const bool due = terminal_ ? detail::clock_seconds() - shown_ >= 0.05
                             : step % std::max<std::int64_t>(options_.every, 1) == 0;
  if (due) write();
  if (step == options_.steps) finish();
}

TYPEFLOW_DEFINITION void Progress::end_line() {
  if (!terminal_) return;
  write();
  if (open_) std::fputc('\n', options_.out);
  open_ = false;
  std::fflush(options_.out);
}

TYPEFLOW_DEFINITION void Progress::print(std::string_view line) {
  if (options_.out == nullptr) return;
  end_line();
  std::fprintf(options_.out, "%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(options_.out);
}

TYPEFLOW_DEFINITION void Progress::finish() {
  end_line();
  write();
}

TYPEFLOW_DEFINITION void Progress::pause() {
  end_line();
  before_ = seconds();
  paused_ = true;
}

TYPEFLOW_DEFINITION void Progress::resume() {
  if (!paused_) return;
  start_ = detail::clock_seconds();
  paused_ = false;
}

TYPEFLOW_DEFINITION double Progress::seconds() const {
  const double now = paused_ ? 0 : detail::clock_seconds() - start_;
  return before_ + now;
}

TYPEFLOW_DEFINITION void Progress::write() {
  if (!pending_) return;
  pending_ = false;
  shown_ = detail::clock_seconds();
  const std::string text =
      detail::progress_text(options_, step_, step_ - first_, figures_, seconds());
  std::fprintf(options_.out, terminal_ ? "\r\x1b[K%s" : "%s\n", text.c_str());
  open_ = terminal_;
  std::fflush(options_.out);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
