// SPDX-License-Identifier: Apache-2.0
#pragma once

// Recurrent cells: their concept and common parts. A cell is a value that makes its variables once.
// Called with an input and a state, it returns an output and the next state:
//
//   struct Accumulator {                                          // a cell of one's own
//     using element = float;
//     static constexpr tf::Extent inputs = 8, outputs = 8;
//     template <tf::Extent B>
//     using state = tf::Expr<float, tf::Shape<B, 8>>;
//     constexpr auto operator()(const auto& x, const auto& s) const {
//       const auto sum = x + s;
//       return tf::CellStep{sum, sum};
//     }
//   };
//
// A cell may split its step into project(x) and step(projected, state). project takes inputs with
// any number of leading axes, so that one product projects a whole sequence.

#include <concepts>
#include <source_location>

#include "typeflow/nn/layer.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"
#include "typeflow/ops/shape/slice.hpp"
#include "typeflow/rnn/state.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The result of a cell's step.
template <TypedExpr Output, class State>
struct CellStep {
  Output output;  ///< (B,Cell::outputs)
  State state;
};
template <class Output, class State>
CellStep(Output, State) -> CellStep<Output, State>;

namespace detail {

template <class C>
concept NamesState = requires { typename C::template state<1>; };

}  // namespace detail

/// A recurrent cell: see the top of this header.
template <class C>
concept RecurrentCell = requires {
  typename C::element;
  { C::inputs } -> std::convertible_to<Extent>;
  { C::outputs } -> std::convertible_to<Extent>;
} && detail::NamesState<C>;

namespace detail {

/// The shape (B,In) or (B,T,In) with another last axis.
template <class S, Extent Last>
struct LastAxisRule {
  static constexpr Dims value = [] {
    Dims d = S::dims;
    if (S::rank > 0) d.extent[S::rank - 1] = Last;
    return d;
  }();
};
template <class X, Extent Last>
using WithLast = Expr<typename X::element, shape_of_t<LastAxisRule<typename X::shape, Last>>>;

/// Whether x has elements of type T and `In` columns.
template <class X, class T, Extent In>
constexpr bool is_cell_input() {
  if constexpr (!std::same_as<typename X::element, T> || X::rank < 2) {
    return false;
  } else {
    return X::shape::dims.extent[X::rank - 1] == In;
  }
}
/// The batch of an input (B,In) of a cell.
template <class X>
inline constexpr Extent batch_of = X::rank >= 1 ? X::shape::dims.extent[0] : 1;

template <class Cell, class X, class S>
inline constexpr bool is_cell_state = std::same_as<StateValues<S>, StateOf<Cell, batch_of<X>>>;

/// Kernel and bias of a cell, in TensorFlow's layout: the kernel's first In rows belong to the
/// input, the others to the state.
template <Element T, Extent In, Extent Recurrent, Extent Out>
class CellKernel {
 public:
  constexpr CellKernel(Graph& g, Initializer kernel, Initializer bias,
                       const Regularizer& regularizer, const std::source_location& at)
      : kernel_(
            layer_variable<T, Shape<In + Recurrent, Out>>(g, "kernel", kernel, regularizer, at)),
        bias_(layer_variable<T, Shape<Out>>(g, "bias", bias, {}, at)),
        input_rows_(slice_along(kernel_.any(), 0, 0, In)),
        state_rows_(slice_along(kernel_.any(), 0, In, Recurrent)) {}

  /// The input's part of [x, h] kernel + bias, in one product for all leading axes.
  /// (..,In) -> (..,Out)
  constexpr AnyExpr of_input(const AnyExpr& x) const {
    Dims dims = x.dims();
    const Extent rows = extent_of(count_of(without_last(dims, 1)));
    dims.extent[dims.rank - 1] = Out;
    if (dims.rank == 2 || rows == no_extent) {
      return matmul(x, input_rows_, false, false) + bias_.any();
    }
    const AnyExpr flat = reshape_to(x, Dims{2, {rows, In}});
    return reshape_to(matmul(flat, input_rows_, false, false) + bias_.any(), dims);
  }
  /// The same for an input with a static type, with the user's line.
  template <TypedExpr X>
  constexpr auto project(const X& x, const std::source_location& at) const {
    mark(at, x);
    return WithLast<X, Out>(x.graph(), of_input(x.any()).id);
  }
  /// The state's part. (B,Recurrent) -> (B,Out)
  constexpr AnyExpr of_state(const AnyExpr& h) const {
    return matmul(h, state_rows_, false, false);
  }

  constexpr const Variable<T, Shape<In + Recurrent, Out>>& kernel() const { return kernel_; }
  constexpr const Variable<T, Shape<Out>>& bias() const { return bias_; }

 private:
  Variable<T, Shape<In + Recurrent, Out>> kernel_;
  Variable<T, Shape<Out>> bias_;
  AnyExpr input_rows_;
  AnyExpr state_rows_;
};

/// Kernel and bias with a cell's options, in the scope of its name; the bias is initially zeros.
template <class Kernel>
constexpr Kernel cell_kernel(Graph& g, const Label& name, const auto& options,
                             const std::source_location& at) {
  const Scope in(g, name);
  return Kernel(g, options.kernel, zeros(), options.regularizer, at);
}

/// cell(x, state), with the user's line if the cell takes one.
template <class Cell, class X, class S>
constexpr auto call_cell(const Cell& cell, const X& x, const S& state,
                         const std::source_location& at) {
  if constexpr (requires { cell(x, state, at); }) {
    return cell(x, state, at);
  } else {
    return cell(x, state);
  }
}

/// Part i of rows that have N parts of this size. (B,N*size) -> (B,size)
constexpr AnyExpr gate(const AnyExpr& z, int i, Extent size) {
  return slice_along(z, 1, i * size, size);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
