// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradient descent, and what all optimisers share: minimize is computing gradients, applying
// them, and the updates that layers registered.

#include "typeflow/front/assign.hpp"
#include "typeflow/front/gradients.hpp"

namespace typeflow {

namespace detail {

/// A setting as a scalar of the given element type.
constexpr AnyExpr setting(Graph& graph, const Scalar& scalar, DType type) {
  if (scalar.is_expression()) return cast_to(scalar.expression(), type);
  return literal_node(graph, type, scalar.value());
}

/// Calls f(variable, gradient) -> new value for every item, and assigns what it returns.
template <class F>
constexpr Effect apply_each(const Gradients& gradients, const F& f) {
  Graph& graph = *gradients.graph;
  Pool<Id> tokens;
  for (const VariableGradient& item : gradients.items) {
    const AnyExpr variable{&graph, graph.variable_records[item.variable].value};
    const AnyExpr updated = f(variable, AnyExpr{&graph, item.gradient});
    tokens.push(assign_node(graph, variable.id, updated.id));
  }
  return group_node(graph, tokens.data(), tokens.size());
}

/// The optimiser's step for these gradients, together with the updates that layers registered
/// (batch norm's moving averages).
template <class Optimizer>
constexpr Effect minimize(const Optimizer& optimizer, const Gradients& gradients) {
  Effect step = optimizer.apply(gradients);
  Graph& graph = *gradients.graph;
  for (const Id token : graph.update_tokens) step += Effect(graph, token);
  return step;
}

}  // namespace detail

/// variable := variable - rate * gradient.
struct GradientDescent {
  Scalar rate = 0.01;  ///< a number, or a scalar expression that may change from run to run

  /// The effect of one step with these gradients. See tf::gradients for computing them.
  constexpr Effect apply(const Gradients& gradients) const {
    return detail::apply_each(gradients, [&](const AnyExpr& variable, const AnyExpr& gradient) {
      const AnyExpr step = detail::setting(*variable.graph, rate, variable.dtype());
      return detail::apply_untyped(ops::Fnma{}, step, gradient, variable);
    });
  }

  /// One step down the gradient of a scalar loss, for all trainable variables that it depends on.
  template <TypedExpr L>
  constexpr Effect minimize(const L& loss) const {
    static_assert(L::rank == 0, "minimize(loss): the loss must be a scalar; take mean(loss)");
    return detail::minimize(*this, gradients(loss));
  }
  /// The same for a list of variables: minimize(loss, g.trainable("online")).
  template <TypedExpr L>
  constexpr Effect minimize(const L& loss, const VariableList& variables) const {
    static_assert(L::rank == 0, "minimize(loss): the loss must be a scalar; take mean(loss)");
    return detail::minimize(*this, gradients(loss, variables));
  }
};

}  // namespace typeflow
