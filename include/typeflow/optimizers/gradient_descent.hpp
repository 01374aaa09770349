// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradient descent. It has no slots, and of a sparse gradient subtracts what is there, without
// adding up first what a row was read for several times.

#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// Calls f(present value of the variable, gradient) -> new value for every item, and assigns what
/// it returns. A gradient that is zero outside of slices goes to g(variable, slices) -> token
/// instead, for each of the slices whose sum it is. Either changes the variable as it is then:
/// after what the model wrote before, as far as the run executes it.
template <class F, class G>
constexpr Effect apply_each(const Gradients& gradients, const F& f, const G& g) {
  ir::Graph& graph = *gradients.graph;
  Pool<Id> tokens;
  for (const auto& [variable, gradient] : gradients) {
    const Pool<Slices> sparse = slices_of(gradient);
    for (const Slices& slices : sparse) tokens.push(g(variable.any(), slices));
    if (sparse.empty()) {
      const AnyExpr now = present_value(graph, variable.id());
      tokens.push(assign_node(graph, variable.id(), f(now, gradient).id));
    }
  }
  return group_node(*gradients.graph, tokens.data(), tokens.size());
}

}  // namespace detail

/// variable := variable - rate * gradient, of the variable as it is at this point of the model's
/// statements. The gradient is that at its value when the run starts.
struct GradientDescent {
  Scalar rate = 0.01;  ///< a number, or a scalar expression that may change from run to run

  /// The effect of one step with these gradients. See tf::gradients for computing them. Where a
  /// gradient is sparse, as that of a table of embeddings is, the step changes the slices that were
  /// read and no others.
  constexpr Effect apply(const Gradients& gradients) const {
    const auto step = [&](const AnyExpr& variable) {
      return setting(*variable.graph, rate, variable.dtype());
    };
    return detail::apply_each(
        gradients,
        [&](const AnyExpr& now, const AnyExpr& gradient) {
          return detail::apply_untyped(ops::Fnma{}, step(now), gradient, now);
        },
        [&](const AnyExpr& variable, const Slices& slices) {
          const AnyExpr values = step(variable) * AnyExpr{variable.graph, slices.values};
          return detail::scatter_node<ops::ScatterSub>(
              variable, AnyExpr{variable.graph, slices.indices}, values, slices.indexing);
        });
  }

  /// minimize(loss), minimize(loss, variables), each also with a step to count: see tf::minimize.
  template <class... What>
  constexpr Effect minimize(const What&... what) const {
    static_assert(detail::is_scalar_loss<What...>,
                  "minimize(loss): the loss must be a scalar; take mean(loss)");
    return typeflow::minimize(*this, what...);
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
