// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two relatives of Adam: Adamax (Kingma and Ba, 2015) and LAMB (You et al., 2020).

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/optimizers/adam.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// m := beta1 m + (1 - beta1) gradient
/// largest := max(beta2 largest, |gradient|)
/// variable := variable - rate / (1 - beta1^t) m / (largest + epsilon) in step t
///
/// As TensorFlow's AdaMaxOptimizer. Slots: m, largest, and below the first variable beta1_power and
/// beta2_power, as Adam's. A sparse gradient changes only its rows.
struct Adamax {
  Scalar rate = 0.001;
  Scalar beta1 = 0.9;
  Scalar beta2 = 0.999;
  Scalar epsilon = 1e-8;
  Label name = "adamax";

  constexpr auto begin(const auto& first) const { return detail::begin_adam(first, beta1, beta2); }
  constexpr Effect step(const auto& v, const auto& dv, const auto& now) const {
    const auto m = v.slot("m");
    const auto largest = v.slot("largest");
    const auto mean = m.read() + v.one_minus(beta1) * (dv - m.read());
    const auto size = maximum(v.setting(beta2) * largest.read(), abs(dv));
    const auto plain = setting(*dv.graph, rate, DType::float64);
    const auto corrected = v.setting(plain / now.remaining1);
    return assign(m, mean) + assign(largest, size) +
           assign(v, v.read() - corrected * mean / (size + v.setting(epsilon)));
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

/// r = m' / (sqrt(v') + epsilon) + decay variable, where m' and v' are Adam's averages without
/// their bias
/// variable := variable - rate |variable| / |r| r; the ratio is 1 if one of the norms is 0
///
/// As LAMB of TensorFlow's addons, where decay is 0 by default. Slots: Adam's. A sparse gradient
/// moves all rows. The norms are those of whole variables, so a variable's step takes more than one
/// loop.
struct Lamb {
  Scalar rate = 0.001;
  Scalar decay = 0.01;
  Scalar beta1 = 0.9;
  Scalar beta2 = 0.999;
  Scalar epsilon = 1e-6;
  Label name = "lamb";

  constexpr bool every_row() const { return true; }
  constexpr auto begin(const auto& first) const { return detail::begin_adam(first, beta1, beta2); }
  constexpr Effect step(const auto& v, const auto& dv, const auto& now) const {
    const auto moments = detail::update_moments(v, dv, beta1, beta2);
    const auto mean = moments.mean / v.setting(now.remaining1);
    const auto deviation = sqrt(moments.square / v.setting(now.remaining2));
    const auto r = mean / (deviation + v.setting(epsilon)) + v.setting(decay) * v.read();
    const auto length = sqrt(sum(square(v.read())));
    const auto step = sqrt(sum(square(r)));
    const auto usable = minimum(length, step);
    const auto ratio = where(greater(usable, 0), length / where(greater(step, 0), step, 1), 1);
    return moments.effect + assign(v, v.read() - v.setting(rate) * ratio * r);
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
