// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradient descent with momentum. (Sutskever, Martens, Dahl and Hinton, 2013, for Nesterov's.)

#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// m := momentum * m + gradient; variable := variable - rate * m. With nesterov the variable moves
/// by rate * (gradient + momentum * m) instead. As TensorFlow's MomentumOptimizer and PyTorch's
/// SGD.
///
/// Slot: m. A sparse gradient changes only its rows.
struct Momentum {
  Scalar rate = 0.01;
  Scalar momentum = 0.9;
  bool nesterov = false;
  Label name = "momentum";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto m = v.slot("m");
    const auto sum = v.setting(momentum) * m.read() + dv;
    const auto direction = nesterov ? dv + v.setting(momentum) * sum : sum;
    return assign(m, sum) + assign(v, v.read() - v.setting(rate) * direction);
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
