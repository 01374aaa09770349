// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streaming means of errors: mean_absolute_error, mean_squared_error, root_mean_squared_error,
// mean_relative_error, mean_cosine_distance. Predictions come before labels, as in losses. See
// metrics/streaming.hpp for how a metric is used.

#include <source_location>

#include "typeflow/losses/regression.hpp"
#include "typeflow/metrics/streaming.hpp"
#include "typeflow/ops/elementwise/math.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The mean of f(prediction, label).
template <TypedExpr P, Operand L, Operand W, class F, class Finish>
constexpr auto mean_error(Graph& g, Label name, const P& predictions, const L& labels,
                          const W& weights, const std::source_location& at, const F& f,
                          const Finish& finish) {
  using T = MetricElement<typename P::element>;
  return streaming_mean<T, typename P::shape>(
      g, name, weights, at,
      [&] {
        ir::Graph& graph = g;
        const AnyExpr y{&graph, operand_id(graph, P::type.dtype, labels)};
        return f(cast_to(predictions.any(), dtype_of<T>), cast_to(y, dtype_of<T>));
      },
      finish);
}
constexpr AnyExpr as_it_is(const AnyExpr& mean) { return mean; }

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// The mean of |prediction - label|. (S) x (S) -> ()
template <TypedExpr P, Operand L, Operand W = int>
constexpr auto mean_absolute_error(Graph& g, Label name, const P& predictions, const L& labels,
                                   const W& weights = 1,
                                   std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "metrics::mean_absolute_error(g, name, predictions, labels): the predictions must "
                "be floating-point, and the labels of their element type and shape, or a number");
  return detail::mean_error(
      g, name, predictions, labels, weights, at, [](auto x, auto y) { return abs(x - y); },
      detail::as_it_is);
}

/// The mean of (prediction - label)^2. (S) x (S) -> ()
template <TypedExpr P, Operand L, Operand W = int>
constexpr auto mean_squared_error(Graph& g, Label name, const P& predictions, const L& labels,
                                  const W& weights = 1,
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "metrics::mean_squared_error(g, name, predictions, labels): the predictions must "
                "be floating-point, and the labels of their element type and shape, or a number");
  return detail::mean_error(
      g, name, predictions, labels, weights, at, [](auto x, auto y) { return square(x - y); },
      detail::as_it_is);
}

/// The square root of the mean of (prediction - label)^2. (S) x (S) -> ()
template <TypedExpr P, Operand L, Operand W = int>
constexpr auto root_mean_squared_error(Graph& g, Label name, const P& predictions, const L& labels,
                                       const W& weights = 1,
                                       std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "metrics::root_mean_squared_error(g, name, predictions, labels): the predictions "
                "must be floating-point, and the labels of their element type and shape, or a "
                "number");
  return detail::mean_error(
      g, name, predictions, labels, weights, at, [](auto x, auto y) { return square(x - y); },
      [](const AnyExpr& mean) { return sqrt(mean); });
}

/// The mean of |prediction - label| / normalizer; an element counts as 0 where the normalizer is 0.
/// (S) x (S) x (S) -> ()
template <TypedExpr P, Operand L, Operand N, Operand W = int>
constexpr auto mean_relative_error(Graph& g, Label name, const P& predictions, const L& labels,
                                   const N& normalizer, const W& weights = 1,
                                   std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L> && detail::labels_fit<P, N>,
                "metrics::mean_relative_error(g, name, predictions, labels, normalizer): the "
                "predictions must be floating-point, and labels and normalizer of their element "
                "type and shape, or numbers");
  return detail::mean_error(
      g, name, predictions, labels, weights, at,
      [&](auto x, auto y) {
        ir::Graph& graph = g;
        const AnyExpr by{&graph, detail::operand_id(graph, P::type.dtype, normalizer)};
        return detail::divide_or_zero(abs(x - y), cast_to(by, x.dtype()));
      },
      detail::as_it_is);
}

/// 1 - the mean of sum(prediction * label) along an axis, for vectors of length 1; 1 before the
/// first update. Weights belong to vectors, (B) or (B,1). (B,D) x (B,D) -> ()
template <int Axis = -1, TypedExpr P, Operand L, Operand W = int>
constexpr auto mean_cosine_distance(Graph& g, Label name, const P& predictions, const L& labels,
                                    const W& weights = 1,
                                    std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, P::rank);
  static_assert(axis >= 0,
                "metrics::mean_cosine_distance<axis>(g, name, predictions, labels): the "
                "predictions have no such axis");
  static_assert(detail::labels_fit<P, L>,
                "metrics::mean_cosine_distance(g, name, predictions, labels): the predictions must "
                "be floating-point, and the labels of their element type and shape, or a number");
  constexpr unsigned axes = axis < 0 ? 0 : 1u << axis;
  using T = detail::MetricElement<typename P::element>;
  using S = shape_of_t<detail::ReduceRule<typename P::shape, axes, true>>;
  return detail::streaming_mean<T, S>(
      g, name, weights, at,
      [&] {
        ir::Graph& graph = g;
        const AnyExpr y{&graph, detail::operand_id(graph, P::type.dtype, labels)};
        const AnyExpr products = cast_to(predictions.any(), dtype_of<T>) * cast_to(y, dtype_of<T>);
        return reduce<ops::Sum>(products, axes, true);
      },
      [](const AnyExpr& mean) { return 1 - mean; });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics
