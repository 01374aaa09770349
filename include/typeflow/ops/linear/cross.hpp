// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cross product of vectors, and bands of matrices. Both are compositions, so their gradients
// are, too.

#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Whether the last axis has three elements.
constexpr bool has_three(const Dims& x) { return x.rank >= 1 && x.extent[x.rank - 1] == 3; }

/// (a1 b2 - a2 b1, a2 b0 - a0 b2, a0 b1 - a1 b0)
constexpr AnyExpr cross_of(const UntypedExpr auto& a, const UntypedExpr auto& b) {
  AnyExpr parts[3];
  for (int i = 0; i < 3; ++i) {
    const auto part = [](const AnyExpr& x, int k) {
      return slice_along(x, x.dims().rank - 1, k % 3, 1);
    };
    parts[i] = part(a, i + 1) * part(b, i + 2) - part(a, i + 2) * part(b, i + 1);
  }
  return concat_to(parts, parts[0].dims().rank - 1);
}

/// x where the column is at most `lower` less than the row, and at most `upper` more; 0 elsewhere.
constexpr AnyExpr band_of(const UntypedExpr auto& x, int lower, int upper) {
  const int rank = x.dims().rank;
  const auto row = index_along(*x.graph, x.dims(), rank - 2);
  const auto column = index_along(*x.graph, x.dims(), rank - 1);
  AnyExpr kept = x;
  if (lower >= 0) kept = where(less_equal(row - column, lower), kept, 0);
  if (upper >= 0) kept = where(less_equal(column - row, upper), kept, 0);
  return kept;
}

}  // namespace detail

/// The cross product of vectors along the last axis; the axes before it broadcast.
/// (..,3) x (..,3) -> (..,3)
template <TypedExpr A, TypedExpr B>
constexpr auto cross(const A& a, const B& b,
                     std::source_location at = std::source_location::current()) {
  constexpr bool vectors = detail::has_three(A::shape::dims) && detail::has_three(B::shape::dims);
  static_assert(vectors, "cross(a, b): the last axes of a and b must have 3 elements");
  static_assert(detail::same_elements<A, B>,
                "cross(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "cross(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::numbers, A, B>,
                "cross(a, b): a and b must be tensors of numbers");
  using S = shape_of_t<detail::BroadcastRule<typename A::shape, typename B::shape>>;
  using E = Expr<typename A::element, S>;
  if constexpr (vectors && detail::same_elements<A, B> && detail::broadcasts<A, B>) {
    detail::mark(at, a, b);
    return E(a.graph(), detail::cross_of(a.any(), b.any()).id);
  } else {
    return E(a.graph(), a.id());
  }
}

/// A band of each matrix: the elements from `Lower` diagonals below the main one to `Upper` above
/// it, 0 elsewhere. A negative number means all. matrix_band_part<-1, 0>(x) is the lower triangle,
/// <0, -1> the upper one, <0, 0> the diagonal. (..,M,N) -> (..,M,N)
template <int Lower, int Upper, TypedExpr X>
constexpr auto matrix_band_part(const X& x,
                                std::source_location at = std::source_location::current()) {
  static_assert(X::rank >= 2, "matrix_band_part<lower, upper>(x): x must have two axes at least");
  static_assert(detail::in_domain<Domain::numbers, X>,
                "matrix_band_part<lower, upper>(x): x must be a tensor of numbers");
  if constexpr (X::rank >= 2 && detail::in_domain<Domain::numbers, X>) {
    detail::mark(at, x);
    return detail::same_type(x, detail::band_of(x.any(), Lower, Upper).id);
  } else {
    return x;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
