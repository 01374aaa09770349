// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gated recurrent unit. Source: Cho et al., arXiv:1406.1078.

#include <array>
#include <source_location>

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/rnn/basic_rnn.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// TensorFlow's GRUCell:
///
///   [r, u] = sigmoid([x, h] gates/kernel + gates/bias)
///   c = tanh([x, r h] candidate/kernel + candidate/bias)
///   h' = u h + (1 - u) c, the output and the next state
///
/// (PyTorch's GRU multiplies by r after the product.)
///
/// Variables: name/gates/kernel (Inputs+Units,2*Units), name/gates/bias, initially ones,
/// name/candidate/kernel (Inputs+Units,Units), name/candidate/bias, initially zeros.
/// (B,Inputs) -> (B,Units)
template <Extent Inputs, Extent Units, Element T = float>
class GRU {
 public:
  using element = T;
  static constexpr Extent inputs = Inputs;
  static constexpr Extent outputs = Units;
  template <Extent B>
  using state = Expr<T, Shape<B, Units>>;

  constexpr GRU(Graph& g, Label name, RnnOptions options = {},
                std::source_location at = std::source_location::current())
      : activation_(options.activation),
        gates_(make<2 * Units>(g, name, "gates", ones(), options, at)),
        candidate_(make<Units>(g, name, "candidate", zeros(), options, at)) {}

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& h,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank == 2, "GRU: an input must be a matrix, (batch, inputs)");
    return step(project(x, at), h, at);
  }

  /// The part that does not depend on the state: first the gates', then the candidate's.
  /// (..,Inputs) -> (..,3*Units)
  template <TypedExpr X>
  constexpr auto project(const X& x,
                         std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_input<X, T, Inputs>(),
                  "GRU: the inputs must have the cell's element type, and its number of inputs as "
                  "their last axis");
    detail::mark(at, x);
    const std::array parts = {gates_.of_input(x.any()), candidate_.of_input(x.any())};
    return detail::WithLast<X, 3 * Units>(x.graph(), concat_to(parts, X::rank - 1).id);
  }
  /// The rest of a step.
  template <TypedExpr P, class S>
  constexpr auto step(const P& projected, const S& state_before,
                      std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_state<GRU, P, S>,
                  "GRU: the state must be the cell's for this batch, (batch, units); begin with "
                  "zero_state<batch>(g, cell)");
    detail::mark(at, projected);
    const AnyExpr h = state_before.any();
    const AnyExpr of_gates = slice_along(projected.any(), 1, 0, 2 * Units);
    const AnyExpr gates = sigmoid(of_gates + gates_.of_state(h));
    const AnyExpr reset = detail::gate(gates, 0, Units);
    const AnyExpr update = detail::gate(gates, 1, Units);
    const AnyExpr of_candidate = slice_along(projected.any(), 1, 2 * Units, Units);
    const AnyExpr candidate = activation_(of_candidate + candidate_.of_state(reset * h), at);
    const AnyExpr next = update * h + (1 - update) * candidate;
    using State = state<detail::batch_of<P>>;
    const State now(projected.graph(), next.id);
    return CellStep<State, State>{now, now};
  }

 private:
  template <Extent Out>
  using Kernel = detail::CellKernel<T, Inputs, Units, Out>;

  template <Extent Out>
  static constexpr Kernel<Out> make(Graph& g, const Label& name, Label part, Initializer bias,
                                    const RnnOptions& options, const std::source_location& at) {
    static_assert(is_floating(dtype_of<T>), "GRU<inputs, units, T>: T must be floating");
    const Scope of_cell(g, name);
    const Scope of_part(g, part);
    return Kernel<Out>(g, options.kernel, bias, options.regularizer, at);
  }

  Activation activation_;
  Kernel<2 * Units> gates_;
  Kernel<Units> candidate_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
