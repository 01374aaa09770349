// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batch normalization. Source: Ioffe and Szegedy, Batch normalization: accelerating deep network
// training by reducing internal covariate shift, 2015.
//
// Composed of other operations: the gradient runs through mean and variance, and everything fuses.
// The variance is the mean of (x - mean)^2, computed after the mean, so that a large mean costs no
// digits. It is the biased variance, which divides by N, also in the moving average. (TensorFlow's
// fused kernel multiplies that average by N / (N - 1).)

#include <source_location>
#include <type_traits>
#include <utility>

#include "typeflow/front/scope.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct BatchNormOptions {
  /// The decay of the moving averages: decay * old + (1 - decay) * new. They start at 0 and 1, and
  /// reach the batches' values after some 3 / (1 - decay) steps: 3,000 by default. For short
  /// training take 0.9 to 0.99. (PyTorch's momentum, 0.1 by default, is 1 - decay.)
  double decay = 0.999;
  double epsilon = 0.001;  ///< added to the variance
  bool center = true;      ///< whether there is a `beta` to add
  bool scale = true;       ///< whether there is a `gamma` to multiply by
};

/// A layer with variables gamma, beta, moving_mean and moving_variance, (C) each. It can be called
/// many times, and makes its variables once: tf::BatchNorm<64> norm(g, "norm"); norm(x). T is the
/// element type of the variables: float for 16-bit images.
template <Extent C, Element T = float>
class BatchNorm {
 public:
  constexpr BatchNorm(Graph& graph, Label name, BatchNormOptions options = {},
                      std::source_location at = std::source_location::current())
      : options_(options) {
    const Scope in(graph, name);
    if (options.scale) gamma_ = variable<T, C>(graph, "gamma", ones(), true, at);
    if (options.center) beta_ = variable<T, C>(graph, "beta", zeros(), true, at);
    moving_mean_ = variable<T, C>(graph, "moving_mean", zeros(), false, at);
    moving_variance_ = variable<T, C>(graph, "moving_variance", ones(), false, at);
  }

  /// (x - mean) / sqrt(variance + epsilon) * gamma + beta. In training, mean and variance are those
  /// of x over all axes but the last; in inference, the moving averages. (..,C) -> (..,C)
  ///
  /// In training, each call registers an update of the moving averages, which optimisers' effects
  /// include. An empty batch changes neither the averages, nor gamma and beta.
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank >= 2,
                  "batch_norm: x must have an axis of channels, the last, and another");
    static_assert(X::rank < 1 || X::shape::dims.extent[X::rank < 1 ? 0 : X::rank - 1] == C,
                  "batch_norm: the last axis of x must have the layer's channels");
    static_assert(
        std::is_same_v<detail::Computed<typename X::element>, T>,
        "batch_norm: the variables must have the element type of x, or float for 16 bits");
    return detail::in_float(x, [&](const auto& v) { return normalized(v, at); }, at);
  }

  constexpr const Variable<T, Shape<C>>& moving_mean() const { return moving_mean_; }
  constexpr const Variable<T, Shape<C>>& moving_variance() const { return moving_variance_; }

 private:
  template <TypedExpr X>
  constexpr auto normalized(const X& x, const std::source_location& at) const {
    Graph& graph = x.graph();
    detail::mark(at, x);
    auto mean = moving_mean_.any();
    auto variance = moving_variance_.any();
    if (graph.training()) {
      const auto of_batch = [&]<int... Axis>(std::integer_sequence<int, Axis...>) {
        return moments<Axis...>(x, {}, at);
      }(std::make_integer_sequence<int, (X::rank > 0 ? X::rank - 1 : 0)>{});
      mean = of_batch.mean.any();
      variance = of_batch.variance.any();
      const AnyExpr empty = is_empty<X>(graph);
      graph.add_update(step(moving_mean_, mean, empty));
      graph.add_update(step(moving_variance_, variance, empty));
      // The variance of an empty batch is NaN, and gamma's gradient would be 0 times that.
      if (empty.exists()) variance = where(empty, 1, variance);
    }
    AnyExpr factor = rsqrt(variance + options_.epsilon);
    if (options_.scale) factor = factor * gamma_.any();
    const AnyExpr y = (x.any() - mean) * factor;
    return detail::same_type(x, options_.center ? (y + beta_.any()).id : y.id);
  }
  /// Whether x has no samples: a boolean; no expression if it always has some.
  template <TypedExpr X>
  static constexpr AnyExpr is_empty(Graph& graph) {
    constexpr Count samples = count_of(without_last(X::shape::dims, 1));
    if constexpr (samples.powers == 0 && samples.coefficient != 0) {
      return {};
    } else {
      const auto coefficient = static_cast<double>(samples.coefficient);
      return equal(
          detail::constant_node(graph, dtype_of<T>, Number{coefficient, 0}, samples.powers), 0);
    }
  }
  /// The effect that moves an average from its present value towards `value`.
  constexpr Effect step(const Variable<T, Shape<C>>& average, const AnyExpr& value,
                        const AnyExpr& empty) const {
    const AnyExpr now = detail::present_value(average.graph(), average.id());
    AnyExpr next = options_.decay * now + (1 - options_.decay) * value;
    if (empty.exists()) next = where(empty, now, next);
    return {average.graph(), detail::assign_node(average.graph(), average.id(), next.id)};
  }

  BatchNormOptions options_;
  Variable<T, Shape<C>> gamma_;
  Variable<T, Shape<C>> beta_;
  Variable<T, Shape<C>> moving_mean_;
  Variable<T, Shape<C>> moving_variance_;
};

/// A layer used once: batch_norm(g, "norm", x) has the variables norm/gamma, norm/beta,
/// norm/moving_mean and norm/moving_variance. (..,C) -> (..,C)
template <TypedExpr X>
constexpr auto batch_norm(Graph& graph, Label name, const X& x, BatchNormOptions options = {},
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "batch_norm(g, name, x): x must be floating-point; convert with cast<float>(x)");
  static_assert(
      X::rank >= 2,
      "batch_norm(g, name, x): x must have an axis of channels, the last, and one in front of it");
  constexpr Extent channels = X::rank >= 2 ? X::shape::dims.extent[X::rank - 1] : 1;
  static_assert(channels >= 0,
                "batch_norm(g, name, x): the last axis of x must be a number, not tf::batch");
  const BatchNorm<channels, detail::Computed<typename X::element>> layer(graph, name, options, at);
  const NameScope scope(graph, name);
  return layer(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
