// SPDX-License-Identifier: Apache-2.0
#pragma once

// How convolutions and their gradients for the image read an image along one axis, for kernels.

#include <algorithm>
#include <cstdint>

#include "typeflow/core/window.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The greatest common divisor of two numbers with any signs, as std::gcd. (<numeric> costs every
/// compiler more.)
constexpr std::int64_t common_divisor(std::int64_t a, std::int64_t b) {
  while (b != 0) {
    const std::int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/// How the places of a result read an image along one axis.
struct GatherAxis {
  std::int64_t places;       ///< places of this phase
  std::int64_t first_place;  ///< first place in the result
  std::int64_t place_step;
  std::int64_t step;    ///< pixels from a place to the next
  std::int64_t offset;  ///< the first tap's pixel at the first place
  std::int64_t taps;
  std::int64_t tap_step;     ///< pixels from a tap to the next; 1 or more
  std::int64_t first_tap;    ///< first tap in w
  std::int64_t weight_step;  ///< taps of w from a tap to the next
  std::int64_t extent;       ///< extent of the image that is read
  std::int64_t result;       ///< extent of the result
};

/// The axis of a convolution.
inline GatherAxis forward_axis(const WindowAxis& window, std::int64_t image) {
  const std::int64_t places = window.places(image);
  return {places,          0, 1, window.stride, -window.before, window.size,
          window.dilation, 0, 1, image,         places};
}
/// The same for its gradient for x: the places of the image whose number is `phase` modulo the
/// stride. A tap k of w meets a place of dy if k * dilation equals phase + before modulo the
/// stride.
inline GatherAxis backward_axis(const WindowAxis& window, std::int64_t image, std::int64_t phase) {
  const std::int64_t stride = window.stride;
  const std::int64_t common = common_divisor(stride, window.dilation);
  GatherAxis axis{};
  axis.places = image > phase ? (image - phase + stride - 1) / stride : 0;
  axis.first_place = phase;
  axis.place_step = stride;
  axis.step = 1;
  axis.tap_step = window.dilation / common;
  axis.extent = window.places(image);
  axis.result = image;
  const std::int64_t weight_step = stride / common;
  std::int64_t first = 0;  // the smallest tap that meets a place
  while (first < weight_step && (phase + window.before - first * window.dilation) % stride != 0) {
    ++first;
  }
  axis.taps = first < weight_step && first < window.size
                  ? (window.size - first + weight_step - 1) / weight_step
                  : 0;
  // Later taps meet earlier places, so taps are taken from the last one on.
  axis.first_tap = first + std::max<std::int64_t>(axis.taps - 1, 0) * weight_step;
  axis.weight_step = -weight_step;
  axis.offset = (phase + window.before - axis.first_tap * window.dilation) / stride;
  return axis;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
