// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rows of an embedding table, by ids: embedding_lookup for one id each, embedding_lookup_sparse for
// several. The table's gradient is sparse (ops/index/gather.hpp): an optimiser's step changes only
// the rows that were read.

#include <source_location>

#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/segments.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How embedding_lookup_sparse combines the rows of an example.
enum class Combiner {
  sum,
  mean,   ///< divided by the sum of the weights
  sqrtn,  ///< divided by the square root of the sum of the squared weights
};

/// The rows of an embedding table for these ids: embedding_lookup(params, words). (N,R...) x (I...)
/// -> (I...,R...)
///
/// An id outside of [0, N) is an error of the run.
template <TypedExpr X, TypedExpr I>
constexpr auto embedding_lookup(const X& params, const I& ids,
                                std::source_location at = std::source_location::current()) {
  static_assert(X::rank > 0, "embedding_lookup(params, ids): params must have an axis of rows");
  static_assert(detail::are_indices<I>, "embedding_lookup(params, ids): the ids must be integers");
  using Rule = detail::GatherRule<typename X::shape, typename I::shape, 0, 0>;
  static_assert(X::rank == 0 || Rule::value.valid(),
                "embedding_lookup(params, ids): the result would have more axes than tf::max_rank");
  detail::mark(at, params);
  return Expr<typename X::element, shape_of_t<Rule>>(
      params.graph(),
      detail::gather_node(params.any(), ids.any(), 0, 0, Indexing::embedding_lookup).id);
}

namespace detail {

/// sum / total; 0 where the total is 0, as for a segment without ids.
template <UntypedExpr X>
constexpr AnyExpr per_total(const X& sum, const AnyExpr& total) {
  Dims dims = total.dims();
  while (dims.rank < sum.dims().rank) dims.append(1);
  const AnyExpr divisor = reshape_to(total, dims);
  const AnyExpr nothing = equal(divisor, 0);
  return where(nothing, 0, sum / where(nothing, 1, divisor));
}

/// Combines the rows of each segment into one; `weights` does not exist if all weights are 1.
template <UntypedExpr X>
constexpr AnyExpr combine_rows(const X& given, const AnyExpr& segment_ids, const AnyExpr& weights,
                               Extent segments, Combiner combiner) {
  const auto sum_of = [&](const X& values) {
    return scatter_sum_node(segment_ids, values, segments, 0, 0, Indexing::embedding_segments);
  };
  X rows = given;
  X weight = weights;
  if (weights.exists()) {
    Dims dims = weights.dims();
    while (dims.rank < rows.dims().rank) dims.append(1);
    rows = rows * reshape_to(weights, dims);
  } else if (combiner != Combiner::sum) {
    weight = broadcast_to(literal_node(*rows.graph, rows.dtype(), 1), segment_ids.dims());
  }
  const X sum = sum_of(rows);
  if (combiner == Combiner::sum) return sum;
  return per_total(sum,
                   combiner == Combiner::mean ? sum_of(weight) : sqrt(sum_of(weight * weight)));
}
template <UntypedExpr X>
constexpr AnyExpr combine_embeddings(const X& params, const AnyExpr& ids,
                                     const AnyExpr& segment_ids, const AnyExpr& weights,
                                     Extent segments, Combiner combiner) {
  return combine_rows(gather_node(params, ids, 0, 0, Indexing::embedding_ids), segment_ids, weights,
                      segments, combiner);
}

template <class X, class I, class S>
inline constexpr bool are_sparse_ids =
    X::rank > 0 && are_indices<I>&& are_indices<S>&& I::rank == 1 &&
    I::shape::dims == S::shape::dims;

template <class X, Extent N>
struct EmbeddingRule {
  static constexpr Dims value = [] {
    Dims out = X::dims;
    out.extent[0] = N;
    return out;
  }();
};

}  // namespace detail

/// For n examples with any number of ids each, one embedding each, combined from the ids' rows:
/// embedding_lookup_sparse<n, combiner>(params, ids, segment_ids). Id k belongs to example
/// segment_ids[k]. (N,R...) x (K) x (K) -> (n,R...)
///
/// This is TensorFlow's function of a SparseTensor: the ids are its values, the segment ids its
/// first coordinates, in any order. A negative segment id leaves the id out, so K can be an upper
/// bound. An example without ids is zero (as in TensorFlow's safe_embedding_lookup_sparse). Ids
/// outside of [0, N), and segment ids of n or more, are errors of the run. n and K may be multiples
/// of tf::batch. For several tables, or with clipped rows, use
/// embedding_combine(embedding_lookup(...)) (embedding_tables.hpp).
template <Extent N, Combiner C = Combiner::mean, TypedExpr X, TypedExpr I, TypedExpr S>
constexpr auto embedding_lookup_sparse(const X& params, const I& ids, const S& segment_ids,
                                       std::source_location at = std::source_location::current()) {
  static_assert(detail::are_sparse_ids<X, I, S>,
                "embedding_lookup_sparse<n>(params, ids, segment_ids): params must have an axis of "
                "rows; ids and segment_ids must be integers in one axis of equal extents");
  static_assert(detail::in_domain<Domain::floating, X>,
                "embedding_lookup_sparse<n>(params, ids, segment_ids): params must be "
                "floating-point numbers");
  detail::mark(at, params);
  return Expr<typename X::element, shape_of_t<detail::EmbeddingRule<typename X::shape, N>>>(
      params.graph(),
      detail::combine_embeddings(params.any(), ids.any(), segment_ids.any(), AnyExpr{}, N, C).id);
}
/// The same with a weight for each id. An example whose weights add up to 0 is zero, too. (N,R...)
/// x (K) x (K) x (K) -> (n,R...)
template <Extent N, Combiner C = Combiner::mean, TypedExpr X, TypedExpr I, TypedExpr S, TypedExpr W>
constexpr auto embedding_lookup_sparse(const X& params, const I& ids, const S& segment_ids,
                                       const W& weights,
                                       std::source_location at = std::source_location::current()) {
  static_assert(
      detail::are_sparse_ids<X, I, S>,
      "embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params must have an "
      "axis of rows; ids and segment_ids must be integers in one axis of equal extents");
  static_assert(detail::in_domain<Domain::floating, X> && detail::same_elements<X, W> &&
                    W::shape::dims == I::shape::dims,
                "embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params and weights "
                "must have one floating-point type, and the weights the shape of the ids");
  detail::mark(at, params);
  return Expr<typename X::element, shape_of_t<detail::EmbeddingRule<typename X::shape, N>>>(
      params.graph(),
      detail::combine_embeddings(params.any(), ids.any(), segment_ids.any(), weights.any(), N, C)
          .id);
}

/// embedding_lookup_sparse without the negative ids.
template <Extent N, Combiner C = Combiner::mean, TypedExpr X, TypedExpr I, TypedExpr S>
constexpr auto safe_embedding_lookup_sparse(
    const X& params, const I& ids, const S& segment_ids,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::are_sparse_ids<X, I, S>,
                "safe_embedding_lookup_sparse<n>(params, ids, segment_ids): params must have an "
                "axis of rows; ids and segment_ids must be integers in one axis of equal extents");
  static_assert(detail::in_domain<Domain::floating, X>,
                "safe_embedding_lookup_sparse<n>(params, ids, segment_ids): params must be "
                "floating-point numbers");
  detail::mark(at, params);
  const AnyExpr segments = where(less(ids.any(), 0), -1, cast_to(segment_ids.any(), DType::int64));
  return Expr<typename X::element, shape_of_t<detail::EmbeddingRule<typename X::shape, N>>>(
      params.graph(),
      detail::combine_embeddings(params.any(), maximum(ids.any(), 0), segments, AnyExpr{}, N, C)
          .id);
}
/// embedding_lookup_sparse without negative ids and without ids whose weight is not positive.
template <Extent N, Combiner C = Combiner::mean, TypedExpr X, TypedExpr I, TypedExpr S, TypedExpr W>
constexpr auto safe_embedding_lookup_sparse(
    const X& params, const I& ids, const S& segment_ids, const W& weights,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::are_sparse_ids<X, I, S>,
                "safe_embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params must "
                "have an axis of rows; ids and segment_ids must be integers in one axis of equal "
                "extents");
  static_assert(detail::in_domain<Domain::floating, X> && detail::same_elements<X, W> &&
                    W::shape::dims == I::shape::dims,
                "safe_embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params and "
                "weights must have one floating-point type, and the weights the shape of the ids");
  detail::mark(at, params);
  const AnyExpr left_out = logical_or(less(ids.any(), 0), logical_not(greater(weights.any(), 0)));
  const AnyExpr segments = where(left_out, -1, cast_to(segment_ids.any(), DType::int64));
  return Expr<typename X::element, shape_of_t<detail::EmbeddingRule<typename X::shape, N>>>(
      params.graph(),
      detail::combine_embeddings(params.any(), maximum(ids.any(), 0), segments, weights.any(), N, C)
          .id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
