// SPDX-License-Identifier: Apache-2.0
#pragma once

// The settings of convolutions and pools, and a window as the attributes of a node.

#include <array>
#include <cstdint>

#include "typeflow/core/shape.hpp"
#include "typeflow/core/window.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of a convolution over an image of `Rank` axes:
/// conv2d<tf::ConvOptions<2>{.strides = {2, 2}, .padding = tf::Padding::valid}>(x, w).
template <int Rank>
struct ConvOptions {
  static constexpr int rank = Rank;
  std::array<int, Rank> strides = ones();
  Padding padding = Padding::same;
  /// For Padding::given: {before, after} of each axis, {top, bottom} and {left, right}.
  std::array<std::array<int, 2>, Rank> pads{};
  std::array<int, Rank> dilations = ones();
  /// The number of groups into which the channels of x and of y are divided. Group i of y sees only
  /// group i of x.
  int groups = 1;
  /// Whether processors' kernels may compute the convolution and its gradients by Winograd's
  /// transforms: faster, with larger rounding errors (docs/guide.md). They do for conv2d with 3 x 3
  /// or 5 x 5 kernels, strides, dilations and groups of 1, and channels and filters that are
  /// multiples of 16.
  bool winograd = false;

  static constexpr std::array<int, Rank> ones() {
    std::array<int, Rank> all{};
    for (int& one : all) one = 1;
    return all;
  }
};

/// Settings of a pool over an image of `Rank` axes:
/// max_pool<tf::PoolOptions<2>{.window = {3, 3}, .strides = {2, 2}}>(x).
template <int Rank>
struct PoolOptions {
  static constexpr int rank = Rank;
  std::array<int, Rank> window{};
  std::array<int, Rank> strides = ConvOptions<Rank>::ones();
  Padding padding = Padding::same;
  /// For Padding::given: {before, after} of each axis.
  std::array<std::array<int, 2>, Rank> pads{};
};

namespace ops {

/// A window as the data members of an operation: depth, height, width. An image with fewer axes has
/// the last of them; the others have extent 1.
struct WindowAttributes {
  std::int32_t size[max_window_rank];
  std::int32_t stride[max_window_rank];
  std::int32_t dilation[max_window_rank];
  std::int32_t before[max_window_rank];
  std::int32_t after[max_window_rank];

  constexpr WindowAxis axis(int i) const {
    return {size[i], stride[i], dilation[i], before[i], after[i]};
  }
  constexpr void set(int i, const WindowAxis& axis) {
    size[i] = static_cast<std::int32_t>(axis.size);
    stride[i] = static_cast<std::int32_t>(axis.stride);
    dilation[i] = static_cast<std::int32_t>(axis.dilation);
    before[i] = static_cast<std::int32_t>(axis.before);
    after[i] = static_cast<std::int32_t>(axis.after);
  }
};

/// A window of one element.
inline constexpr WindowAttributes one_element{
    {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};

}  // namespace ops

namespace detail {

/// Axis i of depth, height and width of an image with `rank` axes, from axis `first` of x on; 1 if
/// the image lacks it.
constexpr std::int64_t image_extent(const Dims& x, int first, int rank, int i) {
  const int axis = i - (max_window_rank - rank);
  return axis < 0 ? 1 : x.extent[first + axis];
}

/// Whether all extents but the first are numbers, as images need.
constexpr bool has_batch_in_front_only(const Dims& x) {
  for (int i = 1; i < x.rank; ++i) {
    if (is_symbolic(x.extent[i])) return false;
  }
  return true;
}

/// Whether settings place windows: strides and dilations are at least 1, and pads, at least 0, are
/// given only with Padding::given.
template <class Options>
constexpr bool places_windows(const Options& options) {
  for (std::size_t i = 0; i < options.strides.size(); ++i) {
    for (const int pad : options.pads[i]) {
      if (pad < 0 || (pad != 0 && options.padding != Padding::given)) return false;
    }
    if (options.strides[i] < 1) return false;
    if constexpr (requires { options.dilations; }) {
      if (options.dilations[i] < 1) return false;
    }
  }
  return true;
}

/// A window with these settings and size[i] elements along axis i of the image x, whose axes stand
/// behind the first one.
template <class Options, class Sizes>
constexpr ops::WindowAttributes window_over(const Dims& x, const Options& options,
                                            const Sizes& size) {
  ops::WindowAttributes window = ops::one_element;
  for (std::size_t i = 0; i < options.strides.size(); ++i) {
    const int axis = static_cast<int>(i);
    WindowAxis along{size[i], options.strides[i], 1, options.pads[i][0], options.pads[i][1]};
    if constexpr (requires { options.dilations; }) along.dilation = options.dilations[i];
    window.set(max_window_rank - Options::rank + axis,
               padded(along, options.padding, x.extent[1 + axis]));
  }
  return window;
}
/// The window of a convolution with a kernel w, whose first axes are the window's.
template <int Rank>
constexpr ops::WindowAttributes conv_window(const ConvOptions<Rank>& options, const Dims& x,
                                            const Dims& w) {
  return window_over(x, options, w.extent);
}
/// The window of a pool.
template <int Rank>
constexpr ops::WindowAttributes pool_window(const PoolOptions<Rank>& options, const Dims& x) {
  return window_over(x, options, options.window);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
