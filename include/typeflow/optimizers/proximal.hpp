// SPDX-License-Identifier: Apache-2.0
#pragma once

// Optimisers with L1 and L2 penalties, which make variables exactly zero: proximal gradient descent
// and proximal Adagrad (Duchi and Singer, 2009), FTRL-proximal, "follow the regularised leader"
// (McMahan et al., 2013).

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/elementwise/rounding.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
/// Where a penalty l1 |x| + l2/2 x^2 pulls z, with one rate or a rate for each element: sign(z)
/// max(|z| - rate l1, 0) / (1 + rate l2).
constexpr AnyExpr shrunk(const UntypedExpr auto& z, const AnyExpr& rate, const AnyExpr& l1,
                         const AnyExpr& l2) {
  return sign(z) * maximum(abs(z) - rate * l1, 0) / (1 + rate * l2);
}
}  // namespace detail

/// z = variable - rate gradient
/// variable := sign(z) max(|z| - rate l1, 0) / (1 + rate l2)
///
/// As TensorFlow's ProximalGradientDescentOptimizer. No slots. A sparse gradient changes only its
/// rows.
struct ProximalGradientDescent {
  Scalar rate = 0.01;
  Scalar l1 = 0.0;
  Scalar l2 = 0.0;
  Label name = "proximal";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto size = v.setting(rate);
    return assign(v, detail::shrunk(v.read() - size * dv, size, v.setting(l1), v.setting(l2)));
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

/// Adagrad with a penalty: sum := sum + gradient^2, then the step of ProximalGradientDescent with
/// rate / sqrt(sum) for each element. As TensorFlow's ProximalAdagradOptimizer. Slot: sum, which
/// starts at `initial`, above 0. A sparse gradient changes only its rows.
struct ProximalAdagrad {
  Scalar rate = 0.01;
  Scalar l1 = 0.0;
  Scalar l2 = 0.0;
  double initial = 0.1;
  Label name = "proximal_adagrad";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto sum = v.slot("sum", filled(initial));
    const auto total = sum.read() + square(dv);
    const auto size = v.setting(rate) / sqrt(total);
    return assign(sum, total) +
           assign(v, detail::shrunk(v.read() - size * dv, size, v.setting(l1), v.setting(l2)));
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

/// With p(x) = x^-rate_power:
/// linear := linear + gradient - (p(sum + gradient^2) - p(sum)) / rate variable
/// sum := sum + gradient^2
/// variable := 0 if |linear| <= l1, else (sign(linear) l1 - linear) / (p(sum) / rate + 2 l2)
///
/// As TensorFlow's FtrlOptimizer. l2_shrinkage adds 2 l2_shrinkage variable to the gradient in
/// `linear`. Slots: sum, which starts at `initial`, and linear. A sparse gradient changes only its
/// rows.
struct Ftrl {
  Scalar rate = 0.001;
  double rate_power = -0.5;  ///< at most 0
  Scalar l1 = 0.0;
  Scalar l2 = 0.0;
  Scalar l2_shrinkage = 0.0;
  double initial = 0.1;
  Label name = "ftrl";

  constexpr Effect step(const auto& v, const auto& dv) const {
    const auto sum = v.slot("sum", filled(initial));
    const auto linear = v.slot("linear");
    const auto power = [&](const auto& x) {
      return rate_power == -0.5 ? sqrt(x) : pow(x, v.setting(Scalar(-rate_power)));
    };
    const auto total = sum.read() + square(dv);
    const auto growth = (power(total) - power(sum.read())) / v.setting(rate);
    const auto shrunk = dv + 2 * v.setting(l2_shrinkage) * v.read();
    const auto line = linear.read() + shrunk - growth * v.read();
    const auto curvature = power(total) / v.setting(rate) + 2 * v.setting(l2);
    const auto beyond = sign(line) * maximum(abs(line) - v.setting(l1), 0);
    // A sum of 0 and no l2 give a curvature of 0.
    const auto next = where(equal(beyond, 0), 0, -beyond / curvature);
    return assign(sum, total) + assign(linear, line) + assign(v, next);
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
