// SPDX-License-Identifier: Apache-2.0
#pragma once

// Training of 16-bit variables by steps that are smaller than their spacing. (Micikevicius et al.,
// Mixed precision training, 2018.)

#include <concepts>
#include <type_traits>

#include "typeflow/ops/elementwise/numerics.hpp"
#include "typeflow/optimizers/gradient_descent.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Rows of a 16-bit variable as their float masters: the variable, and in the slot "rest" what its
/// elements lack. The sum is exact, and so is the slot's new value.
class MasterRows : public Rows {
 public:
  constexpr explicit MasterRows(const Rows& rows) : Rows(rows), rest_(rows.slot("rest")) {}

  constexpr AnyExpr read() const { return Rows::read() + rest_.read(); }
  constexpr Effect set(const UntypedExpr auto& value) const {
    const auto master = cast_to(value, dtype());
    const auto rounded = cast_to(cast_to(master, variable().dtype()), dtype());
    // What overflows has no rest that could bring it back.
    const auto rest = where(is_finite(rounded), master - rounded, 0);
    return Rows::set(master) + rest_.set(rest);
  }

 private:
  Rows rest_;
};
constexpr Effect assign(const MasterRows& rows, const UntypedExpr auto& x) { return rows.set(x); }

}  // namespace detail

namespace detail {

/// GradientDescent, as an optimiser with steps of its own.
struct DescentStep {
  Scalar rate;
  Label name = "gradient_descent";

  constexpr Effect step(const auto& v, const auto& dv) const {
    return assign(v, apply_untyped(ops::Fnma{}, v.setting(rate), dv, v.read()));
  }
};
/// The optimiser, with a function step.
template <class O>
constexpr const O& with_step(const O& optimizer) {
  return optimizer;
}
constexpr DescentStep with_step(const GradientDescent& optimizer) { return {optimizer.rate}; }

/// An optimiser with the steps of another one, which it changes.
template <class O>
struct StepsOf {
  O optimizer;
  Label name;  // the optimizer's; given, since nvcc 13 does not find a member in a member's default

  constexpr bool every_row() const
    requires requires { optimizer.every_row(); }
  {
    return optimizer.every_row();
  }
  constexpr auto begin(const auto& first) const
    requires requires { optimizer.begin(first); }
  {
    return optimizer.begin(first);
  }
};

}  // namespace detail

/// An optimiser whose 16-bit variables have float masters; others are as they were. See
/// with_masters.
template <class O>
struct WithMasters : detail::StepsOf<O> {
  constexpr Effect step(const auto& v, const auto& dv, const auto&... begun) const {
    if (!is_half_precision(v.variable().dtype())) return this->optimizer.step(v, dv, begun...);
    return this->optimizer.step(detail::MasterRows(v), dv, begun...);
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

/// The optimiser with a float master of each 16-bit variable: with_masters(tf::Adam{.rate = 1e-4}).
/// Steps change the master; the variable is the master, rounded. Without one a step is lost if it
/// is less than half of the distance to the next 16-bit number, some 1/512 of a bfloat16.
///
/// The master is the variable plus the slot "rest" (float, zeros at first), below the optimiser's
/// name as all slots: W/adam/rest. So a variable that is loaded or assigned has a master at once,
/// within half of that distance.
template <class O>
constexpr auto with_masters(const O& optimizer) {
  const auto& stepping = detail::with_step(optimizer);
  return WithMasters<std::remove_cvref_t<decltype(stepping)>>{{stepping, stepping.name}};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
