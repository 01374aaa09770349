// SPDX-License-Identifier: Apache-2.0
#pragma once

// Colours of single pixels, for references.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace test {

using Pixel = std::array<double, 3>;

/// Source: Foley, van Dam, Computer Graphics, 13.3.4: the hexcone, by its sectors.
inline Pixel hsv(const Pixel& rgb) {
  const auto [r, g, b] = rgb;
  const double high = std::max({r, g, b});
  const double low = std::min({r, g, b});
  if (high <= 0) return {0, 0, high};
  if (high == low) return {0, 0, high};
  double sixths = 0;
  if (r == high) {
    sixths = (g - b) / (high - low);
  } else if (g == high) {
    sixths = 2 + (b - r) / (high - low);
  } else {
    sixths = 4 + (r - g) / (high - low);
  }
  return {(sixths < 0 ? sixths + 6 : sixths) / 6, (high - low) / high, high};
}
/// The inverse.
inline Pixel rgb(const Pixel& hsv) {
  const auto [h, s, v] = hsv;
  const double sixths = 6 * (h - std::floor(h));
  const double f = sixths - std::floor(sixths);
  const double p = v * (1 - s);
  const double q = v * (1 - s * f);
  const double t = v * (1 - s * (1 - f));
  const Pixel sectors[] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  return sectors[static_cast<std::size_t>(sixths) % 6];
}

}  // namespace test
