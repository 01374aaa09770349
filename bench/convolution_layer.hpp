// SPDX-License-Identifier: Apache-2.0
#pragma once

// What bench/convolution measures: a layer of square images, with one stride for both axes.

#include <cstdint>
#include <vector>

#include <xsimd/xsimd.hpp>

namespace bench {

/// Aligned as the memory of sessions and of other libraries is.
using Floats = std::vector<float, xsimd::aligned_allocator<float, 64>>;

enum class Direction : std::uint8_t { forward, input_gradient, filter_gradient };

/// One axis of a layer.
struct LayerAxis {
  int size;
  int kernel;
  int stride;
  int pad;  ///< on both sides; same: as tf::Padding::same has it
  static constexpr int same = -1;

  constexpr int out() const {
    return pad < 0 ? (size + stride - 1) / stride : (size + 2 * pad - kernel) / stride + 1;
  }
  /// Padding on the left or above.
  constexpr int before() const { return pad < 0 ? (both() > 0 ? both() / 2 : 0) : pad; }
  constexpr int after() const { return pad < 0 ? (both() > 0 ? both() - both() / 2 : 0) : pad; }

 private:
  constexpr int both() const { return (out() - 1) * stride + kernel - size; }
};

struct Layer {
  const char* name;
  int size;  ///< height and width
  int channels;
  int kernel;  ///< height, and width if `kernel_width` is 0
  int filters;
  int stride = 1;
  int pad = LayerAxis::same;
  int kernel_width = 0;
  bool depthwise = false;  ///< a filter for each channel; channels and filters are equal

  constexpr LayerAxis height() const { return {size, kernel, stride, pad}; }
  constexpr LayerAxis width() const {
    return {size, kernel_width == 0 ? kernel : kernel_width, stride, pad};
  }
  constexpr int groups() const { return depthwise ? channels : 1; }
  constexpr int taps() const { return height().kernel * width().kernel; }
  constexpr int places() const { return height().out() * width().out(); }
};

}  // namespace bench
