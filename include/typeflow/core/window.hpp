// SPDX-License-Identifier: Apache-2.0
#pragma once

// Windows that move along the axes of an image: the number of their places, and the padding.
// Convolutions and pools use this when they are checked and when they run.

#include <cstdint>

#include "typeflow/core/extent.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The padding around an image. `same`: as much as ceil(extent / stride) places need; an odd
/// element goes to the end (below, on the right), as in TensorFlow. `valid`: none. `given`: as in
/// `pads`, {before, after} for each axis.
enum class Padding : std::uint32_t { same, valid, given };

/// The most axes that a window moves along: depth, height and width.
inline constexpr int max_window_rank = 3;

/// One axis of a window. Its elements lie `dilation` apart, its places `stride`.
struct WindowAxis {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  ///< padding in front of the first element
  std::int64_t after = 0;   ///< padding behind the last element

  /// The extent that a window covers: 3 elements with one left out between any two cover 5.
  constexpr std::int64_t span() const { return (size - 1) * dilation + 1; }

  /// The number of places along an axis of this extent; 0 if the window is longer.
  constexpr std::int64_t places(std::int64_t extent) const {
    const std::int64_t room = extent + before + after - span();
    return room < 0 ? 0 : room / stride + 1;
  }
};

/// The axis with its padding for an axis of this extent. `before` and `after` are used for
/// Padding::given only.
constexpr WindowAxis padded(WindowAxis axis, Padding padding, std::int64_t extent) {
  if (padding == Padding::given) return axis;
  axis.before = 0;
  axis.after = 0;
  if (padding == Padding::valid) return axis;
  const std::int64_t places = (extent + axis.stride - 1) / axis.stride;
  const std::int64_t total = (places - 1) * axis.stride + axis.span() - extent;
  if (places == 0 || total <= 0) return axis;
  axis.before = total / 2;
  axis.after = total - axis.before;
  return axis;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
