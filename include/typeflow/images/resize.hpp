// SPDX-License-Identifier: Apache-2.0
#pragma once

// resize: images of another size.
//
// One operation, ResizeAxis, resizes along one axis. Each element of the result is a weighted sum
// of a few neighbours; the weights depend on the extents alone. All methods are such sums. The
// gradient is the same operation with the transposed matrix of weights, so there are derivatives of
// any order. Images are resized along one side, then along the other.
//
// Source of the formulas: TensorFlow's kernels (core/kernels/image/resize_*_op.cc). Positions are
// fractions of integers here, so none is rounded. Bicubic weights are computed, not looked up in a
// table of 1024.

#include <algorithm>
#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "typeflow/images/pixels.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How a pixel of a resized image is computed.
enum class Interpolation : std::uint32_t {
  nearest,   ///< one pixel
  bilinear,  ///< 2 x 2 pixels, by their distance
  bicubic,   ///< 4 x 4 pixels, by a cubic convolution (Keys 1981)
  area       ///< the mean of the area that the pixel covers
};

/// The position of a resized image's pixel in the original. For m of n pixels, pixel j is at...
enum class Sampling : std::uint32_t {
  half_pixel,    ///< (j + 1/2) n/m - 1/2: the centres of pixels meet. TensorFlow 2, PyTorch.
  legacy,        ///< j n/m: TensorFlow 1 without an option
  align_corners  ///< j (n-1)/(m-1): the first and last pixels meet
};

/// Settings of resize. For Interpolation::area, half_pixel and legacy are the same.
struct ResizeOptions {
  Interpolation method = Interpolation::bilinear;
  Sampling sampling = Sampling::half_pixel;
};

namespace images {

/// A position between elements: `part` of a step, in [0, 1), after element `index`.
struct Position {
  std::int64_t index;
  double part;
};
/// numerator / denominator, the latter positive.
constexpr Position position_at(std::int64_t numerator, std::int64_t denominator) {
  std::int64_t index = numerator / denominator;
  if (index * denominator > numerator) --index;
  return {index,
          static_cast<double>(numerator - index * denominator) / static_cast<double>(denominator)};
}

/// The elements, with weights, from which element j of a resized axis is computed.
class Taps {
 public:
  constexpr Taps(ResizeOptions options, std::int64_t from, std::int64_t to)
      : options_(options), from_(from), to_(to) {
    const bool corners = options.sampling == Sampling::align_corners && to > 1;
    step_ = corners ? from - 1 : from;
    steps_ = corners ? to - 1 : to;
  }

  /// Calls f(element, weight) for each of them. An element at the border may come twice.
  template <class F>
  constexpr void of(std::int64_t j, const F& f) const {
    const auto inside = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, from_ - 1); };
    const auto tap = [&](std::int64_t i, double weight) {
      if (weight != 0) f(inside(i), weight);
    };
    switch (options_.method) {
      case Interpolation::nearest:
        return tap(nearest(j), 1.0);
      case Interpolation::bilinear: {
        const Position at = position(j);
        tap(at.index, 1 - at.part);
        return tap(at.index + 1, at.part);
      }
      case Interpolation::bicubic: {
        // Keys' weights, rescaled to a sum of 1 where the border cuts some off, or TensorFlow 1's.
        const bool keys = options_.sampling == Sampling::half_pixel;
        const double a = keys ? -0.5 : -0.75;
        const Position at = position(j);
        double weights[4] = {far(a, 1 + at.part), near(a, at.part), near(a, 1 - at.part),
                             far(a, 2 - at.part)};
        double sum = 0;
        for (int k = 0; k < 4; ++k) {
          const std::int64_t i = at.index - 1 + k;
          if (keys && i != inside(i)) weights[k] = 0;
          sum += weights[k];
        }
        for (int k = 0; k < 4; ++k) tap(at.index - 1 + k, keys ? weights[k] / sum : weights[k]);
        return;
      }
      case Interpolation::area: {
        if (step_ == 0) return tap(0, 1.0);  // one element with its corners aligned
        const std::int64_t begin = j * step_;
        const std::int64_t end = begin + step_;
        for (std::int64_t i = begin / steps_; i * steps_ < end; ++i) {
          const std::int64_t covered =
              std::min((i + 1) * steps_, end) - std::max(i * steps_, begin);
          tap(i, static_cast<double>(covered) / static_cast<double>(step_));
        }
        return;
      }
    }
  }

 private:
  constexpr Position position(std::int64_t j) const {
    if (options_.sampling == Sampling::half_pixel) {
      return position_at((2 * j + 1) * from_ - to_, 2 * to_);
    }
    return position_at(j * step_, steps_);
  }
  constexpr std::int64_t nearest(std::int64_t j) const {
    if (options_.sampling == Sampling::half_pixel) return (2 * j + 1) * from_ / (2 * to_);
    if (options_.sampling == Sampling::legacy) return j * step_ / steps_;
    return (2 * j * step_ + steps_) / (2 * steps_);
  }
  /// The cubic convolution at a distance of at most 1, and from 1 to 2.
  static constexpr double near(double a, double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
  static constexpr double far(double a, double x) {
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }

  ResizeOptions options_;
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t step_;  ///< a pixel is step_ / steps_ of those that it is made of
  std::int64_t steps_;
};

/// (A,N,B) -> (A,F*N,B), each row F times: a broadcast. If x is such a one of (A',N',N*B), both are
/// one: (A'*N',1,N,1,B) -> (A'*N',F',N,F,B).
constexpr AnyExpr repeat_rows(AnyExpr x, Extent factor, const AnyExpr& y) {
  const Dims in = x.dims();
  Dims from{4, {in.extent[0], in.extent[1], 1, in.extent[2]}};
  Dims to = from;
  to.extent[2] = factor;
  if (made_by<ops::Reshape>(x)) x = input_of(x, 0);
  if (made_by<ops::BroadcastTo>(x)) {
    const Dims before = input_of(x, 0).dims();
    const Dims after = x.dims();
    if (before.rank == 4 && after.rank == 4 && before.extent[0] == after.extent[0] &&
        before.extent[1] == after.extent[1] && before.extent[2] == 1 &&
        before.extent[3] == product_of(in, 1, 3)) {
      from = {5, {product_of(before, 0, 2), 1, in.extent[1], 1, in.extent[2]}};
      to = {5, {from.extent[0], after.extent[2], in.extent[1], factor, in.extent[2]}};
      x = input_of(x, 0);
    }
  }
  return reshape_to(broadcast_to(reshape_to(x, from), to), y.dims());
}

}  // namespace images

namespace ops {

/// Resizes the middle one of three axes; or applies the transposed matrix, for the gradient.
/// (A,N,B) -> (A,M,B)
struct ResizeAxis : custom {
  static constexpr std::string_view name = "ResizeAxis";
  static constexpr Domain domain = Domain::any;
  Interpolation method;
  Sampling sampling;
  std::uint32_t transposed;

  constexpr ResizeOptions options() const { return {method, sampling}; }
  static constexpr AnyExpr gradient(ResizeAxis op, AnyExpr x, AnyExpr, AnyExpr dy) {
    op.transposed = 1 - op.transposed;
    return add_node(*dy.graph, op, &dy.id, 1, Type(dy.dtype(), x.dims()));
  }
  /// The nearest elements of a multiple of the axis are repeated ones.
  static constexpr AnyExpr simplify(ResizeAxis op, AnyExpr x, AnyExpr y) {
    const Extent from = x.dims().extent[1];
    const Extent to = y.dims().extent[1];
    const bool repeats = op.method == Interpolation::nearest && op.transposed == 0 &&
                         op.sampling != Sampling::align_corners && from > 0 && to >= from &&
                         to % from == 0;
    return repeats ? images::repeat_rows(x, to / from, y) : y;
  }
  TYPEFLOW_COLD static Error explain(ResizeAxis, const Failure&, std::span<const Dims>) {
    return Error("resize", "images with pixels", "images without");
  }
  static void interpret(InterpretCall& call) {
    const ResizeAxis op = decode<ResizeAxis>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const bool back = op.transposed != 0;
    const std::int64_t from = (back ? y : x).dims.extent[1];
    const std::int64_t to = (back ? x : y).dims.extent[1];
    if (from == 0 && y.size() > 0) throw explain(op, {}, {});
    if (y.size() == 0) return;
    const std::int64_t inner = x.dims.extent[2];
    const images::Taps taps(op.options(), from, to);
    if (op.method == Interpolation::nearest && !back) {  // of any element type
      for (std::int64_t i = 0; i < y.size(); ++i) {
        taps.of(i / inner % to, [&](std::int64_t k, double) {
          y[i] = x[(i / inner / to * from + k) * inner + i % inner];
        });
      }
      return;
    }
    std::vector<double> sums(static_cast<std::size_t>(y.size()), 0.0);
    const std::int64_t outer = x.dims.extent[0];
    for (std::int64_t i = 0; i < outer * to * inner; ++i) {  // every element of the resized side
      taps.of(i / inner % to, [&](std::int64_t k, double weight) {
        const std::int64_t other = (i / inner / to * from + k) * inner + i % inner;
        sums[static_cast<std::size_t>(back ? other : i)] += weight * x.value(back ? i : other);
      });
    }
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, sums[static_cast<std::size_t>(i)]);
  }
};

}  // namespace ops

namespace images {

/// x resized along one axis.
constexpr AnyExpr resize_axis(const AnyExpr& x, int axis, Extent size, ResizeOptions options) {
  const Dims from = x.dims();
  if (from.extent[axis] == size) return x;  // every position is an element's
  Dims to = from;
  to.extent[axis] = size;
  Dims rows{3,
            {product_of(from, 0, axis), from.extent[axis], product_of(from, axis + 1, from.rank)}};
  const AnyExpr in = reshape_to(x, rows);
  rows.extent[1] = size;
  const AnyExpr out = add_node(*x.graph, ops::ResizeAxis{{}, options.method, options.sampling, 0},
                               &in.id, 1, Type(x.dtype(), rows));
  return reshape_to(out, to);
}

/// Untyped resize.
constexpr AnyExpr resize_to(const AnyExpr& x, Extent height, Extent width, ResizeOptions options) {
  return detail::in_float(x, [&](const AnyExpr& v) {
    const Dims dims = v.dims();
    const int row = dims.rank - 3;
    const Extent h = dims.extent[row];
    const Extent w = dims.extent[row + 1];
    const bool known = !is_symbolic(h) && !is_symbolic(w);
    if (known && h * width < height * w) {  // the intermediate image then has fewer pixels
      return resize_axis(resize_axis(v, row + 1, width, options), row, height, options);
    }
    return resize_axis(resize_axis(v, row, height, options), row + 1, width, options);
  });
}

}  // namespace images

/// Images of another size: resize<224, 224>(x), or resize<224, 224, tf::ResizeOptions{.method =
/// tf::Interpolation::bicubic}>(x). The sides of x may be symbols. (N,H,W,C) -> (N,Height,Width,C),
/// or without N
///
/// TensorFlow's resize_images. By default it is bilinear with half-pixel centres, like TensorFlow 2
/// and PyTorch's interpolate(align_corners=False). Bicubic weights are Keys' (a = -1/2) with
/// half-pixel centres, else TensorFlow 1's (a = -3/4). When images become smaller, only `area` uses
/// all pixels.
///
/// Elements are floating-point; Interpolation::nearest takes any type. A run with images that have
/// no pixels is an Error.
template <Extent Height, Extent Width, ResizeOptions Options = ResizeOptions{}, TypedExpr X>
constexpr auto resize(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>,
                "resize<height, width>(x): x must be images, (N,H,W,C) or (H,W,C)");
  static_assert(Height > 0 && Width > 0,
                "resize<height, width>(x): height and width must be numbers, 1 or more");
  static_assert(
      Options.method == Interpolation::nearest || detail::in_domain<Domain::floating, X>,
      "resize<height, width>(x): x must be floating-point, unless the method is "
      "tf::Interpolation::nearest; convert with convert_image_dtype<float>(x) or cast<float>(x)");
  static_assert(!images::are_images<X> || (images::height_of(X::shape::dims) != 0 &&
                                           images::width_of(X::shape::dims) != 0),
                "resize<height, width>(x): x must have pixels");
  static_assert(!images::are_images<X> ||
                    images::product_of(X::shape::dims, X::rank - 2, X::rank) != no_extent,
                "resize<height, width>(x): width and channels of x must not be the same symbol");
  using Rule = images::SidesRule<typename X::shape, Height, Width>;
  detail::mark(at, x);
  if constexpr (Rule::value.valid()) {
    return images::result_of<Rule>(x, images::resize_to(x.any(), Height, Width, Options));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
