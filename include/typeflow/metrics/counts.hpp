// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streaming counts of right and wrong predictions: true_positives, true_negatives, false_positives,
// false_negatives, precision, recall, confusion_matrix, mean_iou. Predictions come before labels,
// as in losses. See metrics/streaming.hpp for how a metric is used.

#include <source_location>

#include "typeflow/metrics/streaming.hpp"
#include "typeflow/ops/index/segments.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Whether x is true, or nonzero.
constexpr AnyExpr is_true(const AnyExpr& x) {
  return x.dtype() == DType::boolean ? x : not_equal(x, 0);
}

/// The sum of weights where the prediction is `predicted` and the label is `labelled`.
template <TypedExpr P, TypedExpr L, Operand W>
constexpr AnyExpr sum_of_pairs(const P& predictions, bool predicted, const L& labels, bool labelled,
                               const W& weights) {
  const AnyExpr p = is_true(predictions.any());
  const AnyExpr y = is_true(labels.any());
  const AnyExpr hit = logical_and(predicted ? p : logical_not(p), labelled ? y : logical_not(y));
  const AnyExpr w = metric_weights(*p.graph, weights, P::shape::dims, DType::float64);
  return sum_of_all(where(hit, w, 0));
}

template <class P, class L>
inline constexpr bool truths_fit =
    P::shape::dims == L::shape::dims && !is_string<typename P::element> &&
    !is_string<typename L::element>;

/// The metric of sum_of_pairs.
template <TypedExpr P, TypedExpr L, Operand W>
constexpr metrics::Metric<double> count_of_pairs(Graph& g, Label name, const P& predictions,
                                                 bool predicted, const L& labels, bool labelled,
                                                 const W& weights, const std::source_location& at) {
  check_metric_weights<typename P::shape, W>();
  const Scope in(g, name);
  const AnyExpr count = running_sum<>(g, "count", at);
  mark(at, predictions);
  Effect update;
  add_to(update, g, count, sum_of_pairs(predictions, predicted, labels, labelled, weights));
  return metric_of<double>(g, count + 0, update, at);
}

/// True positives / (true positives + one kind of mistakes).
template <TypedExpr P, TypedExpr L, Operand W>
constexpr metrics::Metric<float> share_of_hits(Graph& g, Label name, const P& predictions,
                                               const L& labels, const W& weights, Label mistakes,
                                               bool predicted, const std::source_location& at) {
  check_metric_weights<typename P::shape, W>();
  const Scope in(g, name);
  const AnyExpr hits = running_sum<>(g, "true_positives", at);
  const AnyExpr wrong = running_sum<>(g, mistakes, at);
  mark(at, predictions);
  Effect update;
  add_to(update, g, hits, sum_of_pairs(predictions, true, labels, true, weights));
  add_to(update, g, wrong, sum_of_pairs(predictions, predicted, labels, !predicted, weights));
  return metric_of<float>(g, divide_or_zero(hits, hits + wrong), update, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// The number of elements whose prediction and label are both true, or the sum of their weights.
/// Predictions and labels are booleans, or numbers, where nonzero is true. (S) x (S) -> ()
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto true_positives(Graph& g, Label name, const P& predictions, const L& labels,
                              const W& weights = 1,
                              std::source_location at = std::source_location::current()) {
  static_assert(detail::truths_fit<P, L>,
                "metrics::true_positives(g, name, predictions, labels): both must be booleans or "
                "numbers of one shape");
  return detail::count_of_pairs(g, name, predictions, true, labels, true, weights, at);
}
/// The number of elements whose prediction and label are both false.
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto true_negatives(Graph& g, Label name, const P& predictions, const L& labels,
                              const W& weights = 1,
                              std::source_location at = std::source_location::current()) {
  static_assert(detail::truths_fit<P, L>,
                "metrics::true_negatives(g, name, predictions, labels): both must be booleans or "
                "numbers of one shape");
  return detail::count_of_pairs(g, name, predictions, false, labels, false, weights, at);
}
/// The number of elements whose prediction is true and whose label is false.
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto false_positives(Graph& g, Label name, const P& predictions, const L& labels,
                               const W& weights = 1,
                               std::source_location at = std::source_location::current()) {
  static_assert(detail::truths_fit<P, L>,
                "metrics::false_positives(g, name, predictions, labels): both must be booleans or "
                "numbers of one shape");
  return detail::count_of_pairs(g, name, predictions, true, labels, false, weights, at);
}
/// The number of elements whose prediction is false and whose label is true.
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto false_negatives(Graph& g, Label name, const P& predictions, const L& labels,
                               const W& weights = 1,
                               std::source_location at = std::source_location::current()) {
  static_assert(detail::truths_fit<P, L>,
                "metrics::false_negatives(g, name, predictions, labels): both must be booleans or "
                "numbers of one shape");
  return detail::count_of_pairs(g, name, predictions, false, labels, true, weights, at);
}

/// The share of true predictions whose label is true. (S) x (S) -> ()
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto precision(Graph& g, Label name, const P& predictions, const L& labels,
                         const W& weights = 1,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::truths_fit<P, L>,
                "metrics::precision(g, name, predictions, labels): both must be booleans or "
                "numbers of one shape");
  return detail::share_of_hits(g, name, predictions, labels, weights, "false_positives", true, at);
}
/// The share of true labels whose prediction is true. (S) x (S) -> ()
template <TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto recall(Graph& g, Label name, const P& predictions, const L& labels,
                      const W& weights = 1,
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::truths_fit<P, L>,
                "metrics::recall(g, name, predictions, labels): both must be booleans or numbers "
                "of one shape");
  return detail::share_of_hits(g, name, predictions, labels, weights, "false_negatives", false, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The running confusion matrix of a metric, and the update that adds this batch's.
template <Extent Classes, TypedExpr P, TypedExpr L, Operand W>
constexpr AnyExpr running_confusion(Graph& g, Effect& update, const P& predictions, const L& labels,
                                    const W& weights, const std::source_location& at) {
  check_metric_weights<typename L::shape, W>();
  const AnyExpr matrix = running_sum<Classes, Classes>(g, "confusion_matrix", at);
  mark(at, predictions);
  ir::Graph& graph = g;
  const AnyExpr w = metric_weights(graph, weights, L::shape::dims, DType::float64);
  add_to(update, g, matrix,
         confusion(labels.any(), predictions.any(), broadcast_to(w, L::shape::dims), Classes));
  return matrix;
}

template <class P, class L>
inline constexpr bool classes_fit =
    are_indices<P> && are_indices<L> && P::shape::dims == L::shape::dims && L::rank < max_rank;

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// How often each label (row) was predicted as each class (column), or sums of weights:
/// confusion_matrix<classes>(g, name, predictions, labels). (S) x (S) -> (classes,classes)
///
/// A class outside of [0, classes) is an error of the run.
template <Extent Classes, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto confusion_matrix(Graph& g, Label name, const P& predictions, const L& labels,
                                const W& weights = 1,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::classes_fit<P, L>,
                "metrics::confusion_matrix<classes>(g, name, predictions, labels): both must be "
                "integers in tensors of one shape, with at most 7 axes");
  const Scope in(g, name);
  Effect update;
  const AnyExpr matrix =
      detail::running_confusion<Classes>(g, update, predictions, labels, weights, at);
  return detail::metric_of<double, Shape<Classes, Classes>>(g, matrix + 0, update, at);
}

/// Intersection over union, the mean over classes: mean_iou<classes>(g, name, predictions, labels).
/// For a class it is the number of elements with the class as label and prediction, over the number
/// with the class as label or prediction. Classes that do not occur are left out. (S) x (S) -> ()
///
/// A class outside of [0, classes) is an error of the run.
template <Extent Classes, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto mean_iou(Graph& g, Label name, const P& predictions, const L& labels,
                        const W& weights = 1,
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::classes_fit<P, L>,
                "metrics::mean_iou<classes>(g, name, predictions, labels): both must be integers "
                "in tensors of one shape, with at most 7 axes");
  const Scope in(g, name);
  Effect update;
  const AnyExpr matrix =
      detail::running_confusion<Classes>(g, update, predictions, labels, weights, at);
  ir::Graph& graph = g;
  const AnyExpr row = index_along(graph, Dims{2, {Classes, 1}}, 0);
  const AnyExpr column = index_along(graph, Dims{2, {1, Classes}}, 1);
  const AnyExpr both = reduce<ops::Sum>(where(equal(row, column), matrix, 0), 2u, false);
  const AnyExpr either =
      reduce<ops::Sum>(matrix, 1u, false) + reduce<ops::Sum>(matrix, 2u, false) - both;
  const AnyExpr seen = cast_to(not_equal(either, 0), DType::float64);
  const AnyExpr iou = sum(detail::divide_or_zero(both, either));
  return detail::metric_of<float>(g, detail::divide_or_zero(iou, sum(seen)), update, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics
