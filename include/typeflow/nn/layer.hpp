// SPDX-License-Identifier: Apache-2.0
#pragma once

// What layers with weights share: their options, and weights and bias as variables.

#include <concepts>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "typeflow/front/regularizers.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/front/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A function that a layer applies to its result: tf::relu, or a lambda without captures, [](auto
/// x) { return leaky_relu(x, 0.1); }. Its result has the element type and shape of its argument.
/// The default applies none.
class Activation {
 public:
  using Function = AnyExpr (*)(const AnyExpr&, std::source_location);

  constexpr Activation() = default;
  constexpr Activation(Function f) : function_(f) {}  // NOLINT: .activation = tf::relu
  constexpr Activation(std::nullptr_t) {}             // NOLINT: none
  template <class F>
    requires(std::is_empty_v<F> && std::default_initializable<F> &&
             std::same_as<std::invoke_result_t<F, const AnyExpr&>, AnyExpr>)
  constexpr Activation(F)  // NOLINT: an implicit conversion by design
      : function_([](const AnyExpr& x, std::source_location) { return F{}(x); }) {}

  /// f(x); x itself if there is no function.
  constexpr AnyExpr operator()(const AnyExpr& x, const std::source_location& at) const {
    const AnyExpr y = function_(x, at);
    if (y.dtype() == x.dtype() && y.dims() == x.dims()) return y;
    Message message{};
    x.graph->fail(message << ".activation: expected " << x.dtype() << ' ' << x.dims()
                          << " as its argument has, got " << y.dtype() << ' ' << y.dims());
    return x;
  }

 private:
  static constexpr AnyExpr nothing(const AnyExpr& x, std::source_location) { return x; }

  // Not a null pointer: with -fsanitize=undefined, g++ 12 can't compare a function with one in
  // constant evaluation.
  Function function_ = &nothing;
};

/// Settings of a layer with weights and a bias: dense<300>(g, "fc", x, {.activation = tf::relu}).
struct LayerOptions {
  Initializer weights{};  ///< of W; without one, the scope's, or glorot_uniform
  Initializer bias = zeros();
  bool use_bias = true;            ///< whether there is a `b` to add
  Regularizer regularizer{};       ///< of W; without one, the scope's
  Regularizer bias_regularizer{};  ///< of b; without one, the scope's
  Activation activation{};
};

namespace detail {

/// Makes a variable of a layer, with its regulariser if the options name one.
template <Element T, class S>
constexpr Variable<T, S> layer_variable(Graph& graph, Label name, Initializer initializer,
                                        const Regularizer& regularizer,
                                        const std::source_location& at) {
  const Variable<T, S> made = variable<T>(graph, name, S{}, initializer, true, at);
  if (regularizer.set) regularize(made, regularizer, at);
  return made;
}

/// The variables W, of shape S, and b (Out) of a layer whose results have Out as their last axis.
template <Element T, class S, Extent Out>
class Weights {
 public:
  constexpr Weights(Graph& graph, Label name, const LayerOptions& options,
                    const std::source_location& at)
      : activation_(options.activation) {
    const Scope in(graph, name);
    weights_ = layer_variable<T, S>(graph, "W", options.weights, options.regularizer, at);
    if (options.use_bias) {
      bias_ = layer_variable<T, Shape<Out>>(graph, "b", options.bias, options.bias_regularizer, at);
    }
  }

  constexpr const Variable<T, S>& weights() const { return weights_; }
  constexpr const Variable<T, Shape<Out>>& bias() const { return bias_; }

  /// activation(y + b)
  template <TypedExpr Y>
  constexpr auto finish(const Y& y, const std::source_location& at) const {
    mark(at, y);
    const AnyExpr z = bias_.id() == none ? y.any() : y.any() + bias_.any();
    return same_type(y, activation_(z, at).id);
  }

 private:
  Variable<T, S> weights_;
  Variable<T, Shape<Out>> bias_;
  Activation activation_;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
