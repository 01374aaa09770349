// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adagrad. (Duchi, Hazan and Singer, 2011)

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// sum := sum + gradient^2; variable := variable - rate * gradient / sqrt(sum). The sum starts at
/// `initial`, above 0: there is no epsilon, as in TensorFlow's AdagradOptimizer.
///
/// Slot: sum. A sparse gradient changes only its rows.
struct Adagrad {
  Scalar rate = 0.01;
  double initial = 0.1;
  Label name = "adagrad";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto sum = v.slot("sum", filled(initial));
    const auto total = sum.read() + square(dv);
    return assign(sum, total) + assign(v, v.read() - v.setting(rate) * dv / sqrt(total));
  }
  constexpr Effect apply(const std::same_as<Gradients> auto& gradients) const {
    return detail::apply_with_updates(*this, gradients);
  }
  template <class... What>
  constexpr Effect minimize(const What&... what) const {
    static_assert(detail::is_scalar_loss<What...>,
                  "minimize(loss): the loss must be a scalar; take mean(loss)");
    return typeflow::minimize(*this, what...);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA
