// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of several sparse tensors, and of rows at sparse positions: sparse_add, sparse_concat,
// sparse_merge; sparse_segment_sum, sparse_segment_mean, sparse_segment_sqrt_n.

#include <array>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/index/segment_folds.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/ops/shape/slice.hpp"
#include "typeflow/sparse/sparse_tensor.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The sum of a and b has the elements of both, because equal coordinates add up.
template <class I, class V, class J, class W>
struct SparseSumRule {
  static constexpr Extent size =
      typeflow::sum_of(V::shape::dims.extent[0], W::shape::dims.extent[0]);
  static constexpr bool alike = std::is_same_v<typename I::element, typename J::element> &&
                                std::is_same_v<typename V::element, typename W::element>;
};

constexpr AnyExpr joined_rows(const AnyExpr& a, const AnyExpr& b) {
  return concat_to(std::array{a, b}, 0);
}

template <class A, class B, int Axis>
struct SparseConcatRule {
  static constexpr int axis = normalize_axis(Axis, A::rank);
  static constexpr Dims value = [] {
    if (A::rank != B::rank || axis < 0) return no_dims;
    Dims dims = A::dims;
    for (int i = 0; i < A::rank; ++i) {
      if (i != axis && A::dims.extent[i] != B::dims.extent[i]) return no_dims;
    }
    dims.extent[axis] = typeflow::sum_of(A::dims.extent[axis], B::dims.extent[axis]);
    return dims.extent[axis] == no_extent ? no_dims : dims;
  }();
};

template <TypedExpr X, TypedExpr I>
constexpr AnyExpr sparse_rows(const X& x, const I& indices) {
  return gather_node(x.any(), indices.any(), 0, 0, Indexing::gather);
}

}  // namespace detail

/// a + b, with the elements of both: values at equal coordinates add up. Gradients flow to the
/// values.
template <class S, TypedExpr I, TypedExpr V, TypedExpr J, TypedExpr W>
constexpr auto sparse_add(const SparseTensor<S, I, V>& a, const SparseTensor<S, J, W>& b,
                          std::source_location at = std::source_location::current()) {
  using Rule = detail::SparseSumRule<I, V, J, W>;
  static_assert(Rule::alike,
                "sparse_add(a, b): indices and values must have equal element types; convert with "
                "cast<T>(x)");
  static_assert(Rule::size != no_extent,
                "sparse_add(a, b): the numbers of elements must both be numbers, or both multiples "
                "of tf::batch");
  detail::mark(at, a.values);
  Graph& g = a.values.graph();
  constexpr Extent size = Rule::size == no_extent ? 1 : Rule::size;
  using Indices = Expr<typename I::element, Shape<size, S::rank>>;
  using Values = Expr<typename V::element, Shape<size>>;
  return SparseTensor<S, Indices, Values>{
      Indices(g, detail::joined_rows(a.indices.any(), b.indices.any()).id),
      Values(g, detail::joined_rows(a.values.any(), b.values.any()).id)};
}

/// The sparse tensors one after the other along an axis: sparse_concat<1>(a, b). The elements of a
/// come first; sparse_reorder sorts them. (A,B), (A,C) -> (A,B+C)
template <int Axis, class S, TypedExpr I, TypedExpr V, class R, TypedExpr J, TypedExpr W>
constexpr auto sparse_concat(const SparseTensor<S, I, V>& a, const SparseTensor<R, J, W>& b,
                             std::source_location at = std::source_location::current()) {
  using Sum = detail::SparseSumRule<I, V, J, W>;
  using Rule = detail::SparseConcatRule<S, R, Axis>;
  static_assert(Sum::alike,
                "sparse_concat<axis>(a, b): indices and values must have equal element types; "
                "convert with cast<T>(x)");
  static_assert(Rule::value.valid(),
                "sparse_concat<axis>(a, b): there must be such an axis, the shapes must be equal "
                "but along it, and there both numbers or both multiples of tf::batch");
  static_assert(Sum::size != no_extent,
                "sparse_concat<axis>(a, b): the numbers of elements must both be numbers, or both "
                "multiples of tf::batch");
  detail::mark(at, a.values);
  Graph& g = a.values.graph();
  ir::Graph& graph = g;
  constexpr Extent size = Sum::size == no_extent ? 1 : Sum::size;
  using Indices = Expr<typename I::element, Shape<size, S::rank>>;
  using Values = Expr<typename V::element, Shape<size>>;
  using Result = SparseTensor<shape_of_t<Rule>, Indices, Values>;
  if constexpr (Rule::value.valid()) {
    const DType type = b.indices.any().dtype();
    Count count{};
    count.multiply(S::dims.extent[Rule::axis]);
    const AnyExpr offset = cast_to(detail::count_node(graph, count), type);
    const AnyExpr shift = where(equal(index_along(graph, Dims{1, {S::rank}}, 0), Rule::axis),
                                offset, detail::constant_node(graph, type, Number{}));
    return Result{Indices(g, detail::joined_rows(a.indices.any(), b.indices.any() + shift).id),
                  Values(g, detail::joined_rows(a.values.any(), b.values.any()).id)};
  } else {
    return Result{};
  }
}

/// Features as columns of one sparse tensor: the elements of `values` at the columns that `ids`
/// says. Both have elements at the same coordinates, in the same order; the coordinate along the
/// last axis becomes the id, of Size ids: sparse_merge<1000>(ids, values).
/// (..,N) x (..,N) -> (..,Size)
template <Extent Size, class S, TypedExpr I, TypedExpr Id, TypedExpr J, TypedExpr V>
constexpr auto sparse_merge(const SparseTensor<S, I, Id>& ids, const SparseTensor<S, J, V>& values,
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<Id> && Id::shape::dims == V::shape::dims,
                "sparse_merge<Size>(ids, values): the ids must be integers, as many as there are "
                "values");
  using Rule = detail::ResizeRule<S, S::rank - 1, Size>;
  detail::mark(at, values.values);
  Graph& g = values.values.graph();
  const AnyExpr indices = ids.indices.any();
  const AnyExpr column = reshape_to(cast_to(ids.values.any(), indices.dtype()),
                                    Dims{2, {indices.dims().extent[0], 1}});
  AnyExpr merged = column;
  if (S::rank > 1) {
    merged = concat_to(std::array{slice_along(indices, 1, 0, S::rank - 1), column}, 1);
  }
  using Indices = Expr<typename I::element, typename I::shape>;
  using Values = Expr<typename V::element, typename V::shape>;
  return SparseTensor<shape_of_t<Rule>, Indices, Values>{Indices(g, merged.id),
                                                         Values(g, values.values.id())};
}

/// The sums of rows of x by segment: sparse_segment_sum<n>(x, indices, ids) is
/// unsorted_segment_sum<n>(gather(x, indices), ids). (M,R...) x (K) x (K) -> (n,R...)
///
/// Ids may be in any order, and negative ones are left out. An index outside of [0, M) and an id of
/// n or more are errors of the run.
template <Extent N, TypedExpr X, TypedExpr I, TypedExpr Id>
constexpr auto sparse_segment_sum(const X& x, const I& indices, const Id& ids,
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X> && X::rank > 0,
                "sparse_segment_sum<n>(x, indices, ids): x must be a tensor of numbers with an "
                "axis of rows");
  static_assert(detail::are_indices<I> && detail::are_indices<Id> && I::rank == 1 &&
                    I::shape::dims == Id::shape::dims,
                "sparse_segment_sum<n>(x, indices, ids): indices and ids must be integers in one "
                "axis, as many of each");
  detail::mark(at, x);
  using Rule = detail::ResizeRule<typename X::shape, 0, N>;
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), unsorted_segment_sum(detail::sparse_rows(x, indices), ids.any(), N).id);
}

/// The means of such rows; 0 for a segment without rows. (M,R...) x (K) x (K) -> (n,R...)
template <Extent N, TypedExpr X, TypedExpr I, TypedExpr Id>
constexpr auto sparse_segment_mean(const X& x, const I& indices, const Id& ids,
                                   std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X> && X::rank > 0,
                "sparse_segment_mean<n>(x, indices, ids): x must be floating-point with an axis of "
                "rows");
  static_assert(detail::are_indices<I> && detail::are_indices<Id> && I::rank == 1 &&
                    I::shape::dims == Id::shape::dims,
                "sparse_segment_mean<n>(x, indices, ids): indices and ids must be integers in one "
                "axis, as many of each");
  detail::mark(at, x);
  using Rule = detail::ResizeRule<typename X::shape, 0, N>;
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), detail::segment_quotient(detail::sparse_rows(x, indices), ids.any(), N,
                                          Indexing::unsorted_segment_mean, false)
                     .id);
}

/// The sums of such rows over the square roots of their numbers; 0 for a segment without rows.
/// (M,R...) x (K) x (K) -> (n,R...)
template <Extent N, TypedExpr X, TypedExpr I, TypedExpr Id>
constexpr auto sparse_segment_sqrt_n(const X& x, const I& indices, const Id& ids,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X> && X::rank > 0,
                "sparse_segment_sqrt_n<n>(x, indices, ids): x must be floating-point with an axis "
                "of rows");
  static_assert(detail::are_indices<I> && detail::are_indices<Id> && I::rank == 1 &&
                    I::shape::dims == Id::shape::dims,
                "sparse_segment_sqrt_n<n>(x, indices, ids): indices and ids must be integers in "
                "one axis, as many of each");
  detail::mark(at, x);
  using Rule = detail::ResizeRule<typename X::shape, 0, N>;
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), detail::segment_quotient(detail::sparse_rows(x, indices), ids.any(), N,
                                          Indexing::unsorted_segment_sqrt_n, true)
                     .id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
