// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stacks of cells, and cells that add their input to their output.

#include <array>
#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/rnn/sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A stack of cells: each reads the outputs of the one before. tf::MultiRNN cells(a, b); the state
/// is a std::tuple of their states. (TensorFlow's MultiRNNCell.)
template <RecurrentCell... Cells>
class MultiRNN {
  static_assert(sizeof...(Cells) > 0, "MultiRNN(cells...): one cell at least is needed");
  template <std::size_t I>
  using Cell = std::tuple_element_t<I, std::tuple<Cells...>>;
  static constexpr std::size_t count = sizeof...(Cells);
  static constexpr bool fits = []<std::size_t... I>(std::index_sequence<I...>) {
    return ((Cell<I>::outputs == Cell<I + 1>::inputs) && ...);
  }(std::make_index_sequence<count - 1>());

 public:
  using element = typename Cell<0>::element;
  static constexpr Extent inputs = Cell<0>::inputs;
  static constexpr Extent outputs = Cell<count - 1>::outputs;
  template <Extent B>
  using state = std::tuple<StateOf<Cells, B>...>;

  constexpr explicit MultiRNN(const Cells&... cells) : cells_(cells...) {
    static_assert(
        fits,
        "MultiRNN(cells...): each cell must have as many inputs as the one before has outputs");
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& before,
                            std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_state<MultiRNN, X, S>,
                  "MultiRNN: the state must be the cells' for this batch; begin with "
                  "zero_state<batch>(g, cells)");
    const auto [output, states] = step_from<0>(x, before, at);
    return CellStep<std::remove_const_t<decltype(output)>, state<detail::batch_of<X>>>{output,
                                                                                       states};
  }

  /// Runs all layers over a sequence, one layer after another.
  template <detail::Walk W, TypedExpr X, class S, class Going>
  constexpr auto run(const X& x, const S& initial, const Going& going) const {
    return run_from<0, W>(x, initial, going);
  }

  /// Cell number I, from 0 on.
  template <std::size_t I>
  constexpr const auto& cell() const {
    return std::get<I>(cells_);
  }

 private:
  /// A step of the cells from number I on: the output of the last, and the tuple of their states.
  template <std::size_t I, class X, class S>
  constexpr auto step_from(const X& x, const S& before, const std::source_location& at) const {
    const auto now = detail::call_cell(std::get<I>(cells_), x, std::get<I>(before), at);
    const auto own = std::tuple<std::remove_cvref_t<decltype(now.state)>>(now.state);
    if constexpr (I + 1 == count) {
      return std::pair{now.output, own};
    } else {
      const auto above = step_from<I + 1>(now.output, before, at);
      return std::pair{above.first, std::tuple_cat(own, above.second)};
    }
  }
  template <std::size_t I, detail::Walk W, class X, class S, class Going>
  constexpr auto run_from(const X& x, const S& initial, const Going& going) const {
    const auto now = detail::run_cell<W>(std::get<I>(cells_), x, std::get<I>(initial), going);
    const auto own = std::tuple<std::remove_cvref_t<decltype(now.state)>>(now.state);
    if constexpr (I + 1 == count) {
      return RnnResult{now.outputs, own};
    } else {
      const auto above = run_from<I + 1, W>(now.outputs, initial, going);
      return RnnResult{above.outputs, std::tuple_cat(own, above.state)};
    }
  }

  std::tuple<Cells...> cells_;
};

/// A stack of the N cells make(0), make(1)...: multi_rnn<2>([&](int i) { return tf::GRU<200,
/// 200>(g, {"cell", i}); }). They have one type, so each has as many inputs as outputs.
template <std::size_t N, class F>
constexpr auto multi_rnn(const F& make) {
  static_assert(N > 0, "multi_rnn<n>(make): n must be 1 or more");
  static_assert(RecurrentCell<std::invoke_result_t<const F&, int>>,
                "multi_rnn<n>(make): make must take an int and return a recurrent cell");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::array cells = {make(static_cast<int>(I))...};  // braces: in this order
    return MultiRNN(cells[I]...);
  }(std::make_index_sequence<N>());
}

/// A cell that adds its input to its output: y = cell(x) + x. (TensorFlow's ResidualWrapper.)
template <RecurrentCell Cell>
class ResidualCell {
 public:
  using element = typename Cell::element;
  static constexpr Extent inputs = Cell::inputs;
  static constexpr Extent outputs = Cell::outputs;
  template <Extent B>
  using state = StateOf<Cell, B>;

  constexpr explicit ResidualCell(const Cell& cell) : cell_(cell) {
    static_assert(Cell::inputs == Cell::outputs,
                  "ResidualCell(cell): the cell must have as many outputs as inputs");
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& before,
                            std::source_location at = std::source_location::current()) const {
    const auto now = detail::call_cell(cell_, x, before, at);
    return CellStep{detail::ToExpr{}(now.output + x), now.state};
  }

  template <detail::Walk W, TypedExpr X, class S, class Going>
  constexpr auto run(const X& x, const S& initial, const Going& going) const {
    const auto result = detail::run_cell<W>(cell_, x, initial, going);
    return RnnResult{detail::ToExpr{}(result.outputs + x), result.state};
  }

 private:
  Cell cell_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
