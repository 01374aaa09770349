// SPDX-License-Identifier: Apache-2.0
#pragma once

// RMSProp (Hinton, Coursera lecture 6e, 2012), its centred form (Graves, 2013), and Adadelta
// (Zeiler, 2012).

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// rms := decay rms + (1 - decay) gradient^2
/// move := momentum move + rate gradient / sqrt(rms + epsilon)
/// variable := variable - move
///
/// If centred, the square of a moving average of the gradient is subtracted from rms, which gives
/// an estimate of the variance. rms starts at 1, and epsilon is inside of the root, as in
/// TensorFlow's RMSPropOptimizer.
///
/// Slots: rms; `move`, unless momentum is the number 0; `mean`, if centred. A sparse gradient
/// changes only its rows.
struct RMSProp {
  Scalar rate = 0.001;
  Scalar decay = 0.9;
  Scalar momentum = 0.0;
  Scalar epsilon = 1e-10;
  bool centered = false;
  Label name = "rmsprop";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto rms = v.slot("rms", ones());
    const auto squares = rms.read() + v.one_minus(decay) * (square(dv) - rms.read());
    Effect effect = assign(rms, squares);
    auto variance = squares + v.setting(epsilon);
    if (centered) {
      const auto mean = v.slot("mean");
      const auto average = mean.read() + v.one_minus(decay) * (dv - mean.read());
      effect += assign(mean, average);
      variance = squares - square(average) + v.setting(epsilon);
    }
    auto move = v.setting(rate) * dv / sqrt(variance);
    if (momentum.is_expression() || momentum.value() != 0) {
      const auto last = v.slot("move");
      move = v.setting(momentum) * last.read() + move;
      effect += assign(last, move);
    }
    return effect + assign(v, v.read() - move);
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

/// sum := decay sum + (1 - decay) gradient^2
/// move = sqrt(moves + epsilon) / sqrt(sum + epsilon) gradient
/// moves := decay moves + (1 - decay) move^2
/// variable := variable - rate move
///
/// As TensorFlow's AdadeltaOptimizer and PyTorch's Adadelta (where the rate is 1 by default, as in
/// the paper). Slots: sum, moves. A sparse gradient changes only its rows.
struct Adadelta {
  Scalar rate = 0.001;
  Scalar decay = 0.95;
  Scalar epsilon = 1e-8;
  Label name = "adadelta";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto sum = v.slot("sum");
    const auto moves = v.slot("moves");
    const auto squares = sum.read() + v.one_minus(decay) * (square(dv) - sum.read());
    const auto small = v.setting(epsilon);
    const auto move = sqrt(moves.read() + small) / sqrt(squares + small) * dv;
    const auto next = moves.read() + v.one_minus(decay) * (square(move) - moves.read());
    return assign(sum, squares) + assign(moves, next) +
           assign(v, v.read() - v.setting(rate) * move);
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
