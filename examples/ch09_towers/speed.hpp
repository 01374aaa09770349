// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

/// Time since it was made.
class Speed {
 public:
  /// Prints how fast so many steps with so many rows, those of all towers, have been.
  void print(std::int64_t steps, std::int64_t rows) const {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::printf("%.0f examples/s, %.4f s/batch\n", static_cast<double>(steps * rows) / seconds,
                seconds / static_cast<double>(steps));
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};
