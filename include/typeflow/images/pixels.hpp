// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared parts of the operations on images. Images have three axes, (H,W,C), rows of pixels with
// channels last; or four, (N,H,W,C), with the number of images first.

#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/shape/concat.hpp"  // rules of sums and slices are there
#include "typeflow/ops/shape/shape_ops.hpp"
#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace images {

// Conditions for static_asserts.

template <class X>
inline constexpr bool are_images = X::rank == 3 || X::rank == 4;

/// An extent counted from the last axis: 1 are the channels, 2 is the width, 3 the height.
constexpr Extent from_end(const Dims& x, int axis) {
  return x.rank < axis ? no_extent : x.extent[x.rank - axis];
}
constexpr Extent channels_of(const Dims& x) { return from_end(x, 1); }
constexpr Extent width_of(const Dims& x) { return from_end(x, 2); }
constexpr Extent height_of(const Dims& x) { return from_end(x, 3); }

/// Whether height and width are numbers above 0.
template <class X>
inline constexpr bool have_sides = are_images<X> && height_of(X::shape::dims) > 0 &&
                                   width_of(X::shape::dims) > 0;

template <class X, Extent Channels>
inline constexpr bool have_channels = are_images<X> && channels_of(X::shape::dims) == Channels;

// Shapes.

/// Images with other sides.
constexpr Dims with_sides(Dims x, Extent height, Extent width) {
  if (x.rank != 3 && x.rank != 4) return no_dims;
  x.extent[x.rank - 3] = height;
  x.extent[x.rank - 2] = width;
  return x;
}
constexpr Dims with_channels(Dims x, Extent channels) {
  if (x.rank != 3 && x.rank != 4) return no_dims;
  x.extent[x.rank - 1] = channels;
  return x;
}
template <class S, Extent Height, Extent Width>
struct SidesRule {
  static constexpr Dims value = with_sides(S::dims, Height, Width);
};
template <class S, Extent Channels>
struct ChannelsRule {
  static constexpr Dims value = with_channels(S::dims, Channels);
};

/// The product of the axes `first` to `last` - 1; no_extent if it is no extent.
constexpr Extent product_of(const Dims& x, int first, int last) {
  Count count{};
  for (int i = first; i < last; ++i) count.multiply(x.extent[i]);
  return extent_of(count);
}

/// Images in the result's type of a typed function.
template <class Rule, TypedExpr X>
constexpr auto result_of(const X& x, const AnyExpr& y) {
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(), y.id);
}

}  // namespace images

}  // namespace typeflow::inline TYPEFLOW_ISA
