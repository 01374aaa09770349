// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes of PNG files, packed by zlib. Source: W3C, Portable Network Graphics, 2003.

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Stores the differences of a row's bytes from what predict(left, above, above left) says of them.
/// Returns the sum of their sizes. The pixel at the left is `channels` bytes before.
template <class Predict>
std::uint64_t filter_png_row(const std::uint8_t* row, const std::uint8_t* above, std::size_t size,
                             std::size_t channels, std::uint8_t* to, Predict predict) {
  std::uint64_t sum = 0;
  const auto store = [&](std::size_t i, int predicted) {
    to[i] = static_cast<std::uint8_t>(row[i] - predicted);
    sum += static_cast<std::uint64_t>(std::abs(static_cast<std::int8_t>(to[i])));
  };
  for (std::size_t i = 0; i < channels; ++i) store(i, predict(0, above[i], 0));
  for (std::size_t i = channels; i < size; ++i) {
    store(i, predict(row[i - channels], above[i], above[i - channels]));
  }
  return sum;
}

/// The neighbour that is nearest to left + above - corner: the left one, the one above, or the
/// corner, which is above the left one. (The Paeth filter of the PNG specification.)
inline int paeth_prediction(int left, int above, int corner) {
  const int by_left = std::abs(above - corner);
  const int by_above = std::abs(left - corner);
  const int by_corner = std::abs(left + above - 2 * corner);
  return by_left <= by_above && by_left <= by_corner ? left
         : by_above <= by_corner                     ? above
                                                     : corner;
}

/// (H,row) -> (H,1 + row): each row behind the number of its filter. Of the five filters it takes
/// the one with the least sum of differences, as the specification advises for photographs.
inline std::vector<std::uint8_t> filter_png(std::span<const std::uint8_t> pixels, std::size_t row,
                                            std::size_t height, std::size_t channels) {
  std::vector<std::uint8_t> out;
  out.reserve(height * (1 + row));
  const std::vector<std::uint8_t> black(row);
  std::vector<std::uint8_t> tried(row);
  std::vector<std::uint8_t> best(row);
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* const at = pixels.data() + y * row;
    const std::uint8_t* const above = y == 0 ? black.data() : at - row;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint8_t number = 0;
    const auto attempt = [&](std::uint8_t filter, auto predict) {
      const std::uint64_t sum = filter_png_row(at, above, row, channels, tried.data(), predict);
      if (sum >= least) return;
      least = sum;
      number = filter;
      std::swap(tried, best);
    };
    attempt(0, [](int, int, int) { return 0; });
    attempt(1, [](int left, int, int) { return left; });
    attempt(2, [](int, int up, int) { return up; });
    attempt(3, [](int left, int up, int) { return (left + up) / 2; });
    attempt(4, paeth_prediction);
    out.push_back(number);
    out.insert(out.end(), best.begin(), best.end());
  }
  return out;
}
/// The same with no filter: drawings have rows with long repetitions, which differences hide.
inline std::vector<std::uint8_t> plain_png(std::span<const std::uint8_t> pixels, std::size_t row,
                                           std::size_t height) {
  std::vector<std::uint8_t> out;
  out.reserve(height * (1 + row));
  for (std::size_t y = 0; y < height; ++y) {
    const auto line = pixels.subspan(y * row, row);
    out.push_back(0);
    out.insert(out.end(), line.begin(), line.end());
  }
  return out;
}

inline std::vector<std::uint8_t> zlib_packed(const std::vector<std::uint8_t>& bytes) {
  constexpr int level = 4;  // 1 % larger than at level 6, in half of the time
  ::uLong size = ::compressBound(static_cast<::uLong>(bytes.size()));
  std::vector<std::uint8_t> out(size);
  if (::compress2(out.data(), &size, bytes.data(), static_cast<::uLong>(bytes.size()), level) !=
      Z_OK) {
    throw std::bad_alloc();  // all that can fail
  }
  out.resize(size);
  return out;
}

/// Whether filters make a file smaller, tried on eight rows of each 64.
inline bool filters_help(std::span<const std::uint8_t> pixels, std::size_t row, std::size_t height,
                         std::size_t channels) {
  std::vector<std::uint8_t> some;
  for (std::size_t y = 0; y < height; y += 64) {
    const auto part = pixels.subspan(y * row, std::min<std::size_t>(8, height - y) * row);
    some.insert(some.end(), part.begin(), part.end());
  }
  const std::size_t rows = some.size() / row;
  return zlib_packed(filter_png(some, row, rows, channels)).size() <
         zlib_packed(plain_png(some, row, rows)).size();
}

/// A PNG file of 8-bit channels: 1 grey, 3 RGB, 4 RGB and opacity; (height,width,channels).
/// Error if it has no pixel, or is packed to 2 GiB or more.
TYPEFLOW_COLD inline std::vector<std::uint8_t> pack_png(std::span<const std::uint8_t> pixels,
                                                        int width, int height, int channels) {
  if (width < 1 || height < 1) {
    throw Error("PNG image", "a height and width of 1 or more",
                std::to_string(height) + " x " + std::to_string(width));
  }
  const auto rows = static_cast<std::size_t>(height);
  const auto depth = static_cast<std::size_t>(channels);
  const std::size_t row = static_cast<std::size_t>(width) * depth;
  const std::vector<std::uint8_t> packed =
      zlib_packed(filters_help(pixels, row, rows, depth) ? filter_png(pixels, row, rows, depth)
                                                         : plain_png(pixels, row, rows));
  if (packed.size() > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    throw Error("PNG image", "less than 2 GiB when packed", std::to_string(packed.size()));
  }
  std::vector<std::uint8_t> out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto put = [](std::vector<std::uint8_t>& to, std::size_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      to.push_back(static_cast<std::uint8_t>(n >> shift & 0xffu));
    }
  };
  const auto chunk = [&](std::string_view type, const std::vector<std::uint8_t>& content) {
    put(out, content.size());
    const std::size_t start = out.size();
    out.insert(out.end(), type.begin(), type.end());
    out.insert(out.end(), content.begin(), content.end());
    put(out, ::crc32(0, out.data() + start, static_cast<::uInt>(out.size() - start)));
  };
  std::vector<std::uint8_t> header;
  put(header, static_cast<std::size_t>(width));
  put(header, rows);
  const std::uint8_t color = channels == 1 ? 0 : channels == 3 ? 2 : 6;
  header.insert(header.end(), {8, color, 0, 0, 0});
  chunk("IHDR", header);
  chunk("IDAT", packed);
  chunk("IEND", {});
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
