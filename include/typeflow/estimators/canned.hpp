// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared parts of the ready-made estimators: their training steps and their metrics.

#include <string_view>
#include <type_traits>

#include "typeflow/estimators/estimator.hpp"
#include "typeflow/estimators/heads.hpp"
#include "typeflow/optimizers.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The variables of a model below a path, and the optimiser that trains them: a constant, or a
/// function of tf::Graph& that returns one.
template <class Optimizer>
struct Part {
  std::string_view path;
  const Optimizer& optimizer;
};
template <class Optimizer>
Part(std::string_view, const Optimizer&) -> Part<Optimizer>;

namespace detail {

template <class Optimizer>
inline constexpr bool makes_optimizer = requires(const Optimizer& make, Graph& g) { make(g); };

template <class Optimizer>
constexpr auto made_optimizer(Graph& g, const Optimizer& optimizer) {
  if constexpr (makes_optimizer<Optimizer>) {
    return optimizer(g);
  } else {
    return optimizer;
  }
}

}  // namespace detail

/// One step down the gradient of the loss, in which each part has its own optimiser. All gradients
/// are those before the step. If an optimiser is a function, global_step(g) is incremented.
template <TypedExpr L, class... Optimizers>
constexpr Effect training_step(Graph& g, const L& loss, const Part<Optimizers>&... parts) {
  Effect step;
  ((step += minimize(detail::made_optimizer(g, parts.optimizer), loss, g.trainable(parts.path))),
   ...);
  if constexpr ((detail::makes_optimizer<Optimizers> || ...)) {
    step += assign_add(global_step(g), 1);
  }
  return step;
}

/// An estimator of a model with a head of classes, and with the head's metrics.
template <class Model, class Head>
using ClassEstimator = std::conditional_t<
    Head::is_binary,
    Estimator<Model{}, "accuracy", "accuracy/baseline_label_mean", "auc", "average_loss">,
    Estimator<Model{}, "accuracy", "average_loss">>;
/// An estimator of a model with a head of numbers.
template <class Model>
using RegressionEstimator = Estimator<Model{}, "average_loss", "prediction/mean", "label/mean">;

}  // namespace typeflow::inline TYPEFLOW_ISA
