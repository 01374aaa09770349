// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of a model's collected losses and of its variables' regularisers.
//
//   g.add_loss(mean_squared_error(y, target));
//   auto loss = tf::total_loss(g).named("loss");
//
// Only g.add_loss adds to the collection, so a loss that is only reported does not count.
// (TensorFlow's tf.losses add their results.)

#include <source_location>
#include <string_view>

#include "typeflow/front/regularizers.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/reduce/reduce.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// l1 sum(|w|) + l2 sum(w^2) / 2, of this element type; nothing if both are 0.
constexpr AnyExpr penalty(const Regularizer& regularizer, const AnyExpr& variable, DType type) {
  const AnyExpr w = cast_to(variable, type);
  AnyExpr of_sizes;
  if (regularizer.l1 != 0) of_sizes = regularizer.l1 * sum(abs(w));
  if (regularizer.l2 == 0) return of_sizes;
  const AnyExpr of_squares = (0.5 * regularizer.l2) * sum(square(w));
  return of_sizes.exists() ? of_sizes + of_squares : of_squares;
}

/// The sum of the penalties of the variables below a path.
constexpr AnyExpr sum_of_penalties(Graph& g, std::string_view path, DType type) {
  const ir::Graph& graph = g;
  const NameScope in(g, "regularization");
  AnyExpr total;
  for (const AnyVariable v : g.variables(path)) {
    const Regularizer r = graph.variable_records[graph.variable_index(v.id())].regularizer;
    const AnyExpr one = penalty(r, v.any(), type);
    if (one.exists()) total = total.exists() ? total + one : one;
  }
  return total;
}

}  // namespace detail

/// The sum of the regularisers' penalties, each variable once. With a `path`, only variables of
/// this path or below it count. A scalar; 0 if no variable has a regulariser.
template <Element T = float>
constexpr Expr<T> regularization_loss(Graph& g, std::string_view path = {},
                                      std::source_location at = std::source_location::current()) {
  static_assert(detail::is_real_floating<T>, "regularization_loss<T>(g): T must be floating-point");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const AnyExpr total = detail::sum_of_penalties(g, path, dtype_of<T>);
  return {g, total.exists() ? total.id : detail::literal_node(graph, dtype_of<T>, 0).id};
}

/// The sum of g.losses(path) and regularization_loss(g, path), a scalar: tf::total_loss(g). It is a
/// mistake of the model if there is neither a loss nor a regulariser.
///
/// The path selects losses by name scope, and variables by name. If towers share variables that lie
/// elsewhere, add up g.losses("tower_1") and regularization_loss(g).
template <Element T = float>
constexpr Expr<T> total_loss(Graph& g, std::string_view path = {},
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::is_real_floating<T>, "total_loss<T>(g): T must be floating-point");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  AnyExpr total = detail::sum_of_penalties(g, path, dtype_of<T>);
  for (const AnyExpr loss : g.losses(path)) {
    const AnyExpr one = cast_to(loss, dtype_of<T>);
    total = total.exists() ? one + total : one;
  }
  if (!total.exists()) {
    Message message{};
    message << "total_loss(g): the model has added no loss";
    if (!path.empty()) message << " in '" << path << "'";
    graph.fail(message);
    total = detail::literal_node(graph, dtype_of<T>, 0);
  }
  return {g, total.id};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
