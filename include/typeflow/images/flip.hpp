// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images mirrored and turned: flip_left_right, flip_up_down, the same at random, transpose_image,
// rot90.

#include <source_location>

#include "typeflow/images/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace images {

/// x with the axis `from_last` mirrored, or each image unchanged, with equal chances.
constexpr AnyExpr flip_at_random(const AnyExpr& x, int from_last, const Label& function,
                                 const Label& label) {
  const AnyExpr u = draw_each(x, function, label, 0, 1);
  const AnyExpr flipped = reverse_to(x, 1u << (x.dims().rank - from_last));
  return detail::labelled(where(less(u, 0.5), flipped, x), label);
}

/// Rows as columns.
constexpr AnyExpr transpose_sides(const AnyExpr& x) {
  const int rank = x.dims().rank;
  int permutation[max_rank] = {};
  for (int i = 0; i < rank; ++i) permutation[i] = i;
  permutation[rank - 3] = rank - 2;
  permutation[rank - 2] = rank - 3;
  return transpose_to(x, permutation);
}

template <class S, int Turns>
struct TurnRule {
  static constexpr Dims value =
      Turns % 2 == 0 ? S::dims : with_sides(S::dims, width_of(S::dims), height_of(S::dims));
};

}  // namespace images

/// Images with left and right swapped. (N,H,W,C) -> (N,H,W,C), or without N
template <TypedExpr X>
constexpr auto flip_left_right(const X& x,
                               std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>,
                "flip_left_right(x): x must be images, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  return detail::same_type(x, reverse_to(x.any(), 1u << (X::rank - 2)).id);
}

/// Images with top and bottom swapped. (N,H,W,C) -> (N,H,W,C), or without N
template <TypedExpr X>
constexpr auto flip_up_down(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>, "flip_up_down(x): x must be images, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  return detail::same_type(x, reverse_to(x.any(), 1u << (X::rank - 3)).id);
}

/// Each image with left and right swapped, or unchanged, with equal chances, drawn anew in each run
/// for each image. The label is the result's name; with it, the choice depends on no other
/// operation. (N,H,W,C) -> (N,H,W,C), or without N
template <TypedExpr X>
constexpr auto random_flip_left_right(const X& x, Label label = "",
                                      std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>,
                "random_flip_left_right(x): x must be images, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  return detail::same_type(x,
                           images::flip_at_random(x.any(), 2, "random_flip_left_right", label).id);
}

/// The same with top and bottom. (N,H,W,C) -> (N,H,W,C), or without N
template <TypedExpr X>
constexpr auto random_flip_up_down(const X& x, Label label = "",
                                   std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>,
                "random_flip_up_down(x): x must be images, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  return detail::same_type(x, images::flip_at_random(x.any(), 3, "random_flip_up_down", label).id);
}

/// Images with rows and columns swapped. (N,H,W,C) -> (N,W,H,C), or without N
template <TypedExpr X>
constexpr auto transpose_image(const X& x,
                               std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>,
                "transpose_image(x): x must be images, (N,H,W,C) or (H,W,C)");
  using Rule = images::TurnRule<typename X::shape, 1>;
  detail::mark(at, x);
  if constexpr (images::are_images<X>) {
    return images::result_of<Rule>(x, images::transpose_sides(x.any()));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// Images turned counter-clockwise by `Turns` right angles; clockwise if negative.
/// (N,H,W,C) -> (N,W,H,C), or without N
template <int Turns = 1, TypedExpr X>
constexpr auto rot90(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::are_images<X>, "rot90(x): x must be images, (N,H,W,C) or (H,W,C)");
  constexpr int turns = (Turns % 4 + 4) % 4;
  using Rule = images::TurnRule<typename X::shape, turns>;
  detail::mark(at, x);
  if constexpr (images::are_images<X>) {
    constexpr unsigned rows = 1u << (X::rank - 3);
    constexpr unsigned columns = 1u << (X::rank - 2);
    if constexpr (turns % 2 == 0) {
      return images::result_of<Rule>(x, turns == 0 ? x.any() : reverse_to(x.any(), rows | columns));
    } else {
      return images::result_of<Rule>(
          x, reverse_to(images::transpose_sides(x.any()), turns == 1 ? rows : columns));
    }
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
