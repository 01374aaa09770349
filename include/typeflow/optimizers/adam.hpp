// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// What all variables of an Adam step share: 1 - beta1^t and 1 - beta2^t for step t = 1, 2..., as
/// doubles, and the effect that counts the step.
struct AdamStep {
  AnyExpr remaining1;
  AnyExpr remaining2;
  Effect effect;
};
/// The powers themselves are kept, so a beta may change from run to run.
constexpr AdamStep begin_adam(const auto& first, const Scalar& beta1, const Scalar& beta2) {
  ir::Graph& graph = first.variable().graph();
  const auto power1 = first.number("beta1_power", ones());
  const auto power2 = first.number("beta2_power", ones());
  const auto next1 =
      detail::present_value(graph, power1.id()) * setting(graph, beta1, DType::float64);
  const auto next2 =
      detail::present_value(graph, power2.id()) * setting(graph, beta2, DType::float64);
  return {1 - next1, 1 - next2, assign(power1, next1) + assign(power2, next2)};
}

/// Moving averages of the gradient and of its square, and the effect that updates them.
struct Moments {
  AnyExpr mean;
  AnyExpr square;
  Effect effect;
};
constexpr Moments update_moments(const auto& v, const auto& dv, const Scalar& beta1,
                                 const Scalar& beta2) {
  const auto m = v.slot("m");
  const auto s = v.slot("v");
  const auto mean = m.read() + v.one_minus(beta1) * (dv - m.read());
  const auto squares = s.read() + v.one_minus(beta2) * (typeflow::square(dv) - s.read());
  return {mean, squares, assign(m, mean) + assign(s, squares)};
}
/// The rate of an Adam step, corrected for the bias of both averages.
constexpr AnyExpr corrected_rate(const auto& remaining1, const auto& remaining2,
                                 const Scalar& rate) {
  const auto plain = setting(*remaining1.graph, rate, DType::float64);
  return plain * sqrt(remaining2) / remaining1;
}

}  // namespace detail

/// m := beta1 m + (1 - beta1) gradient
/// v := beta2 v + (1 - beta2) gradient^2
/// variable := variable - rate sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon) in step t
///
/// This is TensorFlow's form; its epsilon is the paper's "epsilon hat". (PyTorch's step has
/// epsilon * sqrt(1 - beta2^t) in its place.)
///
/// Slots: m, v, and below the first variable beta1_power and beta2_power. A sparse gradient moves
/// all rows, because the others have a gradient of zero, as in TensorFlow. With `lazy` only its
/// rows and their slots change, as in TensorFlow's LazyAdamOptimizer.
struct Adam {
  Scalar rate = 0.001;
  Scalar beta1 = 0.9;
  Scalar beta2 = 0.999;
  Scalar epsilon = 1e-8;
  bool lazy = false;
  Label name = "adam";

  constexpr bool every_row() const { return !lazy; }
  constexpr auto begin(const auto& first) const { return detail::begin_adam(first, beta1, beta2); }
  constexpr Effect step(const auto& v, const auto& dv, const auto& now) const {
    const auto moments = detail::update_moments(v, dv, beta1, beta2);
    const auto size = v.setting(detail::corrected_rate(now.remaining1, now.remaining2, rate));
    const auto direction = moments.mean / (sqrt(moments.square) + v.setting(epsilon));
    return moments.effect + assign(v, v.read() - size * direction);
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

/// Adam, and beside it variable := variable - rate * decay * variable. As PyTorch's AdamW, with
/// Adam's epsilon. `decay` applies to all variables; give biases a step of their own to leave them
/// out.
///
/// Slots: Adam's. A sparse gradient moves all rows, but only its own rows decay, as in TensorFlow's
/// AdamWOptimizer.
struct AdamW {
  Scalar rate = 0.001;
  Scalar decay = 0.01;
  Scalar beta1 = 0.9;
  Scalar beta2 = 0.999;
  Scalar epsilon = 1e-8;
  Label name = "adamw";

  constexpr bool every_row() const { return true; }
  constexpr auto begin(const auto& first) const { return detail::begin_adam(first, beta1, beta2); }
  constexpr Effect step(const auto& v, const auto& dv, const auto& now) const {
    const auto moments = detail::update_moments(v, dv, beta1, beta2);
    const auto size = v.setting(detail::corrected_rate(now.remaining1, now.remaining2, rate));
    const auto direction = moments.mean / (sqrt(moments.square) + v.setting(epsilon));
    auto shrinks = v.setting(rate) * v.setting(decay);
    const auto slices = slices_of(dv);
    if (!slices.empty()) shrinks = where(detail::touched_rows(dv, slices), shrinks, 0);
    return moments.effect + assign(v, v.read() - shrinks * v.read() - size * direction);
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
