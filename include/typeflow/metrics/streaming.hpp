// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared parts of streaming metrics. A metric has two parts: `update`, an effect that adds a batch,
// and `value`, the metric of all batches so far.
//
//   auto accuracy = tf::metrics::accuracy(g, "accuracy", argmax<1>(logits), labels);
//
//   session.reset();                                            // states are zeros again
//   for (...) session.run<"accuracy/update">(feeds...);
//   const float result = session.run<"accuracy/value">();
//
// The states belong to the session and are doubles, so counts stay exact. A value has the batches
// before the run: fetched with its update, it does not include that run's batch. Weights broadcast
// as those of losses do (losses/reduction.hpp). A value is 0 if its denominator is 0, as in
// TensorFlow.
//
// Source: TensorFlow 1.x, python/ops/metrics_impl.py.

#include <source_location>

#include "typeflow/front/scope.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/losses/reduction.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA::metrics {

/// A streaming metric: NAME/value and NAME/update in the model.
template <Element T, class S = Shape<>>
struct Metric {
  Expr<T, S> value;  ///< of the batches before this run
  Effect update;     ///< adds this run's batch
};

}  // namespace typeflow::inline TYPEFLOW_ISA::metrics

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The element type of a metric of values of type T: double for double, else float.
template <class T>
using MetricElement = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Whether two tensors have the same element type and shape.
template <class P, class L>
inline constexpr bool alike_in_type = [] {
  if constexpr (TypedExpr<P> && TypedExpr<L>) {
    return P::type == L::type;
  } else {
    return false;
  }
}();

/// Sums over the batches: a state, initially zeros.
template <Extent... D>
constexpr AnyExpr running_sum(Graph& g, Label name, const std::source_location& at) {
  return state<double, D...>(g, name, zeros(), at).any();
}
constexpr void add_to(Effect& update, Graph& g, const AnyExpr& running, const AnyExpr& x) {
  ir::Graph& graph = g;
  const AnyExpr now = present_value(graph, running.id) + cast_to(x, DType::float64);
  update += Effect(g, assign_node(graph, running.id, now.id));
}

/// A metric with its names, under the current scope.
template <Element T, class S = Shape<>>
constexpr metrics::Metric<T, S> metric_of(Graph& g, const AnyExpr& value, const Effect& update,
                                          const std::source_location& at) {
  const Expr<T, S> typed(g, cast_to(value, dtype_of<T>).id);
  return {typed.named("value", at), update.named("update", at)};
}

/// Checks that weights broadcast to values of shape S; else fails with a sentence.
template <class S, Operand W>
constexpr void check_metric_weights() {
  constexpr bool fit = [] {
    if constexpr (TypedExpr<W>) {
      return is_real_floating<typename W::element> &&
             aligned_weights(S::dims, W::shape::dims).valid();
    } else {
      return true;
    }
  }();
  (void)sizeof(requirement<"weights of a metric: they must be a number, or floating-point with the "
                           "values' axes from the first on, each extent the values' or 1",
                           fit>);
  static_assert(fit,
                "weights of a metric: they must be a number, or floating-point with the values' "
                "axes from the first on, each extent the values' or 1");
}

/// Weights as a scalar, or as a tensor with as many axes as the values.
template <Operand W>
constexpr AnyExpr metric_weights(ir::Graph& graph, const W& weights, const Dims& shape,
                                 DType type) {
  if constexpr (Literal<W>) {
    return literal_node(graph, type, weights);
  } else {
    const AnyExpr w = cast_to(weights.any(), type);
    return w.dims().rank == 0 ? w : reshape_to(w, aligned_weights(shape, w.dims()));
  }
}
/// The sum of the weights of all values.
template <Operand W>
constexpr AnyExpr sum_of_weights(ir::Graph& graph, const W& weights, const Dims& shape,
                                 DType type) {
  if constexpr (Literal<W>) {
    const Count count = count_of(shape);
    const double sum = static_cast<double>(weights) * static_cast<double>(count.coefficient);
    return constant_node(graph, type, Number{sum, 0}, count.powers);
  } else {
    return sum_as(metric_weights(graph, weights, shape, type), shape);
  }
}

/// The weighted mean of values of shape S, computed as T: f() gives the values, finish(mean) the
/// metric.
template <Element T, class S, Operand W, class F, class Finish>
constexpr metrics::Metric<T> streaming_mean(Graph& g, Label name, const W& weights,
                                            const std::source_location& at, const F& f,
                                            const Finish& finish) {
  check_metric_weights<S, W>();
  const Scope in(g, name);
  const AnyExpr total = running_sum<>(g, "total", at);
  const AnyExpr count = running_sum<>(g, "count", at);
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const AnyExpr values = f();
  const bool weighted = [&] {
    if constexpr (Literal<W>) {
      return weights != W(1);
    } else {
      return true;
    }
  }();
  const AnyExpr w = metric_weights(graph, weights, S::dims, dtype_of<T>);
  Effect update;
  add_to(update, g, total, sum_of_all(weighted ? values * w : values));
  add_to(update, g, count, sum_of_weights(graph, weights, S::dims, dtype_of<T>));
  return metric_of<T>(g, finish(divide_or_zero(total, count)), update, at);
}
template <Element T, class S, Operand W, class F>
constexpr metrics::Metric<T> streaming_mean(Graph& g, Label name, const W& weights,
                                            const std::source_location& at, const F& f) {
  return streaming_mean<T, S>(g, name, weights, at, f, [](const AnyExpr& mean) { return mean; });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
