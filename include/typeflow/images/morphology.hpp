// SPDX-License-Identifier: Apache-2.0
#pragma once

// Windows that move over images: grey-scale dilation and erosion, and the windows themselves as
// channels (extract_image_patches). Composed of one slice for each element of a window; dilation
// takes their maxima in one chain.

#include <array>
#include <cstdint>
#include <limits>
#include <source_location>

#include "typeflow/images/pixels.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/nn/window.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of dilation2d and erosion2d, as of a convolution:
/// dilation2d<tf::Dilation2dOptions{.strides = {2, 2}}>(x, filter).
struct Dilation2dOptions {
  std::array<int, 2> strides = {1, 1};
  Padding padding = Padding::same;  ///< or valid
  std::array<int, 2> dilations = {1, 1};
};

/// Settings of extract_image_patches:
/// extract_image_patches<tf::Patches2dOptions{.window = {3, 3}, .strides = {2, 2}}>(x).
struct Patches2dOptions {
  std::array<int, 2> window{};
  std::array<int, 2> strides = {1, 1};
  Padding padding = Padding::valid;  ///< or same, with zeros around
  std::array<int, 2> dilations = {1, 1};
};

namespace images {

/// The window's two axes over images (N,H,W,C).
struct Windows {
  WindowAxis axis[2];

  constexpr std::int64_t places(const Dims& x, int i) const {
    return axis[i].places(x.extent[1 + i]);
  }
};
template <class Options>
constexpr bool can_move(const Options& options) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (options.strides[i] < 1 || options.dilations[i] < 1) return false;
  }
  return options.padding != Padding::given;
}
template <class Options>
constexpr Windows windows_over(const Dims& x, const Options& options, Extent height, Extent width) {
  Windows windows{};
  const Extent size[2] = {height, width};
  for (std::size_t i = 0; i < 2; ++i) {
    const WindowAxis axis{size[i], options.strides[i], options.dilations[i], 0, 0};
    windows.axis[i] = padded(axis, options.padding, x.extent[1 + i]);
  }
  return windows;
}

/// The images with padding around them.
constexpr AnyExpr surround(const AnyExpr& x, const Windows& windows, const AnyExpr& border) {
  SliceWindow inside = window_at_start(x.dims());
  Dims size = x.dims();
  for (int i = 0; i < 2; ++i) {
    inside.begin[1 + i] = static_cast<std::int32_t>(windows.axis[i].before);
    size.extent[1 + i] += windows.axis[i].before + windows.axis[i].after;
  }
  return pad_to(x, inside, size, border);
}
/// The pixels that the window's element (row, column) reads at all places of padded images.
constexpr AnyExpr seen_by(const AnyExpr& x, const Windows& windows, std::int64_t row,
                          std::int64_t column, const Dims& places) {
  Dims size = places;
  size.extent[3] = x.dims().extent[3];
  SliceWindow window = window_at_start(size);
  const std::int64_t at[2] = {row, column};
  for (int i = 0; i < 2; ++i) {
    window.begin[1 + i] = static_cast<std::int32_t>(at[i] * windows.axis[i].dilation);
    if (size.extent[1 + i] != 1) {
      window.step[1 + i] = static_cast<std::int32_t>(windows.axis[i].stride);
    }
  }
  return slice_to(x, window, size);
}

/// Untyped dilation2d.
constexpr AnyExpr dilate(const AnyExpr& x, const AnyExpr& filter, const Windows& windows,
                         const Dims& places) {
  return detail::in_float(x, [&](const AnyExpr& v) {
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    const AnyExpr padded =
        surround(v, windows, detail::constant_node(*v.graph, v.dtype(), Number{lowest, 0}));
    const AnyExpr f = cast_to(filter, v.dtype());
    const Dims size = f.dims();
    AnyExpr y{};
    for (std::int64_t row = 0; row < size[0]; ++row) {
      for (std::int64_t column = 0; column < size[1]; ++column) {
        const AnyExpr weight = slice_along(slice_along(f, 0, row, 1), 1, column, 1);
        const AnyExpr sum =
            seen_by(padded, windows, row, column, places) + reshape_to(weight, Dims{1, {size[2]}});
        y = y.exists() ? maximum(y, sum) : sum;
      }
    }
    return y;
  });
}

template <class X, class F, Dilation2dOptions Options>
struct DilationRule {
  static constexpr bool fits =
      X::rank == 4 && F::rank == 3 && height_of(X::dims) > 0 &&
      width_of(X::dims) > 0 && F::dims.extent[0] > 0 && F::dims.extent[1] > 0 &&
      F::dims.extent[F::rank - 1] == X::dims.extent[X::rank - 1];
  static constexpr bool moves = can_move(Options);
  static constexpr Windows windows =
      fits && moves ? windows_over(X::dims, Options, F::dims.extent[0], F::dims.extent[1])
                    : Windows{};
  static constexpr Dims value =
      fits && moves ? with_sides(X::dims, windows.places(X::dims, 0), windows.places(X::dims, 1))
                    : no_dims;
  static constexpr bool has_places = !value.valid() || (value.extent[1] > 0 && value.extent[2] > 0);
};

template <class X, Patches2dOptions Options>
struct PatchesRule {
  static constexpr bool fits = X::rank == 4 && height_of(X::dims) > 0 && width_of(X::dims) > 0 &&
                               channels_of(X::dims) >= 0;
  static constexpr bool moves = can_move(Options) && Options.window[0] > 0 && Options.window[1] > 0;
  static constexpr Windows windows =
      fits && moves ? windows_over(X::dims, Options, Options.window[0], Options.window[1])
                    : Windows{};
  static constexpr Dims value = [] {
    if (!fits || !moves) return no_dims;
    const Dims places = with_sides(X::dims, windows.places(X::dims, 0), windows.places(X::dims, 1));
    return with_channels(places, channels_of(X::dims) * Options.window[0] * Options.window[1]);
  }();
  static constexpr bool has_places = !value.valid() || (value.extent[1] > 0 && value.extent[2] > 0);
};

}  // namespace images

/// Grey-scale dilation: the maximum over a window of x plus the filter, for each channel. Places
/// outside of the image do not count. (N,H,W,C) x (KH,KW,C) -> (N,H',W',C)
///
///   y[n,i,j,c] = max over u, v of x[n, i s + u d, j s + v d, c] + filter[u,v,c]
///
/// TensorFlow's dilation2d. Among equal sums the first gets the gradient.
template <Dilation2dOptions Options = Dilation2dOptions{}, TypedExpr X, TypedExpr F>
constexpr auto dilation2d(const X& x, const F& filter,
                          std::source_location at = std::source_location::current()) {
  constexpr bool floating = detail::in_domain<Domain::floating, X> && detail::same_elements<X, F>;
  static_assert(floating,
                "dilation2d(x, filter): x and filter must be of the same floating-point type; "
                "convert with cast<float>(x)");
  using Rule = images::DilationRule<typename X::shape, typename F::shape, Options>;
  static_assert(Rule::fits,
                "dilation2d(x, filter): x must be (N,H,W,C), H and W numbers from 1 on, and the "
                "filter (KH,KW,C)");
  static_assert(Rule::moves,
                "dilation2d<options>(x, filter): strides and dilations must be 1 or more, the "
                "padding same or valid");
  static_assert(Rule::has_places, "dilation2d(x, filter): the filter must fit into x");
  detail::mark(at, x);
  if constexpr (Rule::value.valid() && Rule::has_places && floating) {
    return images::result_of<Rule>(
        x, images::dilate(x.any(), filter.any(), Rule::windows, Rule::value));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// Grey-scale erosion: the minimum over a window of x minus the filter turned around,
/// -dilation2d(-x, reverse<0, 1>(filter)). (N,H,W,C) x (KH,KW,C) -> (N,H',W',C)
template <Dilation2dOptions Options = Dilation2dOptions{}, TypedExpr X, TypedExpr F>
constexpr auto erosion2d(const X& x, const F& filter,
                         std::source_location at = std::source_location::current()) {
  constexpr bool floating = detail::in_domain<Domain::floating, X> && detail::same_elements<X, F>;
  static_assert(floating,
                "erosion2d(x, filter): x and filter must be of the same floating-point type; "
                "convert with cast<float>(x)");
  using Rule = images::DilationRule<typename X::shape, typename F::shape, Options>;
  static_assert(Rule::fits,
                "erosion2d(x, filter): x must be (N,H,W,C), H and W numbers from 1 on, and the "
                "filter (KH,KW,C)");
  static_assert(Rule::moves,
                "erosion2d<options>(x, filter): strides and dilations must be 1 or more, the "
                "padding same or valid");
  static_assert(Rule::has_places, "erosion2d(x, filter): the filter must fit into x");
  detail::mark(at, x);
  if constexpr (Rule::value.valid() && Rule::has_places && floating) {
    const AnyExpr turned = reverse_to(filter.any(), 3u);
    return images::result_of<Rule>(x,
                                   -images::dilate(-x.any(), turned, Rule::windows, Rule::value));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// Each window of images as channels: row by row, pixel by pixel, with the pixels' channels.
/// (N,H,W,C) -> (N,H',W',KH*KW*C)
///
/// TensorFlow's extract_image_patches; its rates are `dilations` here.
template <Patches2dOptions Options, TypedExpr X>
constexpr auto extract_image_patches(const X& x,
                                     std::source_location at = std::source_location::current()) {
  using Rule = images::PatchesRule<typename X::shape, Options>;
  static_assert(Rule::fits,
                "extract_image_patches<options>(x): x must be (N,H,W,C), H and W numbers from 1 "
                "on, C a number");
  static_assert(Rule::moves,
                "extract_image_patches<options>(x): window, strides and dilations must be 1 or "
                "more, the padding same or valid");
  static_assert(Rule::has_places, "extract_image_patches<options>(x): the window must fit into x");
  detail::mark(at, x);
  if constexpr (Rule::value.valid() && Rule::has_places) {
    const AnyExpr zero = detail::constant_node(x.graph(), X::type.dtype, Number{});
    const AnyExpr padded = images::surround(x.any(), Rule::windows, zero);
    AnyExpr seen[static_cast<std::size_t>(Options.window[0] * Options.window[1])];
    std::size_t count = 0;
    for (int row = 0; row < Options.window[0]; ++row) {
      for (int column = 0; column < Options.window[1]; ++column) {
        seen[count++] = images::seen_by(padded, Rule::windows, row, column, Rule::value);
      }
    }
    return images::result_of<Rule>(x, concat_to({seen, count}, 3));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
