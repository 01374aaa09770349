// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fully connected layers, x W + b: a function for a layer used once, an object that owns its
// variables for a layer used several times.

#include <source_location>

#include "typeflow/nn/layer.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
/// The shapes of a dense layer for x with more than two axes: x as rows, and the result.
template <class S, Extent Out>
struct DenseRule {
  static constexpr Extent rows = S::rank > 0 ? extent_of(count_of(without_last(S::dims, 1))) : 0;
  /// False if the leading axes repeat a symbol, as in (batch,batch,In): there is no such extent.
  static constexpr bool has_rows = rows != no_extent;
  static constexpr Dims value = [] {
    Dims d = S::dims;
    if (S::rank > 0) d.extent[S::rank - 1] = Out;
    return d;
  }();
};
}  // namespace detail

/// A layer with weights W (In,Out) and bias b (Out). It can be called many times, and makes its
/// variables once: tf::Dense<784, 300> hidden(g, "hidden"); hidden(x).
template <Extent In, Extent Out, Element T = float>
class Dense {
 public:
  constexpr Dense(Graph& graph, Label name, LayerOptions options = {},
                  std::source_location at = std::source_location::current())
      : variables_(graph, name, options, at) {}

  /// (..,In) -> (..,Out)
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank >= 2, "dense: x must be a matrix, (batch, features), or have more axes");
    static_assert(X::rank < 2 || X::shape::dims.extent[X::rank < 1 ? 0 : X::rank - 1] == In,
                  "dense: the columns of x must equal the layer's inputs");
    using Rule = detail::DenseRule<typename X::shape, Out>;
    if constexpr (X::rank > 2 && Rule::has_rows) {  // one product instead of one for each matrix
      const Expr<T, Shape<Rule::rows, In>> rows(x.graph(),
                                                reshape_to(x.any(), Dims{2, {Rule::rows, In}}).id);
      const AnyExpr y = matmul(rows, weights(), at).any();
      return variables_.finish(Expr<T, shape_of_t<Rule>>(x.graph(), reshape_to(y, Rule::value).id),
                               at);
    } else {
      return variables_.finish(matmul(x, weights(), at), at);
    }
  }

  constexpr const Variable<T, Shape<In, Out>>& weights() const { return variables_.weights(); }
  /// A handle of nothing if there is no bias.
  constexpr const Variable<T, Shape<Out>>& bias() const { return variables_.bias(); }

 private:
  detail::Weights<T, Shape<In, Out>, Out> variables_;
};

/// A layer used once: dense<300>(g, "fc", x) has the variables fc/W and fc/b. (..,In) -> (..,Out)
template <Extent Out, TypedExpr X>
constexpr auto dense(Graph& graph, Label name, const X& x, LayerOptions options = {},
                     std::source_location at = std::source_location::current()) {
  static_assert(X::rank >= 2,
                "dense(g, name, x): x must be a matrix, (batch, features), or have more axes");
  constexpr Extent in = X::rank >= 2 ? X::shape::dims.extent[X::rank - 1] : 1;
  static_assert(in >= 0, "dense(g, name, x): the columns of x must be a number, not tf::batch");
  const Dense<in, Out, typename X::element> layer(graph, name, options, at);
  const NameScope scope(graph, name);
  return layer(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
