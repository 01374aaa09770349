// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plain recurrent cell. Source: Elman, Finding structure in time, Cognitive Science 14 (1990).

#include <source_location>

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/rnn/cell.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of BasicRNN and GRU.
struct RnnOptions {
  Initializer kernel{};       ///< by default the scope's, or glorot_uniform
  Regularizer regularizer{};  ///< of kernels; by default the scope's
  Activation activation = tanh;
};

/// h' = tanh([x, h] kernel + bias) is the output and the next state. Variables, as in TensorFlow's
/// BasicRNNCell: name/kernel (Inputs+Units,Units), name/bias (Units), initially zeros.
/// (B,Inputs) -> (B,Units)
template <Extent Inputs, Extent Units, Element T = float>
class BasicRNN {
 public:
  using element = T;
  static constexpr Extent inputs = Inputs;
  static constexpr Extent outputs = Units;
  template <Extent B>
  using state = Expr<T, Shape<B, Units>>;

  constexpr BasicRNN(Graph& g, Label name, RnnOptions options = {},
                     std::source_location at = std::source_location::current())
      : activation_(options.activation),
        weights_(detail::cell_kernel<Kernel>(g, name, options, at)) {
    static_assert(is_floating(dtype_of<T>), "BasicRNN<inputs, units, T>: T must be floating");
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& h,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank == 2, "BasicRNN: an input must be a matrix, (batch, inputs)");
    return step(project(x, at), h, at);
  }

  /// The part that does not depend on the state, x kernel_x + bias. (..,Inputs) -> (..,Units)
  template <TypedExpr X>
  constexpr auto project(const X& x,
                         std::source_location at = std::source_location::current()) const {
    static_assert(
        detail::is_cell_input<X, T, Inputs>(),
        "BasicRNN: the inputs must have the cell's element type, and its number of inputs "
        "as their last axis");
    return weights_.project(x, at);
  }
  /// The rest of a step.
  template <TypedExpr P, class S>
  constexpr auto step(const P& projected, const S& h,
                      std::source_location at = std::source_location::current()) const {
    static_assert(
        detail::is_cell_state<BasicRNN, P, S>,
        "BasicRNN: the state must be the cell's for this batch, (batch, units); begin with "
        "zero_state<batch>(g, cell)");
    detail::mark(at, projected);
    const AnyExpr next = activation_(projected.any() + weights_.of_state(h.any()), at);
    using State = state<detail::batch_of<P>>;
    const State now(projected.graph(), next.id);
    return CellStep<State, State>{now, now};
  }

  constexpr const auto& kernel() const { return weights_.kernel(); }
  constexpr const auto& bias() const { return weights_.bias(); }

 private:
  using Kernel = detail::CellKernel<T, Inputs, Units, Units>;
  Activation activation_;
  Kernel weights_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
