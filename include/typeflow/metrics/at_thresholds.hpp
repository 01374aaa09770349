// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streaming metrics of probabilities at given thresholds, a number for each:
//
//   precision_at_thresholds(g, "precision", p, labels, {0.25, 0.5, 0.75})   // (S) x (S) -> (3)
//
// A prediction above a threshold counts as positive there. See metrics/streaming.hpp for how a
// metric is used.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/metrics/thresholds.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// f(counts) at the thresholds, as a metric of elements T.
template <Element T, TypedExpr P, TypedExpr L, std::size_t K, Operand W, class F>
constexpr auto metric_at_thresholds(Graph& g, Label name, std::string_view function,
                                    const P& predictions, const L& labels,
                                    const double (&thresholds)[K], const W& weights,
                                    const std::source_location& at, const F& f) {
  const Scope in(g, name);
  check_thresholds(g, function, thresholds, at);
  constexpr int count = static_cast<int>(K);
  Thresholds<count> all{};
  for (int i = 0; i < count; ++i) all.at[i] = thresholds[i];
  Effect update;
  const ThresholdCounts c = counts_at_thresholds(g, update, predictions, labels, weights, all, at);
  return metric_of<T, Shape<count>>(g, f(c), update, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// The share of positive predictions whose label is positive, at each threshold; 0 without positive
/// predictions. (S) x (S) -> (K)
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto precision_at_thresholds(Graph& g, Label name, const P& predictions, const L& labels,
                                       const double (&thresholds)[K], const W& weights = 1,
                                       std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::precision_at_thresholds(g, name, predictions, labels, thresholds): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  return detail::metric_at_thresholds<float>(
      g, name, "metrics::precision_at_thresholds", predictions, labels, thresholds, weights, at,
      [](const detail::ThresholdCounts& c) {
        return detail::divide_or_zero(c.true_positives, c.true_positives + c.false_positives);
      });
}

/// The share of positive labels that are predicted positive, at each threshold; 0 without positive
/// labels. (S) x (S) -> (K)
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto recall_at_thresholds(Graph& g, Label name, const P& predictions, const L& labels,
                                    const double (&thresholds)[K], const W& weights = 1,
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::recall_at_thresholds(g, name, predictions, labels, thresholds): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  return detail::metric_at_thresholds<float>(
      g, name, "metrics::recall_at_thresholds", predictions, labels, thresholds, weights, at,
      [](const detail::ThresholdCounts& c) {
        return detail::divide_or_zero(c.true_positives, c.true_positives + c.false_negatives);
      });
}

/// The weights of the positive labels that are predicted positive, at each threshold.
/// (S) x (S) -> (K)
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto true_positives_at_thresholds(
    Graph& g, Label name, const P& predictions, const L& labels, const double (&thresholds)[K],
    const W& weights = 1, std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::true_positives_at_thresholds(g, name, predictions, labels, thresholds): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  return detail::metric_at_thresholds<double>(
      g, name, "metrics::true_positives_at_thresholds", predictions, labels, thresholds, weights,
      at, [](const detail::ThresholdCounts& c) { return c.true_positives; });
}

/// The weights of the negative labels that are predicted positive, at each threshold.
/// (S) x (S) -> (K)
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto false_positives_at_thresholds(
    Graph& g, Label name, const P& predictions, const L& labels, const double (&thresholds)[K],
    const W& weights = 1, std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::false_positives_at_thresholds(g, name, predictions, labels, thresholds): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  return detail::metric_at_thresholds<double>(
      g, name, "metrics::false_positives_at_thresholds", predictions, labels, thresholds, weights,
      at, [](const detail::ThresholdCounts& c) { return c.false_positives; });
}

/// The weights of the negative labels that are predicted negative, at each threshold.
/// (S) x (S) -> (K)
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto true_negatives_at_thresholds(
    Graph& g, Label name, const P& predictions, const L& labels, const double (&thresholds)[K],
    const W& weights = 1, std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::true_negatives_at_thresholds(g, name, predictions, labels, thresholds): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  return detail::metric_at_thresholds<double>(
      g, name, "metrics::true_negatives_at_thresholds", predictions, labels, thresholds, weights,
      at, [](const detail::ThresholdCounts& c) { return c.true_negatives; });
}

/// The weights of the positive labels that are predicted negative, at each threshold.
/// (S) x (S) -> (K)
template <std::size_t K, TypedExpr P, TypedExpr L, Operand W = int>
constexpr auto false_negatives_at_thresholds(
    Graph& g, Label name, const P& predictions, const L& labels, const double (&thresholds)[K],
    const W& weights = 1, std::source_location at = std::source_location::current()) {
  static_assert(detail::probabilities_fit<P, L>,
                "metrics::false_negatives_at_thresholds(g, name, predictions, labels, thresholds): "
                "the predictions must be floating-point, and the labels booleans or numbers of "
                "their shape");
  return detail::metric_at_thresholds<double>(
      g, name, "metrics::false_negatives_at_thresholds", predictions, labels, thresholds, weights,
      at, [](const detail::ThresholdCounts& c) { return c.false_negatives; });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics
