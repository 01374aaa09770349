// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cells over sequences: dynamic_rnn takes a tensor (B,T,inputs) and is a loop over its steps;
// static_rnn takes an array of inputs and makes a copy of the cell for each. Both take lengths:
// past its length a sample's outputs are zero and its state stays.
//
// A sequence goes through a stack of cells layer by layer, not step by step. The results are the
// same, and one product projects all steps of a layer. Inside, time is the first axis, because
// loops slice along it.

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/ops/control/scan.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/ops/shape/split.hpp"
#include "typeflow/rnn/cell.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Order of a sequence's axes: (B,T,..) or (T,B,..).
enum class SequenceLayout { batch_major, time_major };
inline constexpr SequenceLayout batch_major = SequenceLayout::batch_major;
inline constexpr SequenceLayout time_major = SequenceLayout::time_major;

/// Steps of a sequence in the graph: a loop, whose compile time does not depend on their number, or
/// one copy of the cell for each (`unroll` in Keras and JAX).
enum class SequenceSteps { looped, unrolled };
inline constexpr SequenceSteps looped = SequenceSteps::looped;
inline constexpr SequenceSteps unrolled = SequenceSteps::unrolled;

/// The outputs of a cell for a sequence, and the last state.
template <class Outputs, class State>
struct RnnResult {
  Outputs outputs;
  State state;
};
template <class Outputs, class State>
RnnResult(Outputs, State) -> RnnResult<Outputs, State>;

namespace detail {

/// The axes of a sequence of rank 3; 0 for other ranks.
template <SequenceLayout L, class X>
struct SequenceAxes {
  static constexpr bool has_rank = X::rank == 3;
  static constexpr int time = L == batch_major ? 1 : 0;
  static constexpr int batch = 1 - time;
  static constexpr Extent steps = has_rank ? X::shape::dims.extent[has_rank ? time : 0] : 0;
  static constexpr Extent size = has_rank ? X::shape::dims.extent[has_rank ? batch : 0] : 1;
};

/// How a cell goes over a sequence whose first axis is time: an argument of a cell's `run`.
struct Walk {
  SequenceSteps steps = looped;
  bool reverse =
      false;  ///< from the last step to the first; outputs keep the places of their inputs
};

/// Whether each sample has not ended yet at each step: its length is greater. (B) -> (T,B)
template <Extent T, TypedExpr L>
constexpr auto going_on(const L& lengths) {
  constexpr Extent samples = L::shape::dims.extent[0];
  const auto [row, step] = along_new_axis(lengths.any(), Dims{2, {1, samples}}, 0, T);
  return Expr<bool, Shape<T, samples>>(lengths.graph(), less(step, row).id);
}
/// Stands for lengths, and for going_on, if all samples have T steps.
using AllSteps = std::tuple<>;

/// Rows of `yes` where a condition (B) is true, else rows of `no`, which may be a number.
constexpr AnyExpr where_rows(const AnyExpr& condition, const AnyExpr& yes, const auto& no) {
  Dims column = yes.dims();
  for (int i = 1; i < column.rank; ++i) column.extent[i] = 1;
  return where(reshape_to(condition, column), yes, no);
}
/// The next state of samples that have not ended (B); the old state of the others.
template <class Going, class S>
constexpr S next_state(const Going& going, const S& next, const S& before) {
  if constexpr (std::same_as<Going, AllSteps>) {
    return next;
  } else {
    return map_state(
        [&](const auto& now, const auto& then) {
          return same_type(now, where_rows(going.any(), now.any(), then.any()).id);
        },
        next, before);
  }
}
/// The outputs (T,B,..), zeros past each sample's length.
template <class Going, TypedExpr Y>
constexpr auto until_end(const Going& going, const Y& outputs) {
  if constexpr (std::same_as<Going, AllSteps>) {
    return outputs;
  } else {
    const Dims column{3, {Y::shape::dims.extent[0], Y::shape::dims.extent[1], 1}};
    return same_type(outputs, where(reshape_to(going.any(), column), outputs.any(), 0).id);
  }
}

template <class Cell, class X>
concept Projects = requires(const Cell& cell, const X& x) { cell.project(x); };
template <class Cell, Walk W, class X, class S, class Going>
concept RunsSequences = requires(const Cell& cell, const X& x, const S& s, const Going& going) {
  cell.template run<W>(x, s, going);
};

/// A step as a pair: the carried state and the output to stack.
template <class S, class F, class X, class Going>
constexpr auto carry_step(const F& step, const X& x, const S& before, const Going& going) {
  const auto now = step(x, before);
  const auto output = ToExpr{}(now.output);
  using Output = std::remove_const_t<decltype(output)>;
  constexpr bool same_state = std::same_as<StateValues<decltype(now.state)>, S>;
  static_assert(same_state,
                "a cell's next state must have the type of the state, Cell::state<batch>");
  if constexpr (same_state) {
    return std::pair<S, Output>(next_state(going, state_values(now.state), before), output);
  } else {
    return std::pair<S, Output>(before, output);
  }
}

/// All steps as copies in the graph, one after another.
template <Walk W, class X, class S, class Going, class F>
constexpr auto unroll_steps(const X& x, const S& initial, const Going& going, const F& step) {
  constexpr Extent count = X::shape::dims.extent[0];
  const auto at_step = [&](int t) {
    if constexpr (std::same_as<Going, AllSteps>) {
      return AllSteps{};
    } else {
      return select<0>(going, t);
    }
  };
  using Output = decltype(carry_step(step, select<0>(x, 0), initial, at_step(0)).second);
  std::array<Output, static_cast<std::size_t>(count)> outputs{};
  S state = initial;
  for (int i = 0; i < count; ++i) {
    const int t = W.reverse ? static_cast<int>(count) - 1 - i : i;
    const auto now = carry_step(step, select<0>(x, t), state, at_step(t));
    outputs[static_cast<std::size_t>(t)] = now.second;
    state = now.first;
  }
  return RnnResult{stack<0>(outputs), state};
}

/// step(x_t, state) at each step of a sequence of inputs, projected or not. A sequence of one step
/// needs no loop.
template <Walk W, class X, class S, class Going, class F>
constexpr auto run_steps(const X& x, const S& initial, const Going& going, const F& step) {
  if constexpr (W.steps == unrolled || X::shape::dims.extent[0] == 1) {
    return unroll_steps<W>(x, initial, going, step);
  } else {
    using Slices = typename SliceOf<std::pair<X, Going>>::type;
    const auto result =
        scan([&](const S& before,
                 const Slices& now) { return carry_step(step, now.first, before, now.second); },
             initial, std::pair<X, Going>(x, going), {.reverse = W.reverse});
    return RnnResult{result.second, result.first};
  }
}

/// Runs the cell over a sequence (T,B,inputs); outputs past a sample's length are unspecified.
template <Walk W, class Cell, TypedExpr X, class S, class Going>
constexpr auto run_cell(const Cell& cell, const X& x, const S& initial, const Going& going) {
  if constexpr (RunsSequences<Cell, W, X, S, Going>) {
    return cell.template run<W>(x, initial, going);
  } else if constexpr (Projects<Cell, X>) {
    return run_steps<W>(cell.project(x), initial, going,
                        [&](const auto& p, const S& s) { return cell.step(p, s); });
  } else {
    return run_steps<W>(x, initial, going,
                        [&](const auto& now, const S& s) { return cell(now, s); });
  }
}

/// Transposes a batch-major sequence to time-major or back; returns a time-major one unchanged. The
/// inputs are transposed, not their projections, which are wider.
template <SequenceLayout L, TypedExpr X>
constexpr auto exchange_axes(const X& x) {
  if constexpr (L == batch_major) {
    return transpose<1, 0, 2>(x);
  } else {
    return ToExpr{}(x);
  }
}

template <SequenceLayout L, Walk W, class Cell, class X, class S, class Going>
constexpr auto run_exchanged(const Cell& cell, const X& x, const S& initial, const Going& going) {
  const auto result = run_cell<W>(cell, exchange_axes<L>(x), initial, going);
  return RnnResult{exchange_axes<L>(until_end(going, result.outputs)), result.state};
}

template <SequenceLayout L, Walk W, class Cell, TypedExpr X, class S, class Lengths>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial, const Lengths& lengths,
                           const std::source_location& at) {
  using Axes = SequenceAxes<L, X>;
  static_assert(RecurrentCell<Cell>,
                "dynamic_rnn(cell, x): the first argument must be a recurrent cell, with element, "
                "inputs, outputs and state<batch>: see typeflow/rnn/cell.hpp");
  static_assert(Axes::has_rank,
                "dynamic_rnn(cell, x): x must have three axes, (batch, time, inputs), or (time, "
                "batch, inputs) with dynamic_rnn<tf::time_major>");
  static_assert(!Axes::has_rank || Axes::steps > 0,
                "dynamic_rnn(cell, x): the time axis must be a number, 1 or more: the bound of the "
                "lengths");
  constexpr bool input_fits = is_cell_input<X, typename Cell::element, Cell::inputs>();
  static_assert(
      !Axes::has_rank || input_fits,
      "dynamic_rnn(cell, x): x must have the cell's element type, and its number of inputs "
      "as the last axis");
  constexpr bool state_fits = std::same_as<StateValues<S>, StateOf<Cell, Axes::size>>;
  static_assert(!Axes::has_rank || state_fits,
                "dynamic_rnn(cell, x, state): the state must be the cell's for this batch; begin "
                "with zero_state<batch>(g, cell)");
  mark(at, x);
  if constexpr (!Axes::has_rank || Axes::steps <= 0 || !input_fits || !state_fits) {
    return RnnResult{ToExpr{}(x), state_values(initial)};
  } else if constexpr (std::same_as<Lengths, AllSteps>) {
    return run_exchanged<L, W>(cell, x, state_values(initial), lengths);
  } else {
    return run_exchanged<L, W>(cell, x, state_values(initial), going_on<Axes::steps>(lengths));
  }
}

template <class L, Extent B>
inline constexpr bool are_lengths =
    in_domain<Domain::integers, L> && L::shape::dims == Dims{1, {B}};

}  // namespace detail

/// Runs a cell over sequences from an initial state, with each sample's length: past it outputs are
/// zero and the state stays. A length above T counts as T, a length below 0 as 0.
/// (B,T,inputs) -> (B,T,outputs), or with <tf::time_major> (T,B,inputs) -> (T,B,outputs); the time
/// axis is a number. The steps are a loop, or with <layout, tf::unrolled> copies of the cell.
template <SequenceLayout Layout = batch_major, SequenceSteps Steps = looped, class Cell,
          TypedExpr X, class S, TypedExpr Lengths>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial, const Lengths& lengths,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::are_lengths<Lengths, detail::SequenceAxes<Layout, X>::size>,
                "dynamic_rnn(cell, x, state, lengths): the lengths must be integers, one for each "
                "sample, (batch)");
  return detail::dynamic_rnn<Layout, detail::Walk{Steps}>(cell, x, initial, lengths, at);
}
/// The same for sequences that all have T steps.
template <SequenceLayout Layout = batch_major, SequenceSteps Steps = looped, class Cell,
          TypedExpr X, class S>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial,
                           std::source_location at = std::source_location::current()) {
  return detail::dynamic_rnn<Layout, detail::Walk{Steps}>(cell, x, initial, detail::AllSteps{}, at);
}
/// The same from a state of zeros on.
template <SequenceLayout Layout = batch_major, SequenceSteps Steps = looped, class Cell,
          TypedExpr X>
constexpr auto dynamic_rnn(const Cell& cell, const X& x,
                           std::source_location at = std::source_location::current()) {
  constexpr Extent samples = detail::SequenceAxes<Layout, X>::size;
  return dynamic_rnn<Layout, Steps>(cell, x, zero_state<samples>(x.graph(), cell), at);
}

/// Runs a cell over an array of T inputs (B,inputs) from an initial state, with each sample's
/// length as in dynamic_rnn; gives T outputs (B,outputs). The graph has T copies of the cell.
template <class Cell, TypedExpr X, std::size_t T, class S, TypedExpr Lengths>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          const Lengths& lengths,
                          std::source_location at = std::source_location::current()) {
  const auto result =
      dynamic_rnn<time_major, unrolled>(cell, stack<0>(x, at), initial, lengths, at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}
/// The same for samples that all have T steps.
template <class Cell, TypedExpr X, std::size_t T, class S>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          std::source_location at = std::source_location::current()) {
  const auto result = dynamic_rnn<time_major, unrolled>(cell, stack<0>(x, at), initial, at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}
/// The same from a state of zeros on.
template <class Cell, TypedExpr X, std::size_t T>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x,
                          std::source_location at = std::source_location::current()) {
  const auto result = dynamic_rnn<time_major, unrolled>(cell, stack<0>(x, at), at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
