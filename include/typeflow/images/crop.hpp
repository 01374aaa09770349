// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts of images: crop_or_pad, central_crop, random_crop, and crop_and_resize, which is composed
// of gathers and interpolation, so its gradients are those of its parts.

#include <cstdint>
#include <source_location>

#include "typeflow/images/pixels.hpp"
#include "typeflow/images/random.hpp"
#include "typeflow/images/resize.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/rounding.hpp"
#include "typeflow/ops/index/gather.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of crop_and_resize.
struct CropAndResizeOptions {
  Interpolation method = Interpolation::bilinear;  ///< or nearest
  float extrapolation_value = 0;                   ///< outside of the image
};

namespace images {

/// x with an axis cropped or padded with zeros to this size, symmetrically; an odd element is at
/// the end.
constexpr AnyExpr fit_centred(const AnyExpr& x, int axis, Extent size) {
  const Extent extent = x.dims().extent[axis];
  if (extent > size) return slice_along(x, axis, (extent - size) / 2, size);
  SliceWindow window = window_at_start(x.dims());
  window.begin[axis] = static_cast<std::int32_t>((size - extent) / 2);
  Dims dims = x.dims();
  dims.extent[axis] = size;
  return pad_to(x, window, dims, detail::constant_node(*x.graph, x.dtype(), Number{}));
}

/// The number of rows or columns that central_crop cuts off at the start and at the end.
constexpr Extent margin_of(Extent extent, std::intmax_t numerator, std::intmax_t denominator) {
  return extent * (denominator - numerator) / (2 * denominator);
}
template <class S, std::intmax_t Numerator, std::intmax_t Denominator>
struct CentralRule {
  static constexpr Dims value = [] {
    if (S::rank < 3 || Denominator < 1) return no_dims;
    const Extent h = height_of(S::dims);
    const Extent w = width_of(S::dims);
    return with_sides(S::dims, h - 2 * margin_of(h, Numerator, Denominator),
                      w - 2 * margin_of(w, Numerator, Denominator));
  }();
};

/// A part of each image, from a row and column that are drawn for it.
constexpr AnyExpr crop_at_random(const AnyExpr& x, Extent height, Extent width,
                                 const Label& label) {
  ir::Graph& graph = *x.graph;
  const Dims dims = x.dims();
  const Extent h = height_of(dims);
  const Extent w = width_of(dims);
  const Extent channels = channels_of(dims);
  const Extent count = dims.rank == 4 ? dims.extent[0] : 1;
  const AnyExpr u = draw(graph, "random_crop", label, Type(DType::float32, Dims{3, {count, 2, 1}}));
  const auto first = [&](Extent i, Extent places) {
    return cast_to(slice_along(u, 1, i, 1) * static_cast<double>(places), DType::int32);
  };
  const Dims crop{3, {1, height, width}};
  const AnyExpr row = first(0, h - height + 1) + index_along(graph, crop, 1);
  const AnyExpr column = first(1, w - width + 1) + index_along(graph, crop, 2);
  const AnyExpr pixels = reshape_to(x, Dims{3, {count, h * w, channels}});
  const AnyExpr places =
      reshape_to(row * static_cast<int>(w) + column, Dims{2, {count, height * width}});
  const AnyExpr taken = detail::gather_node(pixels, places, 1, 1, Indexing::gather);
  return detail::labelled(reshape_to(taken, with_sides(dims, height, width)), label);
}

/// Positions of a crop's rows or columns along an axis of `extent` elements. (B,4) -> (B,size)
constexpr AnyExpr crop_places(const AnyExpr& boxes, int axis, Extent extent, Extent size) {
  const AnyExpr begin = slice_along(boxes, 1, axis, 1);
  const AnyExpr end = slice_along(boxes, 1, axis + 2, 1);
  const auto last = static_cast<double>(extent - 1);
  if (size == 1) return (begin + end) * (0.5 * last);
  // A weighted mean of the ends: no rounding takes an end at the image's border out of the image.
  const auto steps = static_cast<double>(size - 1);
  const AnyExpr place = cast_to(index_along(*boxes.graph, Dims{2, {1, size}}, 1), boxes.dtype());
  return (begin * (steps - place) + end * place) * last / steps;
}

/// Untyped crop_and_resize of floats or doubles.
constexpr AnyExpr crop_boxes(const AnyExpr& x, const AnyExpr& boxes, const AnyExpr& box_indices,
                             Extent height, Extent width, CropAndResizeOptions options) {
  const Dims dims = x.dims();
  const Extent h = dims.extent[1];
  const Extent w = dims.extent[2];
  const Extent channels = dims.extent[3];
  const Extent count = boxes.dims().extent[0];
  const AnyExpr pixels = reshape_to(x, Dims{2, {product_of(dims, 0, 3), channels}});
  // Looks the index up among the numbers of all images, so an index outside of the batch is found.
  const AnyExpr images = index_along(*x.graph, Dims{1, {dims.extent[0]}}, 0);
  const AnyExpr chosen = detail::gather_node(images, box_indices, 0, 0, Indexing::crop_and_resize);
  const AnyExpr image = reshape_to(cast_to(chosen, DType::int64), Dims{3, {count, 1, 1}});

  // Rows and columns as (B,height,1) and (B,1,width).
  const AnyExpr y = reshape_to(crop_places(boxes, 0, h, height), Dims{3, {count, height, 1}});
  const AnyExpr z = reshape_to(crop_places(boxes, 1, w, width), Dims{3, {count, 1, width}});
  const auto index_of = [](const AnyExpr& place, Extent extent) {
    return cast_to(clip_by_value(place, 0, static_cast<double>(extent - 1)), DType::int64);
  };
  const auto pixels_at = [&](const AnyExpr& row, const AnyExpr& column) {
    const AnyExpr place = (image * h + index_of(row, h)) * w + index_of(column, w);
    return detail::gather_node(pixels, place, 0, 0, Indexing::gather);
  };
  const auto inside = [](const AnyExpr& place, Extent extent) {
    return logical_and(greater_equal(place, 0), less_equal(place, static_cast<double>(extent - 1)));
  };
  AnyExpr crops{};
  if (options.method == Interpolation::nearest) {
    crops = pixels_at(floor(y + 0.5), floor(z + 0.5));
  } else {
    const AnyExpr top = floor(y);
    const AnyExpr left = floor(z);
    const AnyExpr bottom = ceil(y);
    const AnyExpr right = ceil(z);
    const auto share = [&](const AnyExpr& place, const AnyExpr& lower) {
      Dims wide = place.dims();
      wide.append(1);
      return reshape_to(place - lower, wide);
    };
    const AnyExpr down = share(y, top);
    const AnyExpr across = share(z, left);
    const auto between = [](const AnyExpr& a, const AnyExpr& b, const AnyExpr& t) {
      return a + (b - a) * t;
    };
    crops = between(between(pixels_at(top, left), pixels_at(top, right), across),
                    between(pixels_at(bottom, left), pixels_at(bottom, right), across), down);
  }
  const AnyExpr covered = logical_and(inside(y, h), inside(z, w));
  return where(reshape_to(covered, Dims{4, {count, height, width, 1}}), crops,
               options.extrapolation_value);
}

template <class X, class B, Extent Height, Extent Width>
struct CropRule {
  static constexpr Dims value =
      X::rank == 4 && B::rank > 0
          ? Dims{4, {B::dims.extent[0], Height, Width, channels_of(X::dims)}}
          : no_dims;
};

}  // namespace images

/// Images of another size about the same centre: cropped where they are larger, padded with zeros
/// where they are smaller. crop_or_pad<224, 224>(x): (N,H,W,C) -> (N,Height,Width,C), or without N.
/// TensorFlow's resize_image_with_crop_or_pad: of an odd number of rows or columns, the extra one
/// is at the end.
template <Extent Height, Extent Width, TypedExpr X>
constexpr auto crop_or_pad(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::have_sides<X>,
                "crop_or_pad<height, width>(x): x must be images, (N,H,W,C) or (H,W,C), H and W "
                "numbers from 1 on");
  static_assert(Height > 0 && Width > 0,
                "crop_or_pad<height, width>(x): height and width must be numbers, 1 or more");
  using Rule = images::SidesRule<typename X::shape, Height, Width>;
  detail::mark(at, x);
  if constexpr (images::have_sides<X> && Height > 0 && Width > 0) {
    const AnyExpr rows = images::fit_centred(x.any(), X::rank - 3, Height);
    return images::result_of<Rule>(x, images::fit_centred(rows, X::rank - 2, Width));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// The middle part of images, a fraction of their sides: central_crop<7, 8>(x). It cuts
/// (H - H fraction) / 2 rows, rounded down, above and below; likewise columns.
/// (N,H,W,C) -> (N,H',W',C), or without N
template <std::intmax_t Numerator, std::intmax_t Denominator, TypedExpr X>
constexpr auto central_crop(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::have_sides<X>,
                "central_crop<numerator, denominator>(x): x must be images, (N,H,W,C) or (H,W,C), "
                "H and W numbers from 1 on");
  constexpr bool is_share = Numerator > 0 && Numerator <= Denominator;
  static_assert(is_share,
                "central_crop<numerator, denominator>(x): the fraction must be in (0, 1]");
  using Rule = images::CentralRule<typename X::shape, Numerator, Denominator>;
  detail::mark(at, x);
  if constexpr (images::have_sides<X> && is_share) {
    const AnyExpr rows = images::fit_centred(x.any(), X::rank - 3, images::height_of(Rule::value));
    return images::result_of<Rule>(
        x, images::fit_centred(rows, X::rank - 2, images::width_of(Rule::value)));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// A part of each image with this size, from a row and a column drawn for it anew in each run, all
/// places equally likely: random_crop<24, 24>(x). The label is the result's name; with it, the
/// places depend on no other operation. (N,H,W,C) -> (N,Height,Width,C), or without N
///
/// (TensorFlow's random_crop draws one place for a whole batch.)
template <Extent Height, Extent Width, TypedExpr X>
constexpr auto random_crop(const X& x, Label label = "",
                           std::source_location at = std::source_location::current()) {
  static_assert(images::have_sides<X>,
                "random_crop<height, width>(x): x must be images, (N,H,W,C) or (H,W,C), H and W "
                "numbers from 1 on");
  constexpr bool fits = images::have_sides<X> && Height > 0 && Width > 0 &&
                        Height <= images::height_of(X::shape::dims) &&
                        Width <= images::width_of(X::shape::dims);
  static_assert(!images::have_sides<X> || fits,
                "random_crop<height, width>(x): height and width must be 1 or more, and no larger "
                "than those of x");
  using Rule = images::SidesRule<typename X::shape, Height, Width>;
  detail::mark(at, x);
  if constexpr (fits) {
    return images::result_of<Rule>(x, images::crop_at_random(x.any(), Height, Width, label));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// Boxes cut out of images and resized: crop_and_resize<14, 14>(x, boxes, box_indices). Box b is
/// the part of image box_indices[b] between its corners (y1, x1, y2, x2), where 0 is the first row
/// or column and 1 the last. A box with y1 > y2 or x1 > x2 is mirrored. Places outside of the image
/// have `extrapolation_value`. (N,H,W,C) x (B,4) x (B) -> (B,Height,Width,C)
///
/// Row j of a crop is at y1 (H-1) + j (y2-y1) (H-1) / (Height-1); a single row is in the middle of
/// its box (TensorFlow's crop_and_resize). Gradients flow to the images and, for bilinear crops, to
/// the boxes. A box index outside of [0, N) is an Error of the run.
template <Extent Height, Extent Width, CropAndResizeOptions Options = CropAndResizeOptions{},
          TypedExpr X, TypedExpr B, TypedExpr I>
constexpr auto crop_and_resize(const X& x, const B& boxes, const I& box_indices,
                               std::source_location at = std::source_location::current()) {
  constexpr bool are_images = X::rank == 4 && images::have_sides<X>;
  static_assert(are_images,
                "crop_and_resize<height, width>(x, boxes, box_indices): x must be images, "
                "(N,H,W,C), H and W numbers from 1 on");
  static_assert(Height > 0 && Width > 0,
                "crop_and_resize<height, width>(x, boxes, box_indices): height and width must be "
                "numbers, 1 or more");
  constexpr bool same = detail::in_domain<Domain::floating, X> && detail::same_elements<X, B>;
  static_assert(same,
                "crop_and_resize<height, width>(x, boxes, box_indices): x and boxes must be of the "
                "same floating-point type; convert with cast<float>(x)");
  constexpr bool are_boxes = [] {
    if constexpr (B::rank == 2 && I::rank == 1) {
      return B::shape::dims.extent[1] == 4 && B::shape::dims.extent[0] == I::shape::dims.extent[0];
    } else {
      return false;
    }
  }();
  static_assert(are_boxes && detail::are_indices<I>,
                "crop_and_resize<height, width>(x, boxes, box_indices): boxes must be (B,4), "
                "box_indices integers (B)");
  constexpr bool known =
      Options.method == Interpolation::bilinear || Options.method == Interpolation::nearest;
  static_assert(known,
                "crop_and_resize<height, width, options>(x, boxes, box_indices): the method must "
                "be bilinear or nearest");
  using Rule = images::CropRule<typename X::shape, typename B::shape, Height, Width>;
  detail::mark(at, x);
  if constexpr (are_images && Height > 0 && Width > 0 && same && are_boxes && known &&
                detail::are_indices<I>) {
    const AnyExpr crops = detail::in_float(x.any(), [&](const AnyExpr& v) {
      return images::crop_boxes(v, cast_to(boxes.any(), v.dtype()), box_indices.any(), Height,
                                Width, Options);
    });
    return images::result_of<Rule>(x, crops);
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
