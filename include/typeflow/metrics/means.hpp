// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streaming means of values, and shares of right predictions: mean, percentage_below, accuracy,
// top_k_accuracy, recall_at_k. Predictions come before labels, as in losses. See
// metrics/streaming.hpp for how a metric is used.

#include <source_location>

#include "typeflow/metrics/streaming.hpp"
#include "typeflow/ops/index/indexing.hpp"
#include "typeflow/ops/index/sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// The weighted mean of all values. (S) -> ()
template <TypedExpr X, Operand W = int>
constexpr auto mean(Graph& g, Label name, const X& values, const W& weights = 1,
                    std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "metrics::mean(g, name, values): the values must be numbers");
  using T = detail::MetricElement<typename X::element>;
  return detail::streaming_mean<T, typename X::shape>(
      g, name, weights, at, [&] { return cast_to(values.any(), dtype_of<T>); });
}

/// The share of values below a threshold. (S) -> ()
template <TypedExpr X, Operand W = int>
constexpr auto percentage_below(Graph& g, Label name, const X& values, double threshold,
                                const W& weights = 1,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "metrics::percentage_below(g, name, values, threshold): the values must be "
                "floating-point");
  using T = detail::MetricElement<typename X::element>;
  return detail::streaming_mean<T, typename X::shape>(g, name, weights, at, [&] {
    return cast_to(less(cast_to(values.any(), dtype_of<T>), threshold), dtype_of<T>);
  });
}

/// The share of predictions that equal their label. (S) x (S) -> ()
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto accuracy(Graph& g, Label name, const P& predictions, const L& labels,
                        const W& weights = 1,
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::alike_in_type<P, L>,
                "metrics::accuracy(g, name, predictions, labels): both must have one element type "
                "and one shape");
  return detail::streaming_mean<float, typename P::shape>(g, name, weights, at, [&] {
    return cast_to(equal(predictions.any(), labels.any()), DType::float32);
  });
}

/// The share of rows whose label is among the k classes with the largest predictions, by
/// in_top_k(predictions, labels, k). (..,C) x (..) -> ()
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto top_k_accuracy(Graph& g, Label name, const P& predictions, const L& labels, int k,
                              const W& weights = 1,
                              std::source_location at = std::source_location::current()) {
  return detail::streaming_mean<float, typename L::shape>(g, name, weights, at, [&] {
    return cast_to(in_top_k(predictions, labels, k, at).any(), DType::float32);
  });
}

/// The share of labels that are among the k largest predictions of their row. Of equal predictions
/// the first ones count. A row has one label or several; one that repeats counts once, as in
/// TensorFlow. A label that is not a class is never found. Weights belong to rows.
/// (B,C) x (B) or (B,L) -> ()
template <int K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto recall_at_k(Graph& g, Label name, const P& predictions, const L& labels,
                           const W& weights = 1,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, P> && P::rank == 2 && detail::are_indices<L> &&
                    (L::rank == 1 || L::rank == 2) &&
                    L::shape::dims.extent[0] == P::shape::dims.extent[0],
                "metrics::recall_at_k<k>(g, name, predictions, labels): the predictions must be "
                "floating-point, (B,C), and the labels integers, (B) or (B,L)");
  const auto once = [&] {  // the weights; 0 for a label that its row has had before
    if constexpr (L::rank == 2) {
      detail::check_metric_weights<typename L::shape, W>();
      const Dims dims = L::shape::dims;
      const Extent n = dims.extent[1];
      const auto same = equal(expand_dims<2>(labels, at), expand_dims<1>(labels, at), at).any();
      const auto before = less(index_along(*same.graph, Dims{2, {1, n}}, 1),
                               index_along(*same.graph, Dims{2, {n, 1}}, 0));
      const AnyExpr repeats = reduce<ops::Any>(logical_and(same, before), 4u, false);
      const AnyExpr w = detail::metric_weights(*same.graph, weights, dims, DType::float32);
      return Expr<float, typename L::shape>(g, where(repeats, 0, w).id);
    } else {
      return weights;
    }
  }();
  return detail::streaming_mean<float, typename L::shape>(g, name, once, at, [&] {
    const auto top = top_k<K>(predictions, at);
    const Extent rows = P::shape::dims.extent[0];
    const Extent count = L::rank == 2 ? L::shape::dims.extent[L::rank - 1] : 1;
    const AnyExpr label = cast_to(labels.any(), DType::int64);
    const AnyExpr found = equal(
        reshape_to(label, Dims{3, {rows, count, 1}}),
        reshape_to(cast_to(top.indices.any(), DType::int64), Dims{3, {rows, 1, K}}));  // (B,L,K)
    const AnyExpr hits = reduce<ops::Any>(found, 4u, false);
    return cast_to(reshape_to(hits, L::shape::dims), DType::float32);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics
