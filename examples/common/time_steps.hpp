// SPDX-License-Identifier: Apache-2.0
#pragma once

// How chapter 6 measures a net: some steps to warm up, then steps that count, and of these the mean
// and the standard deviation.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace examples {

/// Random images of size x size pixels in three colours, uniform in [-1, 1). They keep the time of
/// a net independent of the source of its images; what they show does not matter.
inline std::vector<float> noise_images(std::int64_t count, int size, std::uint64_t seed) {
  std::vector<float> pixels(static_cast<std::size_t>(count * size * size * 3));
  std::uint64_t state = seed;
  for (float& pixel : pixels) {
    // Knuth's linear congruential generator, of which the high bits are the random ones.
    state = state * 6364136223846793005u + 1442695040888963407u;
    pixel = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
  }
  return pixels;
}

/// Runs `step` ten times (or `steps` times, if these are fewer) without a clock, then `steps` times
/// with it. Prints the time of every tenth step and a last line. Returns the mean, in seconds.
template <class Step>
double time_steps(const char* what, std::int64_t steps, const Step& step) {
  using Clock = std::chrono::steady_clock;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(10, steps); ++i) step();
  double sum = 0;
  double sum_of_squares = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto begin = Clock::now();
    step();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (i % 10 == 0) {
      std::printf("step %lld, duration = %.3f\n", static_cast<long long>(i), seconds);
    }
    sum += seconds;
    sum_of_squares += seconds * seconds;
  }
  const double count = static_cast<double>(steps);
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, sum_of_squares / count - mean * mean));
  std::printf("%s across %lld steps, %.3f +/- %.3f sec / batch\n", what,
              static_cast<long long>(steps), mean, deviation);
  std::fflush(stdout);
  return mean;
}

}  // namespace examples
