// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boxes: non_max_suppression keeps those with the highest scores that don't overlap;
// draw_bounding_boxes draws frames into images. A box is (y1, x1, y2, x2), two opposite corners.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <source_location>
#include <vector>

#include "typeflow/front/sources.hpp"
#include "typeflow/images/pixels.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/reduce/reduce.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of non_max_suppression.
struct NonMaxSuppressionOptions {
  double iou_threshold = 0.5;  ///< of two boxes that overlap more than this, one is dropped
  /// Scores must be above this, rounded to their type.
  double score_threshold = -std::numeric_limits<double>::infinity();
};

/// Indices of the boxes that non_max_suppression keeps: `count` of them, then zeros.
template <TypedExpr I>
struct KeptBoxes {
  I indices;
  Expr<std::int32_t> count;
};

namespace images {

/// Intersection over union: the area that two boxes share, over the area that they cover together;
/// 0 if a box has no area.
template <class Box>
constexpr double intersection_over_union(const Box& a, const Box& b) {
  const auto side = [](double from, double to) { return std::max(to - from, 0.0); };
  const auto low = [](const Box& box, int axis) { return std::min(box[axis], box[axis + 2]); };
  const auto high = [](const Box& box, int axis) { return std::max(box[axis], box[axis + 2]); };
  const auto area = [&](const Box& box) {
    return side(low(box, 0), high(box, 0)) * side(low(box, 1), high(box, 1));
  };
  if (!(area(a) > 0) || !(area(b) > 0)) return 0;
  double common = 1;
  for (int axis = 0; axis < 2; ++axis) {
    common *= side(std::max(low(a, axis), low(b, axis)), std::min(high(a, axis), high(b, axis)));
  }
  return common / (area(a) + area(b) - common);
}

/// A box of a tensor (B,4), its numbers as double.
template <class T>
struct BoxOf {
  const T* first;
  constexpr double operator[](int i) const { return detail::convert_element<double>(first[i]); }
};

}  // namespace images

namespace ops {

/// (B,4) x (B) -> (bound) and ()
struct NonMaxSuppression : custom {
  static constexpr std::string_view name = "NonMaxSuppression";
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr Domain domain = Domain::floating;
  static constexpr int outputs = 2;
  double iou_threshold;
  double score_threshold;
  Extent bound;

  static constexpr std::array<Type, 2> infer(const NonMaxSuppression& op, const Type& boxes,
                                             const Type& scores) {
    const bool fits = boxes.dtype == scores.dtype && contains(domain, boxes.dtype) &&
                      boxes.dims.rank == 2 && boxes.dims.extent[1] == 4 && scores.dims.rank == 1 &&
                      scores.dims.extent[0] == boxes.dims.extent[0];
    return {Type(DType::int32, fits ? Dims{1, {op.bound}} : no_dims), Type(DType::int32, {})};
  }
  static void interpret(InterpretCall& call) {
    const NonMaxSuppression op = decode<NonMaxSuppression>(call.graph, call.node);
    const HostTensor& boxes = *call.inputs[0];
    const HostTensor& scores = *call.inputs[1];
    HostTensor& indices = call.outputs[0];
    const double least = detail::fitted({op.score_threshold, 0}, scores.dtype).real;
    const auto box = [&](std::int64_t i) {
      return std::array{boxes.value(4 * i), boxes.value(4 * i + 1), boxes.value(4 * i + 2),
                        boxes.value(4 * i + 3)};
    };
    std::vector<bool> gone(static_cast<std::size_t>(scores.size()));
    std::int64_t count = 0;
    for (; count < indices.size(); ++count) {
      std::int64_t best = -1;
      for (std::int64_t i = 0; i < scores.size(); ++i) {
        if (gone[static_cast<std::size_t>(i)] || !(scores.value(i) > least)) continue;
        if (best < 0 || scores.value(i) > scores.value(best)) best = i;
      }
      if (best < 0) break;
      indices[count].integer = best;
      gone[static_cast<std::size_t>(best)] = true;
      for (std::int64_t i = 0; i < scores.size(); ++i) {
        if (intersection_over_union(box(best), box(i)) > op.iou_threshold) {
          gone[static_cast<std::size_t>(i)] = true;
        }
      }
    }
    call.outputs[1][0].integer = count;
  }

 private:
  static double intersection_over_union(const std::array<double, 4>& a,
                                        const std::array<double, 4>& b) {
    return images::intersection_over_union(images::BoxOf<double>{a.data()},
                                           images::BoxOf<double>{b.data()});
  }
};

}  // namespace ops

namespace images {

/// The colours of TensorFlow's draw_bounding_boxes: yellow, blue, red, lime, purple, olive, maroon,
/// navy, aqua, fuchsia.
inline constexpr double box_colors[10][3] = {
    {1, 1, 0},     {0, 0, 1},   {1, 0, 0},   {0, 1, 0}, {0.5, 0, 0.5},
    {0.5, 0.5, 0}, {0.5, 0, 0}, {0, 0, 0.5}, {0, 1, 1}, {1, 0, 1},
};

/// Untyped draw_bounding_boxes: (N,H,W,C) x (N,B,4) x (K,C).
constexpr AnyExpr draw_boxes(const AnyExpr& x, const AnyExpr& boxes, const AnyExpr& colors) {
  ir::Graph& graph = *x.graph;
  const Dims dims = x.dims();
  const Extent count = boxes.dims().extent[1];
  const Dims one{4, {dims.extent[0], count, 1, 1}};
  // A pixel's frame is the last one that goes through it, -1 if none does.
  const auto line = [&](Extent corner, Extent extent) {
    const AnyExpr at = slice_along(boxes, 2, corner, 1) * static_cast<double>(extent - 1);
    return reshape_to(cast_to(at, DType::int32), one);
  };
  const AnyExpr row = index_along(graph, Dims{4, {1, 1, dims.extent[1], 1}}, 2);
  const AnyExpr column = index_along(graph, Dims{4, {1, 1, 1, dims.extent[2]}}, 3);
  const AnyExpr top = line(0, dims.extent[1]);
  const AnyExpr left = line(1, dims.extent[2]);
  const AnyExpr bottom = line(2, dims.extent[1]);
  const AnyExpr right = line(3, dims.extent[2]);
  const auto between = [](const AnyExpr& low, const AnyExpr& i, const AnyExpr& high) {
    return logical_and(less_equal(low, i), less_equal(i, high));
  };
  const AnyExpr inside = logical_and(between(top, row, bottom), between(left, column, right));
  const AnyExpr on_row = logical_or(equal(row, top), equal(row, bottom));
  const AnyExpr on_column = logical_or(equal(column, left), equal(column, right));
  const AnyExpr frame = logical_and(inside, logical_or(on_row, on_column));
  const AnyExpr number = index_along(graph, Dims{4, {1, count, 1, 1}}, 1);
  const AnyExpr last = reduce<ops::Max>(where(frame, number, -1), 2u, false);  // (N,H,W)
  const AnyExpr covered = greater_equal(last, 0);
  const AnyExpr color = mod(maximum(last, 0), static_cast<int>(colors.dims().extent[0]));
  Dims pixels = dims;
  pixels.extent[3] = 1;
  return where(reshape_to(covered, pixels),
               detail::gather_node(colors, color, 0, 0, Indexing::gather), x);
}

}  // namespace images

/// The boxes with the highest scores, without those that overlap a kept box by more than
/// `iou_threshold`, an intersection over union:
/// non_max_suppression<100>(boxes, scores, {.iou_threshold = 0.7}). The result is {indices, count},
/// with indices in the order of scores and zeros after `count` of them. (B,4) x (B) -> (Most) and
/// ()
///
/// Boxes are (y1, x1, y2, x2), any two opposite corners. Scores must be above `score_threshold`;
/// among equal scores the first box comes first; a score of NaN is never kept. No gradient flows
/// through it.
template <Extent Most, TypedExpr B, TypedExpr S>
constexpr auto non_max_suppression(const B& boxes, const S& scores,
                                   const NonMaxSuppressionOptions& options = {},
                                   std::source_location at = std::source_location::current()) {
  static_assert(Most >= 0, "non_max_suppression<most>(boxes, scores): most must be a number");
  constexpr bool floating = detail::in_domain<Domain::floating, B> && detail::same_elements<B, S>;
  static_assert(floating,
                "non_max_suppression<most>(boxes, scores): boxes and scores must be of the same "
                "floating-point type; convert with cast<float>(x)");
  constexpr Extent bound = Most < 0 ? 0 : Most;
  constexpr auto types = ops::NonMaxSuppression::infer({{}, 0, 0, bound}, B::type, S::type);
  static_assert(!floating || types[0].dims.valid(),
                "non_max_suppression<most>(boxes, scores): boxes must be (B,4), scores (B)");
  using I = Expr<std::int32_t, Shape<bound>>;
  if constexpr (types[0].dims.valid()) {
    detail::mark(at, boxes);
    const Id ids[] = {boxes.id(), scores.id()};
    const auto results =
        add_node(boxes.graph(),
                 ops::NonMaxSuppression{{}, options.iou_threshold, options.score_threshold, bound},
                 ids, 2, types);
    return KeptBoxes<I>{I(boxes.graph(), results[0].id), {boxes.graph(), results[1].id}};
  } else {
    return KeptBoxes<I>{};
  }
}

/// Images with frames of one pixel's width around boxes (y1, x1, y2, x2), where 0 is the first row
/// or column and 1 the last. Box b has the color colors[b % K]; later boxes cover earlier ones.
/// Lines outside of the image are not drawn, and neither are boxes with y1 > y2 or x1 > x2.
/// (N,H,W,C) x (N,B,4) x (K,C) -> (N,H,W,C)
///
/// TensorFlow's draw_bounding_boxes. Gradients flow to the pixels outside of frames, and to the
/// colors.
template <TypedExpr X, TypedExpr B, TypedExpr C>
constexpr auto draw_bounding_boxes(const X& x, const B& boxes, const C& colors,
                                   std::source_location at = std::source_location::current()) {
  constexpr bool are_images = X::rank == 4 && images::have_sides<X>;
  static_assert(are_images && detail::in_domain<Domain::floating, X>,
                "draw_bounding_boxes(x, boxes): x must be images of floating-point numbers, "
                "(N,H,W,C), H and W numbers from 1 on");
  constexpr bool same = detail::same_elements<X, B, C>;
  static_assert(same,
                "draw_bounding_boxes(x, boxes, colors): the element types must be equal; convert "
                "with cast<T>(x)");
  constexpr bool fit = [] {
    if constexpr (are_images && B::rank == 3 && C::rank == 2) {
      const Dims& b = B::shape::dims;
      const Dims& c = C::shape::dims;
      return b.extent[0] == X::shape::dims.extent[0] && !is_symbolic(b.extent[1]) &&
             b.extent[2] == 4 && c.extent[0] > 0 && c.extent[1] == X::shape::dims.extent[3];
    } else {
      return false;
    }
  }();
  static_assert(!are_images || fit,
                "draw_bounding_boxes(x, boxes, colors): boxes must be (N,B,4) and colors (K,C) for "
                "x (N,H,W,C), B and K numbers");
  detail::mark(at, x);
  if constexpr (fit && same && detail::in_domain<Domain::floating, X>) {
    if constexpr (B::shape::dims.extent[1] > 0) {
      return detail::same_type(x, images::draw_boxes(x.any(), boxes.any(), colors.any()).id);
    }
  }
  return detail::same_type(x, x.id());
}

/// The same in TensorFlow's ten colors, which begin with yellow, blue, red and lime; white for
/// images with one channel. (N,H,W,C) x (N,B,4) -> (N,H,W,C) with C of 1, 3 or 4
template <TypedExpr X, TypedExpr B>
constexpr auto draw_bounding_boxes(const X& x, const B& boxes,
                                   std::source_location at = std::source_location::current()) {
  constexpr Extent channels = images::channels_of(X::shape::dims);
  constexpr bool drawn = channels == 1 || channels == 3 || channels == 4;
  static_assert(drawn,
                "draw_bounding_boxes(x, boxes): x must have 1, 3 or 4 channels; give colors");
  constexpr Extent depth = drawn ? channels : 1;
  using T = typename X::element;
  T table[10 * static_cast<std::size_t>(depth)] = {};
  for (int k = 0; k < 10; ++k) {
    for (int c = 0; c < depth; ++c) {
      const double value = c == 3 || depth == 1 ? 1 : images::box_colors[k][c];
      table[k * depth + c] = static_cast<T>(static_cast<detail::Computed<T>>(value));
    }
  }
  return draw_bounding_boxes(x, boxes, constant<T, 10, depth>(x.graph(), table, at), at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
