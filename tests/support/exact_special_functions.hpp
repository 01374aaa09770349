// SPDX-License-Identifier: Apache-2.0
#pragma once

// digamma, trigamma and the modified Bessel functions of long double, for tests.

#include <cmath>
#include <limits>
#include <numbers>

namespace test {

using Exact = long double;

/// The sum of 1 / (x + k)^n over k >= 0, for x > 0 and n >= 2 (Euler-Maclaurin).
inline Exact hurwitz_sum(int n, Exact x) {
  Exact sum = 0;
  for (; x < 40; ++x) sum += std::pow(x, -n);
  const Exact power = std::pow(x, -n);
  Exact rest = x * power / (n - 1) + power / 2;
  Exact factor = n * power / x;
  for (const Exact over : {12.0L, -720.0L, 30240.0L, -1209600.0L, 47900160.0L}) {
    rest += factor / over;
    factor *= (n + 1) / x * ((n + 2) / x);
    n += 2;
  }
  return sum + rest;
}

/// NaN at negative integers and -infinity; infinite at 0, with the sign of -x.
inline Exact digamma(Exact x) {
  constexpr Exact infinity = std::numeric_limits<Exact>::infinity();
  constexpr Exact pi = std::numbers::pi_v<Exact>;
  if (x == 0) return std::signbit(x) ? infinity : -infinity;
  if (x < 0) {
    const Exact rest = x - std::nearbyint(x);
    if (!(std::abs(rest) > 0)) return std::numeric_limits<Exact>::quiet_NaN();
    return digamma(1 - x) - pi / std::tan(pi * rest);
  }
  // Near the root, in parts because its first 64 bits are not enough: Taylor's series.
  const Exact root = 1.461632144968362341280917L;
  const Exact off = (x - root) + 1.8257096315963484215e-20L;
  if (std::abs(off) < 0.2L) {
    Exact y = 0;
    Exact power = off;
    for (int n = 1; n < 40; ++n) {
      y += (n % 2 == 1 ? power : -power) * hurwitz_sum(n + 1, root);
      power *= off;
    }
    return y;
  }
  Exact y = 0;
  for (; x < 40; ++x) y -= 1 / x;
  const Exact r = 1 / (x * x);
  const Exact series =
      r * (1.0L / 12 - r * (1.0L / 120 - r * (1.0L / 252 - r * (1.0L / 240 - r / 132))));
  return y + std::log(x) - 1 / (2 * x) - series;
}

/// Infinite at 0 and at negative integers, NaN at -infinity.
inline Exact trigamma(Exact x) {
  constexpr Exact infinity = std::numeric_limits<Exact>::infinity();
  constexpr Exact pi = std::numbers::pi_v<Exact>;
  if (x == infinity) return 0;
  if (!(x <= 0)) return hurwitz_sum(2, x);
  const Exact rest = x - std::nearbyint(x);
  if (rest == 0) return infinity;
  const Exact cosecant = pi / std::sin(pi * rest);
  return cosecant * cosecant - hurwitz_sum(2, 1 - x);
}

/// I_n(x) for n = 0 or 1, over e^|x| if it is to be scaled: the power series, Hankel's expansion
/// beyond 40 (DLMF 10.25.2, 10.40.1).
inline Exact bessel_i(int n, bool scaled, Exact x) {
  const Exact size = std::abs(x);
  const Exact sign = n == 1 && std::signbit(x) ? -1 : 1;
  Exact sum = 1;
  Exact term = 1;
  if (size <= 40) {
    for (int k = 1; k < 200; ++k) {
      term *= size * size / (4.0L * k * (k + n));
      sum += term;
    }
    return sign * sum * (n == 1 ? size / 2 : 1) * (scaled ? std::exp(-size) : 1);
  }
  for (int k = 1; k < 40; ++k) {
    term *= ((2 * k - 1) * (2 * k - 1) - 4 * n) / (8 * size * k);
    sum += term;
  }
  const Exact y = sign * sum / std::sqrt(2 * std::numbers::pi_v<Exact> * size);
  return scaled ? y : y * std::exp(size);
}

}  // namespace test
