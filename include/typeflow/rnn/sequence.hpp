// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cells over sequences: static_rnn of an array of inputs, dynamic_rnn of a tensor (B,T,inputs).
// Both unroll the cell T times, both take lengths: past its length a sample's outputs are zero and
// its state stays.
//
// A sequence goes through a stack of cells layer by layer, not step by step. Nothing else depends
// on that order, and so all steps of a layer are projected in one product.

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/shape/split.hpp"
#include "typeflow/rnn/cell.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Which of a sequence's axes come first: (B,T,..) or (T,B,..).
enum class SequenceLayout { batch_major, time_major };
inline constexpr SequenceLayout batch_major = SequenceLayout::batch_major;
inline constexpr SequenceLayout time_major = SequenceLayout::time_major;

/// The outputs of a cell for a sequence, and the state that it leaves.
template <class Outputs, class State>
struct RnnResult {
  Outputs outputs;
  State state;
};
template <class Outputs, class State>
RnnResult(Outputs, State) -> RnnResult<Outputs, State>;

namespace detail {

/// The axes of a sequence of rank 3; of another, 0.
template <SequenceLayout L, class X>
struct SequenceAxes {
  static constexpr bool has_rank = X::rank == 3;
  static constexpr int time = L == batch_major ? 1 : 0;
  static constexpr int batch = 1 - time;
  static constexpr Extent steps = has_rank ? X::shape::dims.extent[has_rank ? time : 0] : 0;
  static constexpr Extent size = has_rank ? X::shape::dims.extent[has_rank ? batch : 0] : 1;
};

/// The lengths (B) as they broadcast to a tensor of this rank whose axis `batch` they are of.
constexpr AnyExpr lengths_along(const AnyExpr& lengths, int rank, int batch) {
  Dims dims{};
  for (int i = 0; i < rank; ++i) dims.append(i == batch ? lengths.dims().extent[0] : 1);
  return reshape_to(lengths, dims);
}

/// The next state of the samples that go on at step t, the state before of those that have ended.
template <class S>
constexpr S going_on(const AnyExpr& lengths, int t, const S& next, const S& before) {
  if (!lengths.exists()) return next;
  return map_state(
      [&](const auto& now, const auto& then) {
        const AnyExpr on = greater(lengths_along(lengths, now.any().dims().rank, 0), t);
        return same_type(now, where(on, now.any(), then.any()).id);
      },
      next, before);
}

/// The outputs, zeros past each sample's length.
template <SequenceLayout L, TypedExpr Y>
constexpr auto until_length(const AnyExpr& lengths, const Y& outputs) {
  if (!lengths.exists()) return ToExpr{}(outputs);
  constexpr int time = SequenceAxes<L, Y>::time;
  Dims positions{3, {1, 1, 1}};
  positions.extent[time] = Y::shape::dims.extent[time];
  const AnyExpr position = cast_to(index_along(outputs.graph(), positions, time), lengths.dtype());
  const AnyExpr on = less(position, lengths_along(lengths, 3, 1 - time));
  return same_type(outputs, where(on, outputs.any(), 0).id);
}

template <class Cell, class X>
concept Projects = requires(const Cell& cell, const X& x) { cell.project(x); };
template <class Cell, SequenceLayout L, class X, class S>
concept RunsSequences = requires(const Cell& cell, const X& x, const S& s, const AnyExpr& lengths) {
  cell.template run<L>(x, s, lengths);
};

/// The cell at each step of a sequence of inputs, or of projected ones.
template <SequenceLayout L, class X, class S, class F>
constexpr auto run_steps(const X& x, const S& initial, const AnyExpr& lengths, const F& step) {
  using Axes = SequenceAxes<L, X>;
  using Output =
      std::remove_cvref_t<decltype(ToExpr{}(step(select<Axes::time>(x, 0), initial).output))>;
  std::array<Output, static_cast<std::size_t>(Axes::steps)> outputs{};
  S state = initial;
  for (int t = 0; t < Axes::steps; ++t) {
    const auto now = step(select<Axes::time>(x, t), state);
    constexpr bool same_state = std::same_as<StateValues<decltype(now.state)>, S>;
    static_assert(same_state,
                  "a cell's next state must have the type of the state, Cell::state<batch>");
    outputs[static_cast<std::size_t>(t)] = ToExpr{}(now.output);
    if constexpr (same_state) state = going_on(lengths, t, state_values(now.state), state);
  }
  return RnnResult{stack<Axes::time>(outputs), state};
}

/// The cell over a sequence; outputs past a sample's length are any.
template <SequenceLayout L, class Cell, TypedExpr X, class S>
constexpr auto run_cell(const Cell& cell, const X& x, const S& initial, const AnyExpr& lengths) {
  if constexpr (RunsSequences<Cell, L, X, S>) {
    return cell.template run<L>(x, initial, lengths);
  } else if constexpr (Projects<Cell, X>) {
    return run_steps<L>(cell.project(x), initial, lengths,
                        [&](const auto& p, const S& s) { return cell.step(p, s); });
  } else {
    return run_steps<L>(x, initial, lengths,
                        [&](const auto& now, const S& s) { return cell(now, s); });
  }
}

template <SequenceLayout L, class Cell, TypedExpr X, class S>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial, const AnyExpr& lengths,
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
  if constexpr (Axes::has_rank && Axes::steps > 0 && input_fits && state_fits) {
    const auto result = run_cell<L>(cell, ToExpr{}(x), state_values(initial), lengths);
    return RnnResult{until_length<L>(lengths, result.outputs), result.state};
  } else {
    return RnnResult{ToExpr{}(x), state_values(initial)};
  }
}

template <class L, Extent B>
inline constexpr bool are_lengths =
    in_domain<Domain::integers, L> && L::shape::dims == Dims{1, {B}};

}  // namespace detail

/// A cell over sequences, from a state on, with each sample's length: past it the outputs are zero,
/// and the state stays as it was at the end. A length of T or more is all steps, of 0 or less none.
/// (B,T,inputs) -> (B,T,outputs), or with <tf::time_major> (T,B,inputs) -> (T,B,outputs); the time
/// axis is a number, in the graph as many steps.
template <SequenceLayout Layout = batch_major, class Cell, TypedExpr X, class S, TypedExpr Lengths>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial, const Lengths& lengths,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::are_lengths<Lengths, detail::SequenceAxes<Layout, X>::size>,
                "dynamic_rnn(cell, x, state, lengths): the lengths must be integers, one for each "
                "sample, (batch)");
  return detail::dynamic_rnn<Layout>(cell, x, initial, lengths.any(), at);
}
/// The same of sequences that all have T steps.
template <SequenceLayout Layout = batch_major, class Cell, TypedExpr X, class S>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial,
                           std::source_location at = std::source_location::current()) {
  return detail::dynamic_rnn<Layout>(cell, x, initial, AnyExpr{}, at);
}
/// The same from a state of zeros on.
template <SequenceLayout Layout = batch_major, class Cell, TypedExpr X>
constexpr auto dynamic_rnn(const Cell& cell, const X& x,
                           std::source_location at = std::source_location::current()) {
  constexpr Extent samples = detail::SequenceAxes<Layout, X>::size;
  return detail::dynamic_rnn<Layout>(cell, x, zero_state<samples>(x.graph(), cell), AnyExpr{}, at);
}

/// A cell over T inputs, from a state on, with each sample's length, as in dynamic_rnn: T of
/// (B,inputs) -> T of (B,outputs)
template <class Cell, TypedExpr X, std::size_t T, class S, TypedExpr Lengths>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          const Lengths& lengths,
                          std::source_location at = std::source_location::current()) {
  const auto result = dynamic_rnn<time_major>(cell, stack<0>(x, at), initial, lengths, at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}
/// The same of inputs that all count.
template <class Cell, TypedExpr X, std::size_t T, class S>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          std::source_location at = std::source_location::current()) {
  const auto result = dynamic_rnn<time_major>(cell, stack<0>(x, at), initial, at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}
/// The same from a state of zeros on.
template <class Cell, TypedExpr X, std::size_t T>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x,
                          std::source_location at = std::source_location::current()) {
  const auto result = dynamic_rnn<time_major>(cell, stack<0>(x, at), at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
