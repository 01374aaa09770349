// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dropout around a cell. Sources: Zaremba et al., arXiv:1409.2329 (on inputs and outputs); Gal and
// Ghahramani, arXiv:1512.05287 (one mask for all steps).

#include <cstddef>
#include <source_location>
#include <tuple>
#include <utility>

#include "typeflow/nn/dropout.hpp"
#include "typeflow/rnn/sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Probabilities to keep an element, numbers or scalar expressions; 1: no dropout.
struct DropoutCellOptions {
  Scalar input_keep = 1;
  Scalar output_keep = 1;
  Scalar state_keep = 1;     ///< of states, except an LSTM's c
  bool variational = false;  ///< one mask for all steps and samples, instead of one for each
};

/// A cell that in training drops inputs, outputs and parts of its next state. (TensorFlow's
/// DropoutWrapper.)
template <RecurrentCell Cell>
class DropoutCell {
 public:
  using element = typename Cell::element;
  static constexpr Extent inputs = Cell::inputs;
  static constexpr Extent outputs = Cell::outputs;
  template <Extent B>
  using state = StateOf<Cell, B>;

  constexpr DropoutCell(Graph& g, const Cell& cell, DropoutCellOptions options = {},
                        std::source_location at = std::source_location::current())
      : cell_(cell), options_(options) {
    if (!options.variational) return;
    input_mask_ = mask<inputs>(g, options.input_keep, at);
    output_mask_ = mask<outputs>(g, options.output_keep, at);
    if (drops(options.state_keep)) {
      state_mask_ = of_hidden([&](const auto& one) { return drop(one, options.state_keep, at); },
                              ones_state(g));
    }
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& before,
                            std::source_location at = std::source_location::current()) const {
    const auto now =
        detail::call_cell(cell_, masked(x, options_.input_keep, input_mask_, at), before, at);
    return CellStep{masked(now.output, options_.output_keep, output_mask_, at),
                    dropped_state(now.state, at)};
  }

  /// Runs a whole sequence; step by step if states are dropped.
  template <detail::Walk W, TypedExpr X, class S, class Going>
  constexpr auto run(const X& x, const S& initial, const Going& going) const {
    const std::source_location at{};
    if (drops(options_.state_keep)) {
      return detail::run_steps<W>(x, initial, going,
                                  [&](const auto& now, const S& s) { return (*this)(now, s); });
    }
    const auto result =
        detail::run_cell<W>(cell_, masked(x, options_.input_keep, input_mask_, at), initial, going);
    return RnnResult{masked(result.outputs, options_.output_keep, output_mask_, at), result.state};
  }

 private:
  template <Extent N>
  using Mask = Expr<element, Shape<1, N>>;

  static constexpr bool drops(const Scalar& keep) {
    return keep.is_expression() || keep.value() != 1;
  }
  template <TypedExpr X>
  static constexpr auto drop(const X& x, const Scalar& keep, const std::source_location& at) {
    return detail::ToExpr{}(dropout(x, {.keep = keep}, at));
  }
  template <Extent N>
  static constexpr Mask<N> mask(Graph& g, const Scalar& keep, const std::source_location& at) {
    if (!drops(keep)) return {};
    return drop(ones<element, 1, N>(g, at), keep, at);
  }
  /// x with the mask, or with a new mask if there is none.
  template <TypedExpr X, TypedExpr M>
  constexpr auto masked(const X& x, const Scalar& keep, const M& mask,
                        const std::source_location& at) const {
    if (!drops(keep)) return detail::ToExpr{}(x);
    if (mask.id() == none) return drop(x, keep, at);
    return detail::ToExpr{}(x * mask);
  }

  static constexpr state<1> ones_state(Graph& g) {
    return detail::map_state([](const auto& x) { return detail::ToExpr{}(ones_like(x)); },
                             detail::zero_of<state<1>>(g));
  }

  template <class S>
  constexpr auto dropped_state(const S& now, const std::source_location& at) const {
    if (!drops(options_.state_keep)) return now;
    if (options_.variational) return of_hidden(Times{}, now, state_mask_);
    return of_hidden([&](const auto& h) { return drop(h, options_.state_keep, at); }, now);
  }
  struct Times {
    template <TypedExpr X, TypedExpr M>
    constexpr auto operator()(const X& x, const M& mask) const {
      return detail::ToExpr{}(x * mask);
    }
  };

  /// f of a state's tensors, except an LSTM's c.
  template <class F, TypedExpr X, TypedExpr... M>
  static constexpr auto of_hidden(const F& f, const X& x, const M&... masks) {
    return f(x, masks...);
  }
  template <class F, class C, class H, class... M>
  static constexpr auto of_hidden(const F& f, const LstmState<C, H>& s, const M&... masks) {
    return LstmState<C, H>{s.c, f(s.h, masks.h...)};
  }
  template <class F, class... S>
  static constexpr auto of_hidden(const F& f, const std::tuple<S...>& states) {
    return std::apply([&](const auto&... s) { return std::tuple<S...>{of_hidden(f, s)...}; },
                      states);
  }
  template <class F, class... S, class... M>
  static constexpr auto of_hidden(const F& f, const std::tuple<S...>& states,
                                  const std::tuple<M...>& masks) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<S...>{of_hidden(f, std::get<I>(states), std::get<I>(masks))...};
    }(std::index_sequence_for<S...>());
  }

  Cell cell_;
  DropoutCellOptions options_;
  Mask<inputs> input_mask_;
  Mask<outputs> output_mask_;
  state<1> state_mask_{};
};

}  // namespace typeflow::inline TYPEFLOW_ISA
