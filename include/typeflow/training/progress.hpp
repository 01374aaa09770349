// SPDX-License-Identifier: Apache-2.0
#pragma once

// The line that tells how far a training has come.
//
//   step 300 of 1000   loss 0.3412   52110 samples/s   0:12 left

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct ProgressOptions {
  std::int64_t steps = 0;       ///< of the whole training; 0: nobody knows
  std::int64_t batch_size = 0;  ///< samples a step; 0: the line tells steps a second
  std::FILE* out = stdout;      ///< null: nothing is written
  std::int64_t every = 100;     ///< steps between two lines where `out` is no terminal
};

namespace detail {

/// 75 -> "1:15", 3700 -> "1:01:40".
inline std::string clock_text(double seconds) {
  const auto all = static_cast<long long>(std::min(std::ceil(seconds), 1e9));
  char text[32];
  if (all < 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld", all / 60, all % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
  }
  return text;
}

/// The line, without what ends it. `step` of them took `seconds`.
inline std::string progress_text(const ProgressOptions& options, std::int64_t step, double loss,
                                 double seconds) {
  const bool samples = options.batch_size > 0;
  const double rate = static_cast<double>(step) / std::max(seconds, 1e-9);
  char text[160];
  int length = std::snprintf(text, sizeof text, "step %lld", static_cast<long long>(step));
  const auto add = [&](const char* format, auto... values) {
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), format,
                            values...);
  };
  if (options.steps > 0) add(" of %lld", static_cast<long long>(options.steps));
  add("   loss %.4g", loss);
  add("   %.4g %s/s", samples ? rate * static_cast<double>(options.batch_size) : rate,
      samples ? "samples" : "steps");
  if (options.steps > step) {
    const double left = static_cast<double>(options.steps - step) / rate;
    add("   %s left", clock_text(left).c_str());
  }
  return text;
}

}  // namespace detail

/// One line that is written over on a terminal, twenty times a second at most; elsewhere a line
/// every so many steps. The last step's always stays. Its clock begins when it is made.
class Progress {
 public:
  explicit Progress(ProgressOptions options = {}) : options_(options) {
    terminal_ = options.out != nullptr && isatty(fileno(options.out)) != 0;
  }

  /// Tells that `step` steps are done, and the last one's loss.
  void show(std::int64_t step, double loss) {
    if (options_.out == nullptr) return;
    const Clock::time_point now = Clock::now();
    const bool last = step == options_.steps;
    const bool due = terminal_ ? now - shown_ >= std::chrono::milliseconds(50)
                               : step % std::max<std::int64_t>(options_.every, 1) == 0;
    if (!due && !last) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string text = detail::progress_text(options_, step, loss, seconds);
    std::fprintf(options_.out, "%s%s%s", terminal_ ? "\r\x1b[K" : "", text.c_str(),
                 terminal_ && !last ? "" : "\n");
    open_ = terminal_ && !last;
    std::fflush(options_.out);
  }

  /// Ends the line on a terminal, for what else is to be written.
  void end_line() {
    if (!open_) return;
    std::fputc('\n', options_.out);
    open_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  ProgressOptions options_;
  bool terminal_ = false;
  bool open_ = false;  // a line on a terminal that has not ended
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
