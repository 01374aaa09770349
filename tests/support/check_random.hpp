// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether numbers are drawn from a distribution. Seeds are fixed, so a test of a sample either
// passes for good or does not; the limits are those that one right sample in thousands misses.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace test {

/// Kolmogorov and Smirnov's test of a continuous distribution: the largest distance of the sample's
/// distribution function from this one, times sqrt(n), is above 2 in one sample of 1500.
template <class F>
bool follows(std::vector<double> sample, const F& cdf) {
  if (sample.empty()) return false;
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]);
    distance =
        std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return distance * std::sqrt(n) < 2;
}

/// Whether 0, 1, 2... occur with these probabilities, and nothing else: within four standard
/// deviations each, exactly where that is 0.
inline bool occur(const std::vector<double>& sample, const std::vector<double>& probability) {
  std::vector<double> count(probability.size());
  for (const double x : sample) {
    if (!(x >= 0 && x < static_cast<double>(count.size()) && x == std::floor(x))) return false;
    ++count[static_cast<std::size_t>(x)];
  }
  const auto n = static_cast<double>(sample.size());
  for (std::size_t k = 0; k < count.size(); ++k) {
    const double p = probability[k];
    if (std::abs(count[k] - n * p) > 4 * std::sqrt(n * p * (1 - p))) return false;
  }
  return !sample.empty();
}

}  // namespace test
