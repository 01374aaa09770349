// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loss scaling: small gradients of 16-bit tensors are not lost below the smallest number of their
// type. (Micikevicius et al., Mixed precision training, 2018.)

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "typeflow/ops/control/branch.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/elementwise/numerics.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/optimizers/masters.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// An optimiser that divides gradients by the scale, in the element type of its steps.
template <class O>
struct Unscaled : StepsOf<O> {
  AnyExpr inverse;

  constexpr Effect step(const auto& v, const auto& dv, const auto&... begun) const {
    const auto scaled =
        map_values(dv, [&](const AnyExpr& x) { return x * cast_to(inverse, x.dtype()); });
    return this->optimizer.step(v, scaled, begun...);
  }
};

/// Whether all elements of a gradient are finite.
constexpr AnyExpr is_finite_gradient(const UntypedExpr auto& gradient) {
  const auto all = [](const AnyExpr& x) {
    return reduce<ops::All>(is_finite(x), (1u << x.dims().rank) - 1, false);
  };
  const Pool<Slices> slices = slices_of(gradient);
  if (slices.empty()) return all(gradient);
  AnyExpr finite{};
  for (const Slices& s : slices) {
    const AnyExpr here = all(AnyExpr{gradient.graph, s.values});
    finite = finite.exists() ? logical_and(finite, here) : here;
  }
  return finite;
}

}  // namespace detail

/// Settings of a LossScale. The defaults are those of PyTorch's GradScaler.
struct LossScaleOptions {
  double initial = 65536;
  double growth = 2;             ///< after `interval` steps in a row with finite gradients
  double backoff = 0.5;          ///< after a step whose gradients are not finite
  std::int32_t interval = 2000;  ///< 0: the scale stays as it is
  Label name = "loss_scale";     ///< of the variables loss_scale/scale and loss_scale/good_steps
};

namespace detail {

/// A variable in the scope of a LossScale. (Outside of the class: clang knows its members too
/// late.)
template <class T>
constexpr Variable<T> loss_scale_variable(Graph& g, const LossScaleOptions& options, Label name,
                                          const Initializer& initializer) {
  const Scope scope(g, options.name, {.reuse = Reuse::reuse_or_create});
  return variable<T>(g, name, initializer, false);
}

}  // namespace detail

/// The factor of a loss, a variable of the model, which is saved with it:
///
///   const tf::LossScale scale(g);
///   scale.minimize(tf::with_masters(tf::Adam{}), loss).named("train");
///
/// A step with a gradient that is NaN or infinite changes no variable but the scale, which becomes
/// smaller. Gradients are divided by the scale in the element type of the optimiser's step, which
/// is float for 16-bit variables.
class LossScale {
 public:
  /// A setting out of its range is a mistake of the model.
  constexpr explicit LossScale(Graph& g, const LossScaleOptions& options = {})
      : options_(options),
        scale_(detail::loss_scale_variable<float>(g, options, "scale", filled(options.initial))),
        good_steps_(detail::loss_scale_variable<std::int32_t>(g, options, "good_steps", zeros())) {
    if (options.initial > 0 && options.growth > 1 && options.backoff > 0 && options.backoff < 1 &&
        options.interval >= 0) {
      return;
    }
    ir::Graph& graph = g;
    Message message{};
    graph.fail(
        message << "LossScale(g, options): expected initial > 0, growth > 1, 0 < backoff < 1 "
                   "and interval >= 0");
  }

  /// The scale at the start of the run.
  constexpr const Variable<float>& value() const { return scale_; }
  /// The loss, as float, times the scale.
  template <TypedExpr L>
  constexpr auto scaled(const L& loss) const {
    static_assert(detail::is_scalar_loss<L>,
                  "scaled(loss): the loss must be a scalar; take mean(loss)");
    return cast<float>(loss) * scale_;
  }

  /// The optimiser's step for gradients of the scaled loss, unless one of them is not finite, and
  /// then the new scale. Gradients may be changed before, but are still scaled:
  /// clip_by_global_norm(gradients(scale.scaled(loss)), 5 * scale.value()).
  template <class O>
  constexpr Effect apply(const O& optimizer, const std::same_as<Gradients> auto& gradients) const {
    if (gradients.size() == 0) return apply_gradients(detail::with_step(optimizer), gradients);
    AnyExpr all{};
    for (const auto& [variable, gradient] : gradients) {
      const AnyExpr here = detail::is_finite_gradient(gradient);
      all = all.exists() ? logical_and(all, here) : here;
    }
    const Expr<bool> finite(*gradients.graph, all.id);
    const Expr<float> inverse = 1.0f / scale_;
    const auto& stepping = detail::with_step(optimizer);
    const detail::Unscaled<std::remove_cvref_t<decltype(stepping)>> unscaled{
        {stepping, stepping.name}, inverse.any()};
    const Effect step = cond(finite, [&] { return apply_gradients(unscaled, gradients); }, [] {});
    const Effect all_steps = detail::with_updates(step, gradients);
    if (options_.interval == 0) return all_steps;
    const auto good = where(finite, good_steps_ + 1, 0);
    const auto grows = greater_equal(good, options_.interval);
    const auto next =
        where(finite, where(grows, scale_ * static_cast<float>(options_.growth), scale_),
              scale_ * static_cast<float>(options_.backoff));
    // A scale that overflows would never come back; one of 0 would end all training.
    const auto kept = where(logical_and(is_finite(next), greater(next, 0.0f)), next, scale_);
    return all_steps + assign(scale_, kept) + assign(good_steps_, where(grows, 0, good));
  }
  /// One step down the gradient of a loss, for all trainable variables that it depends on.
  template <class O, TypedExpr L>
  constexpr Effect minimize(const O& optimizer, const L& loss) const {
    return apply(optimizer, gradients(scaled(loss)));
  }

 private:
  LossScaleOptions options_;
  Variable<float> scale_;
  Variable<std::int32_t> good_steps_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
