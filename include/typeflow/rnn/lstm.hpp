// SPDX-License-Identifier: Apache-2.0
#pragma once

// Long short-term memory. Sources: Hochreiter and Schmidhuber, Neural Computation 9 (1997); Zaremba
// et al., arXiv:1409.2329 (BasicLSTM); Sak et al., arXiv:1402.1128 (peepholes and projection).

#include <source_location>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/rnn/cell.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of BasicLSTM.
struct BasicLstmOptions {
  double forget_bias = 1;     ///< added to the forget gate, which so begins open
  Initializer kernel{};       ///< without one, the scope's, or glorot_uniform
  Regularizer regularizer{};  ///< of the kernel; without one, the scope's
  Activation activation = tanh;
};

/// TensorFlow's BasicLSTMCell:
///
///   [i, j, f, o] = [x, h] kernel + bias
///   c' = sigmoid(f + forget_bias) c + sigmoid(i) tanh(j)
///   h' = sigmoid(o) tanh(c'), the output
///
/// Variables: name/kernel (Inputs+Units,4*Units), name/bias (4*Units), initially zeros.
/// (B,Inputs) -> (B,Units)
template <Extent Inputs, Extent Units, Element T = float>
class BasicLSTM {
 public:
  using element = T;
  static constexpr Extent inputs = Inputs;
  static constexpr Extent outputs = Units;
  template <Extent B>
  using state = LstmState<Expr<T, Shape<B, Units>>>;

  constexpr BasicLSTM(Graph& g, Label name, BasicLstmOptions options = {},
                      std::source_location at = std::source_location::current())
      : forget_bias_(options.forget_bias),
        activation_(options.activation),
        weights_(detail::cell_kernel<Kernel>(g, name, options, at)) {
    static_assert(is_floating(dtype_of<T>), "BasicLSTM<inputs, units, T>: T must be floating");
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& before,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank == 2, "BasicLSTM: an input must be a matrix, (batch, inputs)");
    return step(project(x, at), before, at);
  }

  /// The part that does not depend on the state, x kernel_x + bias. (..,Inputs) -> (..,4*Units)
  template <TypedExpr X>
  constexpr auto project(const X& x,
                         std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_input<X, T, Inputs>(),
                  "BasicLSTM: the inputs must have the cell's element type, and its number of "
                  "inputs as their last axis");
    return weights_.project(x, at);
  }
  /// The rest of a step.
  template <TypedExpr P, class S>
  constexpr auto step(const P& projected, const S& before,
                      std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_state<BasicLSTM, P, S>,
                  "BasicLSTM: the state must be the cell's for this batch; begin with "
                  "zero_state<batch>(g, cell)");
    detail::mark(at, projected);
    const AnyExpr z = projected.any() + weights_.of_state(before.h.any());
    const AnyExpr input = sigmoid(detail::gate(z, 0, Units));
    const AnyExpr candidate = activation_(detail::gate(z, 1, Units), at);
    const AnyExpr forget = sigmoid(detail::gate(z, 2, Units) + forget_bias_);
    const AnyExpr output = sigmoid(detail::gate(z, 3, Units));
    const AnyExpr c = before.c.any() * forget + input * candidate;
    const AnyExpr h = activation_(c, at) * output;
    using State = state<detail::batch_of<P>>;
    using H = Expr<T, Shape<detail::batch_of<P>, Units>>;
    Graph& g = projected.graph();
    return CellStep<H, State>{H(g, h.id), State{H(g, c.id), H(g, h.id)}};
  }

  constexpr const auto& kernel() const { return weights_.kernel(); }
  constexpr const auto& bias() const { return weights_.bias(); }

 private:
  using Kernel = detail::CellKernel<T, Inputs, Units, 4 * Units>;
  double forget_bias_;
  Activation activation_;
  Kernel weights_;
};

/// Settings of LSTM.
struct LstmOptions {
  double forget_bias = 1;      ///< added to the forget gate, which so begins open
  bool peepholes = false;      ///< whether gates also read the cell's memory
  double cell_clip = 0;        ///< c' is kept in [-clip, clip]; 0: it is not
  double projection_clip = 0;  ///< the same of the projected output
  Initializer kernel{};       ///< of kernel, projection and peepholes; without one, the scope's, or
                              ///< glorot_uniform
  Regularizer regularizer{};  ///< of the kernel; without one, the scope's
  Activation activation = tanh;
};

/// TensorFlow's LSTMCell. Terms in braces exist with peepholes. c' is clipped by cell_clip, a
/// projected h' by projection_clip:
///
///   [i, j, f, o] = [x, h] kernel + bias
///   c' = sigmoid(f + forget_bias {+ w_f_diag c}) c + sigmoid(i {+ w_i_diag c}) tanh(j)
///   m = sigmoid(o {+ w_o_diag c'}) tanh(c')
///   h' = m, or m projection/kernel if Projection is not 0; the output
///
/// Variables: name/kernel (Inputs+Outputs,4*Units), name/bias (4*Units), initially zeros,
/// name/w_i_diag, w_f_diag and w_o_diag (Units), name/projection/kernel (Units,Projection).
/// (B,Inputs) -> (B,Units), or (B,Projection)
template <Extent Inputs, Extent Units, Extent Projection = 0, Element T = float>
class LSTM {
 public:
  using element = T;
  static constexpr Extent inputs = Inputs;
  static constexpr Extent outputs = Projection == 0 ? Units : Projection;
  template <Extent B>
  using state = LstmState<Expr<T, Shape<B, Units>>, Expr<T, Shape<B, outputs>>>;

  constexpr LSTM(Graph& g, Label name, LstmOptions options = {},
                 std::source_location at = std::source_location::current())
      : options_(options), weights_(detail::cell_kernel<Kernel>(g, name, options, at)) {
    static_assert(is_floating(dtype_of<T>),
                  "LSTM<inputs, units, projection, T>: T must be floating");
    const Scope in(g, name);
    if (options.peepholes) {
      input_peephole_ = variable<T, Units>(g, "w_i_diag", options.kernel, true, at);
      forget_peephole_ = variable<T, Units>(g, "w_f_diag", options.kernel, true, at);
      output_peephole_ = variable<T, Units>(g, "w_o_diag", options.kernel, true, at);
    }
    if constexpr (Projection != 0) {
      const Scope of_projection(g, "projection");
      projection_ = variable<T, Units, Projection>(g, "kernel", options.kernel, true, at);
    }
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& before,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank == 2, "LSTM: an input must be a matrix, (batch, inputs)");
    return step(project(x, at), before, at);
  }

  /// The part that does not depend on the state, x kernel_x + bias. (..,Inputs) -> (..,4*Units)
  template <TypedExpr X>
  constexpr auto project(const X& x,
                         std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_input<X, T, Inputs>(),
                  "LSTM: the inputs must have the cell's element type, and its number of inputs as "
                  "their last axis");
    return weights_.project(x, at);
  }
  /// The rest of a step.
  template <TypedExpr P, class S>
  constexpr auto step(const P& projected, const S& before,
                      std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_state<LSTM, P, S>,
                  "LSTM: the state must be the cell's for this batch; begin with "
                  "zero_state<batch>(g, cell)");
    detail::mark(at, projected);
    const AnyExpr z = projected.any() + weights_.of_state(before.h.any());
    const AnyExpr memory = before.c.any();
    const AnyExpr input = sigmoid(seen(detail::gate(z, 0, Units), memory, input_peephole_));
    const AnyExpr candidate = options_.activation(detail::gate(z, 1, Units), at);
    const AnyExpr forget_sum = detail::gate(z, 2, Units) + options_.forget_bias;
    const AnyExpr forget = sigmoid(seen(forget_sum, memory, forget_peephole_));
    const AnyExpr c = clipped(memory * forget + input * candidate, options_.cell_clip);
    const AnyExpr output = sigmoid(seen(detail::gate(z, 3, Units), c, output_peephole_));
    const AnyExpr h = projected_output(options_.activation(c, at) * output);
    using State = state<detail::batch_of<P>>;
    using C = Expr<T, Shape<detail::batch_of<P>, Units>>;
    using H = Expr<T, Shape<detail::batch_of<P>, outputs>>;
    Graph& g = projected.graph();
    return CellStep<H, State>{H(g, h.id), State{C(g, c.id), H(g, h.id)}};
  }

  constexpr const auto& kernel() const { return weights_.kernel(); }
  constexpr const auto& bias() const { return weights_.bias(); }

 private:
  using Kernel = detail::CellKernel<T, Inputs, outputs, 4 * Units>;
  using Peephole = Variable<T, Shape<Units>>;

  static constexpr AnyExpr seen(const AnyExpr& z, const AnyExpr& c, const Peephole& weights) {
    return weights.id() == none ? z : z + c * weights.any();
  }
  static constexpr AnyExpr clipped(const AnyExpr& x, double limit) {
    return limit > 0 ? clip_by_value(x, -limit, limit) : x;
  }
  constexpr AnyExpr projected_output(const AnyExpr& m) const {
    if constexpr (Projection == 0) {
      return m;
    } else {
      return clipped(matmul(m, projection_.any(), false, false), options_.projection_clip);
    }
  }

  LstmOptions options_;
  Kernel weights_;
  Peephole input_peephole_;
  Peephole forget_peephole_;
  Peephole output_peephole_;
  Variable<T, Shape<Units, outputs>> projection_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
