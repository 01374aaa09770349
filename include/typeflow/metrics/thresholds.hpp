// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streaming metrics of probabilities, from counts at many thresholds: auc,
// specificity_at_sensitivity, sensitivity_at_specificity.
//
// There are N thresholds, by default 200: -1e-7, then i / (N - 1) for i from 1 to N - 2, then
// 1 + 1e-7. A prediction above a threshold counts as positive there. So results equal TensorFlow's.
// They are close to those of all thresholds (scikit-learn's) if predictions spread over [0, 1]. A
// batch costs N comparisons for each prediction.
//
// Predictions come before labels, as in losses. See metrics/streaming.hpp for how a metric is used.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/metrics/counts.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// The curve whose area is computed.
enum class Curve : std::uint8_t {
  roc,  ///< recall over the false positive rate
  pr,   ///< precision over recall
};
/// How the area between two thresholds is estimated.
enum class Summation : std::uint8_t {
  trapezoidal,
  careful_interpolation,  ///< Curve::pr: Davis and Goadrich's; Curve::roc: trapezoids
  minoring,               ///< from below
  majoring,               ///< from above
};
struct AucOptions {
  Curve curve = Curve::roc;
  Summation summation = Summation::trapezoidal;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Running sums of weights at each threshold, (N).
struct ThresholdCounts {
  AnyExpr true_positives;
  AnyExpr false_positives;
  AnyExpr true_negatives;
  AnyExpr false_negatives;
};

template <class P, class L>
inline constexpr bool probabilities_fit =
    in_domain<Domain::floating, P> && P::shape::dims == L::shape::dims &&
    !is_string<typename L::element> && extent_of(count_of(P::shape::dims)) != no_extent;

/// N thresholds in ascending order, the first below 0 and the last above 1.
template <int N>
struct Thresholds {
  double at[N];
};
inline constexpr double below_zero = -1e-7;  // as in TensorFlow
inline constexpr double above_one = 1 + 1e-7;

template <int N>
constexpr Thresholds<N> even_thresholds() {
  static_assert(N >= 2, "metrics with thresholds: there must be two at least");
  Thresholds<N> t{};
  for (int i = 0; i < N; ++i) t.at[i] = i / (N - 1.0);
  t.at[0] = below_zero;
  t.at[N - 1] = above_one;
  return t;
}

template <int N, TypedExpr P, TypedExpr L, Operand W>
constexpr ThresholdCounts counts_at_thresholds(Graph& g, Effect& update, const P& predictions,
                                               const L& labels, const W& weights,
                                               const Thresholds<N>& at_thresholds,
                                               const std::source_location& at) {
  check_metric_weights<typename P::shape, W>();
  using T = MetricElement<typename P::element>;
  const AnyExpr hits = running_sum<N>(g, "true_positives", at);
  const AnyExpr alarms = running_sum<N>(g, "false_positives", at);
  const AnyExpr positives = running_sum<>(g, "positives", at);
  const AnyExpr negatives = running_sum<>(g, "negatives", at);
  T thresholds[N] = {};
  for (int i = 0; i < N; ++i) thresholds[i] = static_cast<T>(at_thresholds.at[i]);
  const AnyExpr threshold = constant<T, N, 1>(g, thresholds, at).any();

  mark(at, predictions);
  ir::Graph& graph = g;
  const Dims row{2, {1, extent_of(count_of(P::shape::dims))}};
  const AnyExpr p = reshape_to(cast_to(predictions.any(), dtype_of<T>), row);
  const AnyExpr is_positive = reshape_to(is_true(labels.any()), row);
  AnyExpr w = metric_weights(graph, weights, P::shape::dims, dtype_of<T>);
  if (w.dims().rank > 0) w = reshape_to(broadcast_to(w, P::shape::dims), row);
  const AnyExpr positive = where(is_positive, w, 0);
  const AnyExpr negative = where(is_positive, 0, w);
  const AnyExpr above = greater(p, threshold);  // (N,B)
  add_to(update, g, hits, reduce<ops::Sum>(where(above, positive, 0), 2u, false));
  add_to(update, g, alarms, reduce<ops::Sum>(where(above, negative, 0), 2u, false));
  add_to(update, g, positives, sum(positive));
  add_to(update, g, negatives, sum(negative));
  // Sums of fractional weights are rounded, so this keeps counts from falling below 0.
  return {hits, alarms, maximum(negatives - alarms, 0), maximum(positives - hits, 0)};
}

/// Reports a mistake of the model if a threshold is outside of [0, 1].
template <std::size_t K>
constexpr void check_thresholds(Graph& g, std::string_view function, const double (&thresholds)[K],
                                const std::source_location& at) {
  ir::Graph& graph = g;
  for (const double t : thresholds) {
    if (t >= 0 && t <= 1) continue;
    graph.source = source_line(at);
    Message message{};
    graph.fail(message << function << ": the thresholds must be in [0, 1]");
    return;
  }
}

/// All elements but the last, and all but the first.
constexpr AnyExpr first_ones(const AnyExpr& x) { return slice_along(x, 0, 0, x.dims()[0] - 1); }
constexpr AnyExpr last_ones(const AnyExpr& x) { return slice_along(x, 0, 1, x.dims()[0] - 1); }

/// The area under the precision-recall curve if precision and recall change linearly with the
/// counts. Source: Davis and Goadrich, "The relationship between precision-recall and ROC curves",
/// 2006.
constexpr AnyExpr interpolated_pr_auc(const ThresholdCounts& c) {
  const AnyExpr hits = last_ones(c.true_positives);
  const AnyExpr gained = first_ones(c.true_positives) - hits;
  const AnyExpr called = c.true_positives + c.false_positives;
  const AnyExpr from = last_ones(called);
  const AnyExpr to = first_ones(called);
  const AnyExpr slope = divide_or_zero(gained, maximum(to - from, 0));
  const AnyExpr intercept = hits - slope * from;
  const AnyExpr both = logical_and(greater(from, 0), greater(to, 0));
  const AnyExpr ratio = where(both, to, 1) / where(both, from, 1);
  const AnyExpr area = slope * (gained + intercept * log(ratio));
  return sum(divide_or_zero(area, maximum(hits + last_ones(c.false_negatives), 0)));
}

constexpr AnyExpr area_under(const ThresholdCounts& c, const metrics::AucOptions& options) {
  using metrics::Curve;
  using metrics::Summation;
  if (options.curve == Curve::pr && options.summation == Summation::careful_interpolation) {
    return interpolated_pr_auc(c);
  }
  constexpr double epsilon = 1e-6;  // as in TensorFlow
  const AnyExpr recall =
      (c.true_positives + epsilon) / (c.true_positives + c.false_negatives + epsilon);
  AnyExpr x = recall;
  AnyExpr y;
  if (options.curve == Curve::roc) {
    x = c.false_positives / (c.false_positives + c.true_negatives + epsilon);
    y = recall;
  } else {
    y = (c.true_positives + epsilon) / (c.true_positives + c.false_positives + epsilon);
  }
  const AnyExpr width = first_ones(x) - last_ones(x);
  const AnyExpr left = first_ones(y);
  const AnyExpr right = last_ones(y);
  switch (options.summation) {
    case Summation::minoring:
      return sum(width * minimum(left, right));
    case Summation::majoring:
      return sum(width * maximum(left, right));
    default:
      return sum(width * (0.5 * (left + right)));
  }
}

/// `result` at the threshold whose `share` is nearest to `target`. Of equally near ones it takes
/// the first, or the last.
constexpr AnyExpr at_nearest(const AnyExpr& share, double target, const AnyExpr& result,
                             bool first) {
  const AnyExpr distance = abs(share - target);
  const AnyExpr nearest = equal(distance, reduce<ops::Min>(distance, 1u, false));
  const AnyExpr i = index_along(*share.graph, share.dims(), 0);
  const auto n = static_cast<int>(share.dims()[0]);
  const AnyExpr chosen = first ? reduce<ops::Min>(where(nearest, i, n), 1u, false)
                               : reduce<ops::Max>(where(nearest, i, -1), 1u, false);
  return sum(where(equal(i, chosen), result, 0));
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// The area under a curve of predictions in [0, 1]: auc(g, name, predictions, labels, 1, {.curve =
/// tf::metrics::Curve::pr}), or auc<1000>(...) for 1000 thresholds. Labels are booleans, or
/// numbers, where nonzero is true. (S) x (S) -> ()
template <int N = 200, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto auc(Graph& g, Label name, const P& predictions, const L& labels,
                   const W& weights = 1, AucOptions options = {},
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::auc(g, name, predictions, labels): the predictions must be "
                "floating-point, and the labels booleans or numbers of their shape");
  const Scope in(g, name);
  Effect update;
  const detail::ThresholdCounts counts = detail::counts_at_thresholds(
      g, update, predictions, labels, weights, detail::even_thresholds<N>(), at);
  return detail::metric_of<float>(g, detail::area_under(counts, options), update, at);
}

/// The same area with the thresholds given: auc(g, name, predictions, labels, {0.2, 0.5, 0.8}).
/// They are numbers in [0, 1], in any order; one below 0 and one above 1 are added, as by Keras. So
/// K thresholds make K + 1 strips of area. (S) x (S) -> ()
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto auc(Graph& g, Label name, const P& predictions, const L& labels,
                   const double (&thresholds)[K], const W& weights = 1, AucOptions options = {},
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::auc(g, name, predictions, labels): the predictions must be "
                "floating-point, and the labels booleans or numbers of their shape");
  const Scope in(g, name);
  detail::check_thresholds(g, "metrics::auc", thresholds, at);
  detail::Thresholds<static_cast<int>(K) + 2> all{};
  all.at[0] = detail::below_zero;
  for (std::size_t i = 0; i < K; ++i) all.at[i + 1] = thresholds[i];
  all.at[K + 1] = detail::above_one;
  std::sort(all.at + 1, all.at + K + 1);
  Effect update;
  const detail::ThresholdCounts counts =
      detail::counts_at_thresholds(g, update, predictions, labels, weights, all, at);
  return detail::metric_of<float>(g, detail::area_under(counts, options), update, at);
}

/// The specificity, the share of negative labels that are predicted negative, at the threshold
/// whose recall is nearest to `sensitivity`. Of equally near thresholds the highest counts.
/// (S) x (S) -> ()
template <int N = 200, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto specificity_at_sensitivity(
    Graph& g, Label name, const P& predictions, const L& labels, double sensitivity,
    const W& weights = 1, std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::specificity_at_sensitivity(g, name, predictions, labels, sensitivity): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  const Scope in(g, name);
  Effect update;
  const detail::ThresholdCounts c = detail::counts_at_thresholds(
      g, update, predictions, labels, weights, detail::even_thresholds<N>(), at);
  constexpr double epsilon = 1e-7;  // as in TensorFlow
  const AnyExpr found = c.true_positives / (c.true_positives + c.false_negatives + epsilon);
  const AnyExpr refused = c.true_negatives / (c.true_negatives + c.false_positives + epsilon);
  return detail::metric_of<float>(g, detail::at_nearest(found, sensitivity, refused, false), update,
                                  at);
}

/// The recall, the share of positive labels that are predicted positive, at the threshold whose
/// specificity is nearest to `specificity`. Of equally near thresholds the lowest counts.
/// (S) x (S) -> ()
template <int N = 200, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto sensitivity_at_specificity(
    Graph& g, Label name, const P& predictions, const L& labels, double specificity,
    const W& weights = 1, std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::sensitivity_at_specificity(g, name, predictions, labels, specificity): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  const Scope in(g, name);
  Effect update;
  const detail::ThresholdCounts c = detail::counts_at_thresholds(
      g, update, predictions, labels, weights, detail::even_thresholds<N>(), at);
  constexpr double epsilon = 1e-7;  // as in TensorFlow
  const AnyExpr found = c.true_positives / (c.true_positives + c.false_negatives + epsilon);
  const AnyExpr refused = c.true_negatives / (c.true_negatives + c.false_positives + epsilon);
  return detail::metric_of<float>(g, detail::at_nearest(refused, specificity, found, true), update,
                                  at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics
