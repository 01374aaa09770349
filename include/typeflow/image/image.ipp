// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/image/image.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

struct ValueRange {
  float low;
  float high;
};

inline ValueRange finite_range(std::span<const float> values) {
  ValueRange range{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

/// The value's position in the range, as grey. NaN is black; a range of one value is mid grey.
inline std::uint8_t grey(float value, ValueRange range) {
  if (std::isnan(value) || value < range.low) return 0;
  if (value > range.high) return 255;
  if (!(range.low < range.high)) return 128;
  const double share = (double{value} - range.low) / (double{range.high} - range.low);
  return static_cast<std::uint8_t>(share * 255 + 0.5);
}

}  // namespace detail

TYPEFLOW_DEFINITION Image tile_images(std::span<const float> images, int height, int width,
                                      TileOptions options) {
  if (height < 1 || width < 1) {
    throw Error("tile_images", "a height and width of 1 or more",
                std::to_string(height) + " x " + std::to_string(width));
  }
  if (options.columns < 1 || options.gap < 0) {
    throw Error("tile_images", "1 column or more and a gap of 0 or more",
                std::to_string(options.columns) + " and " + std::to_string(options.gap));
  }
  const auto h = static_cast<std::size_t>(height);
  const auto w = static_cast<std::size_t>(width);
  const auto gap = static_cast<std::size_t>(options.gap);
  if (images.empty() || images.size() % (h * w) != 0) {
    throw Error("tile_images",
                "whole images of " + std::to_string(height) + " x " + std::to_string(width),
                std::to_string(images.size()) + " values");
  }
  const std::size_t count = images.size() / (h * w);
  const std::size_t columns = std::min(count, static_cast<std::size_t>(options.columns));
  const std::size_t rows = (count + columns - 1) / columns;
  const std::size_t picture_height = rows * (h + gap) - gap;
  const std::size_t picture_width = columns * (w + gap) - gap;
  Image out{static_cast<int>(picture_height), static_cast<int>(picture_width), 1,
            std::vector<std::uint8_t>(picture_height * picture_width, 255)};

  const detail::ValueRange common = detail::finite_range(images);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const float> image = images.subspan(i * h * w, h * w);
    const detail::ValueRange range =
        options.scaling == Scaling::common ? common : detail::finite_range(image);
    const std::size_t top = i / columns * (h + gap);
    const std::size_t left = i % columns * (w + gap);
    for (std::size_t y = 0; y < h; ++y) {
      for (std::size_t x = 0; x < w; ++x) {
        out.pixels[(top + y) * picture_width + left + x] = detail::grey(image[y * w + x], range);
      }
    }
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
