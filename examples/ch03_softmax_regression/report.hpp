// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the program prints while and after it trains.

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

/// One line that is written over on a terminal; in a file or pipe a line every 100 steps.
class Progress {
 public:
  Progress(std::int64_t steps, std::int64_t batch) : steps_(steps), batch_(batch) {}

  void show(std::int64_t step, float loss) {
    const Clock::time_point now = Clock::now();
    const bool last = step == steps_;
    const bool due = terminal_ ? now - shown_ >= std::chrono::milliseconds(50) : step % 100 == 0;
    if (!due && !last) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double samples = static_cast<double>(step) * static_cast<double>(batch_);
    std::printf("%sstep %lld of %lld   loss %.4f   %.0f samples/s%s", terminal_ ? "\r\x1b[K" : "",
                static_cast<long long>(step), static_cast<long long>(steps_),
                static_cast<double>(loss), samples / seconds, terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t steps_;
  std::int64_t batch_;
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
};

/// How many images of each digit (row) were taken for which (column).
inline void print_confusion(std::span<const std::int32_t> labels,
                            std::span<const std::int32_t> predictions) {
  std::array<std::array<int, 10>, 10> count{};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++count[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(predictions[i])];
  }
  std::printf("\ntest images of each digit (row) by prediction (column)\n   ");
  for (int digit = 0; digit < 10; ++digit) std::printf("%6d", digit);
  for (int digit = 0; digit < 10; ++digit) {
    std::printf("\n%3d", digit);
    for (const int n : count[static_cast<std::size_t>(digit)]) std::printf("%6d", n);
  }
  std::printf("\n\n");
}
