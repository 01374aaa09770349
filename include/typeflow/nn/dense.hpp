// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fully connected layers: x W + b. As a function where a layer is used once, as an object that
// owns its variables where it is used several times.

#include <source_location>

#include "typeflow/front/scope.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct DenseOptions {
  Initializer weights{};  ///< of W; without one, the scope's, or glorot_uniform
  Initializer bias = zeros;
};

/// A layer with weights W (In,Out) and bias b (Out); callable many times, its variables are made
/// once: tf::Dense<784, 300> hidden(g, "hidden"); hidden(x).
template <Extent In, Extent Out, Element T = float>
class Dense {
 public:
  constexpr Dense(Graph& graph, Label name, DenseOptions options = {},
                  std::source_location at = std::source_location::current()) {
    const Scope in(graph, name);
    weights_ = variable<T, In, Out>(graph, "W", options.weights, true, at);
    bias_ = variable<T, Out>(graph, "b", options.bias, true, at);
  }

  /// (B,In) -> (B,Out)
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank == 2, "dense: x must be a matrix, (batch, features)");
    static_assert(X::rank != 2 || X::shape::dims.extent[1] == In,
                  "dense: the columns of x must equal the layer's inputs");
    return matmul(x, weights_, at) + bias_;
  }

  constexpr const Variable<T, Shape<In, Out>>& weights() const { return weights_; }
  constexpr const Variable<T, Shape<Out>>& bias() const { return bias_; }

 private:
  Variable<T, Shape<In, Out>> weights_;
  Variable<T, Shape<Out>> bias_;
};

/// A layer used once: dense<300>(g, "fc", x) has the variables fc/W and fc/b. (B,In) -> (B,Out)
template <Extent Out, TypedExpr X>
constexpr auto dense(Graph& graph, Label name, const X& x, DenseOptions options = {},
                     std::source_location at = std::source_location::current()) {
  static_assert(X::rank == 2, "dense(g, name, x): x must be a matrix, (batch, features)");
  constexpr Extent in = X::rank == 2 ? X::shape::dims.extent[X::rank - 1] : 1;
  static_assert(in >= 0, "dense(g, name, x): the columns of x must be a number, not tf::batch");
  const Dense<in, Out, typename X::element> layer(graph, name, options, at);
  const NameScope scope(graph, name);
  return layer(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
