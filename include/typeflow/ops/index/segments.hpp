// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums over segments, groups with an integer id: segment_sum, unsorted_segment_sum, bincount,
// confusion_matrix. The number of groups is a template argument, because shapes are known before a
// run.

#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/gather_nd.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Untyped: sums of the slices of `values` with the same id.
template <UntypedExpr X>
constexpr AnyExpr segment_sum(const X& values, const X& ids, Extent segments) {
  return detail::scatter_sum_node(ids, values, segments, 0, 0, Indexing::segment_sum);
}
template <UntypedExpr X>
constexpr AnyExpr unsorted_segment_sum(const X& values, const X& ids, Extent segments) {
  return detail::scatter_sum_node(ids, values, segments, 0, 0, Indexing::unsorted_segment_sum);
}

namespace detail {

template <class I, class V, Extent N>
struct SegmentRule {
  static constexpr Dims value = scattered(I::dims, V::dims, N, 0, 0);
};

/// Ones in the shape of a tensor of integers.
template <UntypedExpr X>
constexpr AnyExpr int32_ones(const X& x) {
  return broadcast_to(constant_node(*x.graph, DType::int32, Number{0, 1}), x.dims());
}

/// The position of each pair of a label and a prediction in a matrix, and the number to add there.
template <UntypedExpr X>
constexpr AnyExpr confusion(const X& labels, const AnyExpr& predictions, const AnyExpr& weights,
                            Extent classes) {
  ir::Graph& graph = *labels.graph;
  Dims pairs = labels.dims();
  pairs.append(1);
  const AnyExpr label = reshape_to(cast_to(labels, DType::int64), pairs);
  const AnyExpr prediction = reshape_to(cast_to(predictions, DType::int64), pairs);
  const int last = pairs.rank - 1;
  pairs.extent[last] = 2;
  const AnyExpr coordinates = where(equal(index_along(graph, pairs, last), 0), label, prediction);
  const Dims matrix{2, {classes, classes}};
  const AnyExpr places = ravel(coordinates, matrix, Indexing::confusion_matrix);
  const Extent cells = flattened(matrix, 2).extent[0];
  return reshape_to(scatter_sum_node(places, weights, cells, 0, 0, Indexing::confusion_matrix),
                    matrix);
}

}  // namespace detail

/// The sums of the rows of `values` with the same id, for n ids: segment_sum<n>(values, ids).
/// (K,R...) x (K) -> (n,R...)
///
/// The ids must be sorted; ids out of order or outside of [0, n) are errors of the run. A segment
/// without ids is zero. n may be a multiple of tf::batch.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto segment_sum(const V& values, const I& ids,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, V>,
                "segment_sum<n>(values, ids): the values must be numbers");
  static_assert(detail::are_indices<I> && I::rank == 1,
                "segment_sum<n>(values, ids): the ids must be integers in one axis");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(I::rank != 1 || Rule::value.valid(),
                "segment_sum<n>(values, ids): the values must have as many rows as there are ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(values.graph(),
                                                     segment_sum(values.any(), ids.any(), N).id);
}

/// The sums of the slices of `values` with the same id, in any order:
/// unsorted_segment_sum<n>(values, ids). (S...,R...) x (S...) -> (n,R...)
///
/// Values with a negative id are left out; an id of n or more is an error of the run. A segment
/// without ids is zero. n may be a multiple of tf::batch.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto unsorted_segment_sum(const V& values, const I& ids,
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, V>,
                "unsorted_segment_sum<n>(values, ids): the values must be numbers");
  static_assert(detail::are_indices<I>,
                "unsorted_segment_sum<n>(values, ids): the ids must be integers");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(Rule::value.valid(),
                "unsorted_segment_sum<n>(values, ids): the first axes of the values must be the "
                "axes of the ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(), unsorted_segment_sum(values.any(), ids.any(), N).id);
}

/// How often each of the numbers 0 ... n-1 occurs, as int32: bincount<n>(x). (S...) -> (n)
///
/// As TensorFlow's with maxlength = n: numbers of n and more are not counted, a negative number is
/// an error of the run. It has no gradient.
template <Extent N, TypedExpr X>
constexpr auto bincount(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<X>, "bincount<n>(x): x must be a tensor of integers");
  detail::mark(at, x);
  return Expr<std::int32_t, Shape<N>>(
      x.graph(),
      detail::scatter_sum_node(x.any(), detail::int32_ones(x.any()), N, 0, 0, Indexing::bincount)
          .id);
}
/// The same with a weight for each occurrence; returns sums of weights. (S...) x (S...) -> (n)
template <Extent N, TypedExpr X, TypedExpr W>
constexpr auto bincount(const X& x, const W& weights,
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<X>, "bincount<n>(x, weights): x must be a tensor of integers");
  static_assert(
      detail::in_domain<Domain::numbers, W> && W::shape::dims == X::shape::dims,
      "bincount<n>(x, weights): the weights must be numbers in a tensor of the shape of x");
  detail::mark(at, x);
  return Expr<typename W::element, Shape<N>>(
      x.graph(), detail::scatter_sum_node(x.any(), weights.any(), N, 0, 0, Indexing::bincount).id);
}

/// How often a label (row) was predicted as a class (column), as int32:
/// confusion_matrix<classes>(labels, predictions). (S...) x (S...) -> (classes,classes)
///
/// A number outside of [0, classes) is an error of the run. It has no gradient.
template <Extent Classes, TypedExpr L, TypedExpr P>
constexpr auto confusion_matrix(const L& labels, const P& predictions,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<L> && detail::are_indices<P> &&
                    L::shape::dims == P::shape::dims && L::rank < max_rank,
                "confusion_matrix<classes>(labels, predictions): both must be integers in tensors "
                "of one shape, with at most 7 axes");
  static_assert(!is_symbolic(Classes),
                "confusion_matrix<classes>(labels, predictions): the number of classes must be a "
                "number, not tf::batch");
  detail::mark(at, labels);
  return Expr<std::int32_t, Shape<Classes, Classes>>(
      labels.graph(),
      detail::confusion(labels.any(), predictions.any(), detail::int32_ones(labels.any()), Classes)
          .id);
}
/// The same with a weight for each pair; returns sums of weights. (S...) x (S...) x (S...) ->
/// (classes,classes)
template <Extent Classes, TypedExpr L, TypedExpr P, TypedExpr W>
constexpr auto confusion_matrix(const L& labels, const P& predictions, const W& weights,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<L> && detail::are_indices<P> &&
                    L::shape::dims == P::shape::dims && L::rank < max_rank,
                "confusion_matrix<classes>(labels, predictions, weights): labels and predictions "
                "must be integers in tensors of one shape, with at most 7 axes");
  static_assert(!is_symbolic(Classes),
                "confusion_matrix<classes>(labels, predictions, weights): the number of classes "
                "must be a number, not tf::batch");
  static_assert(detail::in_domain<Domain::numbers, W> && W::shape::dims == L::shape::dims,
                "confusion_matrix<classes>(labels, predictions, weights): the weights must be "
                "numbers in a tensor of the shape of the labels");
  detail::mark(at, labels);
  return Expr<typename W::element, Shape<Classes, Classes>>(
      labels.graph(),
      detail::confusion(labels.any(), predictions.any(), weights.any(), Classes).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
