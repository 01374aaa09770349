// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists as sets: setdiff1d, unique_with_counts. Only a run knows how many elements there are, so
// results have room for all, and a count (see selection.hpp).

#include <cstdint>
#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/counting.hpp"
#include "typeflow/ops/index/segments.hpp"
#include "typeflow/ops/index/selection.hpp"
#include "typeflow/ops/index/sort.hpp"
#include "typeflow/ops/index/unique.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The elements of a list that are not in another, `count` of them, then zeros; and their positions
/// in the list.
template <TypedExpr V, TypedExpr I>
struct ListDifference {
  V values;
  I index;
  Expr<std::int32_t> count;
};

/// The distinct elements of a list, as UniqueElements; and how often each occurs.
template <TypedExpr V, TypedExpr I, TypedExpr C>
struct CountedElements {
  V values;
  I index;
  C counts;
  Expr<std::int32_t> count;
};

/// The elements of x that are not in y, in their order and with their duplicates, and their int32
/// positions in x: {values, index, count}. (N) x (M) -> (N), (N), ()
///
/// Values and positions past the count are 0. -0 equals 0, and a NaN is in no list. Gradients flow
/// to the elements that stay.
template <TypedExpr X, TypedExpr Y>
constexpr auto setdiff1d(const X& x, const Y& y,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<X, Y> && detail::in_domain<Domain::real, X>,
                "setdiff1d(x, y): both must have one element type, of real numbers; convert with "
                "cast<T>(x)");
  static_assert(X::rank == 1 && Y::rank == 1, "setdiff1d(x, y): x and y must have one axis each");
  detail::mark(at, x);
  const AnyExpr list = x.any();
  const AnyExpr sorted = detail::sort_along(y.any(), 0, {}, 0);
  // A number is in a sorted list if there are more numbers not greater than it than less than it.
  AnyExpr stays = equal(apply(ops::SearchSorted{{}, 0}, sorted, list),
                        apply(ops::SearchSorted{{}, 1}, sorted, list));
  if (is_floating(list.dtype())) stays = logical_or(stays, not_equal(list, list));
  const Extent bound = X::rank == 1 ? X::shape::dims.extent[0] : 0;
  const auto [positions, count] = apply(ops::Partition{{}, bound, 1, 2}, stays);
  const AnyExpr values = detail::slices_at(list, positions, 0);
  Graph& g = x.graph();
  using V = Expr<typename X::element, typename X::shape>;
  using I = Expr<std::int32_t, typename X::shape>;
  return ListDifference<V, I>{V(g, values.id), I(g, maximum(positions, 0).id), {g, count.id}};
}

namespace detail {
template <Extent Bound, TypedExpr X>
constexpr auto unique_counted(const X& x, const std::source_location& at) {
  static_assert(X::rank == 1, "unique_with_counts(x): x must have one axis");
  mark(at, x);
  const auto [values, index, count] = unique(x.any(), Bound);
  const AnyExpr counts =
      scatter_sum_node(index, int32_ones(index), Bound, 0, 0, Indexing::bincount);
  using V = Expr<typename X::element, Shape<Bound>>;
  using I = Expr<std::int32_t, typename X::shape>;
  using C = Expr<std::int32_t, Shape<Bound>>;
  Graph& g = x.graph();
  return CountedElements<V, I, C>{V(g, values.id), I(g, index.id), C(g, counts.id), {g, count.id}};
}
}  // namespace detail

/// unique(x), and how often each of its values occurs, as int32: {values, index, counts, count}.
/// (N) -> (N), (N), (N), ()
template <TypedExpr X>
constexpr auto unique_with_counts(const X& x,
                                  std::source_location at = std::source_location::current()) {
  constexpr Extent bound = X::rank == 1 ? X::shape::dims.extent[0] : 0;
  return detail::unique_counted<bound>(x, at);
}
/// The same with at most Bound distinct elements; more are an Error of the run.
/// (N) -> (Bound), (N), (Bound), ()
template <Extent Bound, TypedExpr X>
constexpr auto unique_with_counts(const X& x,
                                  std::source_location at = std::source_location::current()) {
  return detail::unique_counted<Bound>(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
