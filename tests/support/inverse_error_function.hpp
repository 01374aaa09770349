// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inverse of the error function in long double, by Newton's method: slow and plain.

#include <cmath>
#include <limits>
#include <numbers>

namespace test {

/// The root of erfc(y) = 1 - x for x >= 0, by Newton's method on its logarithm.
inline long double erfinv(long double x) {
  if (!(std::abs(x) <= 1)) return std::numeric_limits<long double>::quiet_NaN();
  if (std::abs(x) == 1) return x * std::numeric_limits<long double>::infinity();
  if (x < 0) return -erfinv(-x);
  if (x < 0.1L) {  // erf itself, there
    long double y = x;
    for (int i = 0; i < 20; ++i) {
      y -= (std::erf(y) - x) * std::sqrt(std::numbers::pi_v<long double>) / 2 * std::exp(y * y);
    }
    return y;
  }
  long double y = std::sqrt(-std::log1p(-x));
  for (int i = 0; i < 60; ++i) {
    const long double tail = std::erfc(y);
    const long double slope =
        -2 / std::sqrt(std::numbers::pi_v<long double>) * std::exp(-y * y) / tail;
    y -= (std::log(tail) - std::log1p(-x)) / slope;
  }
  return y;
}

}  // namespace test
