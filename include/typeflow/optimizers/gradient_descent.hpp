// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradient descent. It has no slots. It subtracts the slices of a sparse gradient one by one,
// without adding those of one row first.

#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// variable := variable - rate * gradient. The variable is read at this point of the model's
/// statements, the gradient is taken at its value at the start of the run. 16-bit variables are
/// updated in float and rounded once.
struct GradientDescent {
  Scalar rate = 0.01;  ///< a number, or a scalar expression that may change from run to run

  /// The effect of one step with these gradients; tf::gradients computes them. If a gradient is
  /// sparse, as for an embedding table, only the rows that were read change.
  constexpr Effect apply(const std::same_as<Gradients> auto& gradients) const {
    ir::Graph& graph = *gradients.graph;
    Pool<Id> tokens;
    for (const auto& [variable, gradient] : gradients) {
      const Pool<Slices> slices = slices_of(gradient);
      if (slices.empty()) {
        tokens.push(dense_step(variable, gradient));
        continue;
      }
      if (slices.size() > 1 && is_half_precision(variable.dtype())) {  // so that it rounds once
        const detail::SummedRows rows = detail::listed_rows(gradient, slices);
        if (rows.indices.exists()) {
          tokens.push(sparse_step(variable, rows.indices, rows.values, rows.indexing));
          continue;
        }
      }
      for (const Slices& s : slices) {
        tokens.push(sparse_step(variable, AnyExpr{&graph, s.indices}, AnyExpr{&graph, s.values},
                                s.indexing));
      }
    }
    return detail::with_updates(detail::group_node(*gradients.graph, tokens.data(), tokens.size()),
                                gradients);
  }

  /// minimize(loss) and minimize(loss, variables), each also with a step to count: see
  /// tf::minimize.
  template <class... What>
  constexpr Effect minimize(const What&... what) const {
    static_assert(detail::is_scalar_loss<What...>,
                  "minimize(loss): the loss must be a scalar; take mean(loss)");
    return typeflow::minimize(*this, what...);
  }

 private:
  /// Updates the variable as it is at this point: after earlier writes of the model that the run
  /// executes.
  constexpr Id dense_step(const AnyVariable& variable, const AnyExpr& gradient) const {
    ir::Graph& graph = variable.graph();
    const AnyExpr now = detail::present_value(graph, variable.id());
    const AnyExpr next = detail::in_float(now, [&](const AnyExpr& x) {
      const AnyExpr dx = cast_to(gradient, x.dtype());
      return detail::apply_untyped(ops::Fnma{}, setting(graph, rate, x.dtype()), dx, x);
    });
    return detail::assign_node(graph, variable.id(), next.id);
  }
  constexpr Id sparse_step(const AnyVariable& variable, const AnyExpr& indices,
                           const UntypedExpr auto& slopes, Indexing indexing) const {
    const DType type = is_half_precision(slopes.dtype()) ? DType::float32 : slopes.dtype();
    const AnyExpr values = setting(*slopes.graph, rate, type) * cast_to(slopes, type);
    return detail::scatter_node<ops::ScatterSub>(variable.any(), indices, values, indexing);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA
