// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cells over sequences: dynamic_rnn of a tensor (B,T,inputs), a loop (tf::scan); static_rnn of an
// array of inputs, as many copies of the cell as it has. Both take lengths: past its length a
// sample's outputs are zero and its state stays.
//
// A sequence goes through a stack of cells layer by layer, not step by step. Nothing else depends
// on that order, and so all steps of a layer are projected in one product.

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/control/scan.hpp"
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

/// The next state of the samples that go on at step t, a number or a scalar; the state before of
/// those that have ended.
template <class S, class N>
constexpr S going_on(const AnyExpr& lengths, const N& t, const S& next, const S& before) {
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
/// How a cell goes through a sequence: as a loop, or copied for each step.
enum class Steps { looped, copied };

template <class Cell, Steps How, class X, class S>
concept RunsSequences = requires(const Cell& cell, const X& x, const S& s, const AnyExpr& lengths) {
  cell.template run<How>(x, s, lengths);
};

template <class Step, class S>
constexpr void check_step() {
  static_assert(std::same_as<StateValues<decltype(Step::state)>, S>,
                "a cell's next state must have the type of the state, Cell::state<batch>");
}

/// The cell at each step of a sequence (T,B,..) of inputs, or of projected ones.
template <class X, class S, class F>
constexpr auto loop_steps(const X& x, const S& initial, const AnyExpr& lengths, const F& step) {
  using Slice = typename SliceOf<X>::type;
  using Step = decltype(step(std::declval<const Slice&>(), initial));
  using Output = decltype(ToExpr{}(std::declval<Step>().output));
  constexpr Extent steps = X::shape::dims.extent[0];
  check_step<Step, S>();
  Graph& g = x.graph();
  ir::Graph& graph = g;
  const ir::SourceLine source = graph.source;
  Pool<Id> sequence;
  sequence.push(x.id());
  const Pool<Id> start = ids_of(initial);
  const Pool<Id> results = trace_counted(
      g, steps, start, sequence, false,
      [&](const Id* t, const Id* states, const Id* slice) {
        const S before = structure_of<S>(g, states);
        const Step now = step(Slice(g, *slice), before);
        Pool<Id> given;
        if constexpr (std::same_as<StateValues<decltype(Step::state)>, S>) {
          const AnyExpr number{&graph, *t};
          given =
              ids_of(going_on(lengths, lengths.exists() ? cast_to(number, lengths.dtype()) : number,
                              state_values(now.state), before));
        }
        given.push(ToExpr{}(now.output).id());
        return given;
      },
      source);
  using Outputs = typename StackOf<Output, steps>::type;
  return RnnResult{Outputs(g, results[start.size()]), structure_of<S>(g, results.data())};
}
template <class X, class S, class F>
constexpr auto copy_steps(const X& x, const S& initial, const AnyExpr& lengths, const F& step) {
  using Step = decltype(step(select<0>(x, 0), initial));
  using Output = decltype(ToExpr{}(std::declval<Step>().output));
  constexpr Extent steps = X::shape::dims.extent[0];
  check_step<Step, S>();
  std::array<Output, static_cast<std::size_t>(steps)> outputs{};
  S state = initial;
  for (int t = 0; t < steps; ++t) {
    const Step now = step(select<0>(x, t), state);
    outputs[static_cast<std::size_t>(t)] = ToExpr{}(now.output);
    if constexpr (std::same_as<StateValues<decltype(Step::state)>, S>) {
      state = going_on(lengths, t, state_values(now.state), state);
    }
  }
  return RnnResult{stack<0>(outputs), state};
}
template <Steps How, class X, class S, class F>
constexpr auto run_steps(const X& x, const S& initial, const AnyExpr& lengths, const F& step) {
  if constexpr (How == Steps::looped) {
    return loop_steps(x, initial, lengths, step);
  } else {
    return copy_steps(x, initial, lengths, step);
  }
}

/// The cell over a sequence (T,B,inputs); outputs past a sample's length are any.
template <Steps How, class Cell, TypedExpr X, class S>
constexpr auto run_cell(const Cell& cell, const X& x, const S& initial, const AnyExpr& lengths) {
  if constexpr (RunsSequences<Cell, How, X, S>) {
    return cell.template run<How>(x, initial, lengths);
  } else if constexpr (Projects<Cell, X>) {
    return run_steps<How>(cell.project(x), initial, lengths,
                          [&](const auto& p, const S& s) { return cell.step(p, s); });
  } else {
    return run_steps<How>(x, initial, lengths,
                          [&](const auto& now, const S& s) { return cell(now, s); });
  }
}

/// (B,T,..) as (T,B,..), and back.
template <SequenceLayout L, TypedExpr X>
constexpr auto time_first(const X& x) {
  if constexpr (L == time_major) {
    return ToExpr{}(x);
  } else {
    return ToExpr{}(transpose<1, 0, 2>(x));
  }
}

template <SequenceLayout L, Steps How = Steps::looped, class Cell, TypedExpr X, class S>
constexpr auto run_sequence(const Cell& cell, const X& x, const S& initial, const AnyExpr& lengths,
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
    const auto result = run_cell<How>(cell, time_first<L>(x), state_values(initial), lengths);
    return RnnResult{until_length<L>(lengths, time_first<L>(result.outputs)), result.state};
  } else {
    return RnnResult{ToExpr{}(x), state_values(initial)};
  }
}

template <class Cell, TypedExpr X, std::size_t T, class S>
constexpr auto run_copies(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          const AnyExpr& lengths, const std::source_location& at) {
  const auto result =
      run_sequence<time_major, Steps::copied>(cell, stack<0>(x, at), initial, lengths, at);
  return RnnResult{unstack<0>(result.outputs, at), result.state};
}

template <class L, Extent B>
inline constexpr bool are_lengths =
    in_domain<Domain::integers, L> && L::shape::dims == Dims{1, {B}};

}  // namespace detail

/// A cell over sequences, from a state on, with each sample's length: past it the outputs are zero,
/// and the state stays as it was at the end. A length of T or more is all steps, of 0 or less none.
/// (B,T,inputs) -> (B,T,outputs), or with <tf::time_major> (T,B,inputs) -> (T,B,outputs), which is
/// the order in which a loop goes through it; the time axis is a number.
template <SequenceLayout Layout = batch_major, class Cell, TypedExpr X, class S, TypedExpr Lengths>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial, const Lengths& lengths,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::are_lengths<Lengths, detail::SequenceAxes<Layout, X>::size>,
                "dynamic_rnn(cell, x, state, lengths): the lengths must be integers, one for each "
                "sample, (batch)");
  return detail::run_sequence<Layout>(cell, x, initial, lengths.any(), at);
}
/// The same of sequences that all have T steps.
template <SequenceLayout Layout = batch_major, class Cell, TypedExpr X, class S>
constexpr auto dynamic_rnn(const Cell& cell, const X& x, const S& initial,
                           std::source_location at = std::source_location::current()) {
  return detail::run_sequence<Layout>(cell, x, initial, AnyExpr{}, at);
}
/// The same from a state of zeros on.
template <SequenceLayout Layout = batch_major, class Cell, TypedExpr X>
constexpr auto dynamic_rnn(const Cell& cell, const X& x,
                           std::source_location at = std::source_location::current()) {
  constexpr Extent samples = detail::SequenceAxes<Layout, X>::size;
  return detail::run_sequence<Layout>(cell, x, zero_state<samples>(x.graph(), cell), AnyExpr{}, at);
}

/// A cell over T inputs, from a state on, with each sample's length, as in dynamic_rnn but copied
/// for each of them, for sequences of a few steps: T of (B,inputs) -> T of (B,outputs)
template <class Cell, TypedExpr X, std::size_t T, class S, TypedExpr Lengths>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          const Lengths& lengths,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::are_lengths<Lengths, detail::batch_of<X>>,
                "static_rnn(cell, x, state, lengths): the lengths must be integers, one for each "
                "sample, (batch)");
  return detail::run_copies(cell, x, initial, lengths.any(), at);
}
/// The same of inputs that all count.
template <class Cell, TypedExpr X, std::size_t T, class S>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x, const S& initial,
                          std::source_location at = std::source_location::current()) {
  return detail::run_copies(cell, x, initial, AnyExpr{}, at);
}
/// The same from a state of zeros on.
template <class Cell, TypedExpr X, std::size_t T>
constexpr auto static_rnn(const Cell& cell, const std::array<X, T>& x,
                          std::source_location at = std::source_location::current()) {
  const auto start = zero_state<detail::batch_of<X>>(x[0].graph(), cell);
  return detail::run_copies(cell, x, start, AnyExpr{}, at);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
