// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cell with a function that decides on inputs, states and outputs at each step: a decoder that
// reads its own last output, a net that decides when to stop. (TensorFlow's raw_rnn.)
//
//   auto result = tf::raw_rnn<20>(cell, tf::RawRnnStart{none_finished, first_input, state},
//                                 [&](auto time, auto output, auto state, auto) {
//                                   auto word = argmax<1>(logits_of(output));
//                                   return tf::RawRnnStep{equal(word, end), vector_of(word), state,
//                                                         word};
//                                 });

#include <concepts>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/rnn/sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The start of a raw_rnn: the result of TensorFlow's loop_fn at time 0.
template <TypedExpr Finished, TypedExpr Input, class State, class LoopState = std::tuple<>>
struct RawRnnStart {
  Finished finished;       ///< (B), booleans: which samples have no step at all
  Input input;             ///< (B,Cell::inputs), of the first step
  State state;             ///< the cell's
  LoopState loop_state{};  ///< other carried state: a structure of tensors
};
template <class F, class I, class S>
RawRnnStart(F, I, S) -> RawRnnStart<F, I, S>;
template <class F, class I, class S, class L>
RawRnnStart(F, I, S, L) -> RawRnnStart<F, I, S, L>;

/// The decisions of a raw_rnn's function after a step.
template <TypedExpr Finished, TypedExpr Input, class State, class Emit,
          class LoopState = std::tuple<>>
struct RawRnnStep {
  Finished finished;  ///< (B), booleans: the samples whose last step this was
  Input input;        ///< of the next step
  State state;        ///< the next step's; often the state that the function got
  Emit emit;          ///< the step's output: a tensor (B,..), or a tuple, pair or array of such
  LoopState loop_state{};
};
template <class F, class I, class S, class E>
RawRnnStep(F, I, S, E) -> RawRnnStep<F, I, S, E>;
template <class F, class I, class S, class E, class L>
RawRnnStep(F, I, S, E, L) -> RawRnnStep<F, I, S, E, L>;

/// The result of a raw_rnn.
template <class Outputs, class State, class LoopState>
struct RawRnnResult {
  Outputs outputs;  ///< the emitted tensors, (MaxSteps,B,..)
  State state;
  LoopState loop_state;
};
template <class O, class S, class L>
RawRnnResult(O, S, L) -> RawRnnResult<O, S, L>;

namespace detail {

/// f(a, b), untyped, for each pair of tensors of two structures of one type.
template <class S, class F>
constexpr S zip_tensors(Graph& g, const S& a, const S& b, const F& f) {
  ir::Graph& graph = g;
  const Pool<Id> of_a = ids_of(a);
  const Pool<Id> of_b = ids_of(b);
  Pool<Id> made;
  for (int i = 0; i < of_a.size(); ++i)
    made.push(f(AnyExpr{&graph, of_a[i]}, AnyExpr{&graph, of_b[i]}).id);
  return structure_of<S>(g, made.data());
}

/// Whether tensors of a structure have this first axis.
template <Extent B>
struct HasBatch {
  template <class X>
  struct Like {
    static constexpr bool value = X::rank >= 1 && X::shape::dims.extent[0] == B;
  };
};

template <class X>
inline constexpr bool is_finished = std::same_as<typename X::element, bool> && X::rank == 1;

}  // namespace detail

/// Runs a cell for MaxSteps steps. After each, f(time, output, state, loop_state) gives a
/// RawRnnStep; time, an int32 scalar, is the number of steps so far. A finished sample keeps its
/// state and emits zeros. When all are finished, the loop state stays, too; the remaining steps are
/// still computed. (B,Cell::inputs) -> (MaxSteps,B,..)
template <Extent MaxSteps, class Cell, class Start, class F>
constexpr auto raw_rnn(const Cell& cell, const Start& start, const F& f,
                       std::source_location at = std::source_location::current()) {
  static_assert(RecurrentCell<Cell>,
                "raw_rnn<steps>(cell, start, f): the first argument must be a recurrent cell, with "
                "element, inputs, outputs and state<batch>: see typeflow/rnn/cell.hpp");
  static_assert(MaxSteps > 0, "raw_rnn<steps>(cell, start, f): steps must be 1 or more");
  using Finished = detail::plain_t<decltype(start.finished)>;
  using Input = detail::plain_t<decltype(start.input)>;
  using State = detail::StateValues<decltype(start.state)>;
  using LoopState = detail::plain_t<decltype(start.loop_state)>;
  using Output = detail::plain_t<
      decltype(detail::call_cell(cell, std::declval<Input>(), std::declval<State>(), at).output)>;
  using Time = Expr<std::int32_t>;
  constexpr Extent samples = detail::batch_of<Input>;
  constexpr bool begins = detail::is_finished<Finished> && detail::batch_of<Finished> == samples &&
                          std::same_as<State, StateOf<Cell, samples>>;
  static_assert(begins,
                "raw_rnn<steps>(cell, start, f): the start must have booleans (batch), an input "
                "(batch, inputs), and the cell's state for this batch");
  constexpr bool calls = requires(const Time& t, const Output& y, const State& s,
                                  const LoopState& l) { f(t, y, s, l).emit; };
  static_assert(calls,
                "raw_rnn<steps>(cell, start, f): f(time, output, state, loop_state) must give a "
                "tf::RawRnnStep");
  if constexpr (begins && calls) {
    using Step = decltype(f(std::declval<Time>(), std::declval<Output>(), std::declval<State>(),
                            std::declval<LoopState>()));
    using Emit = detail::plain_t<decltype(Step::emit)>;
    constexpr bool keeps = std::same_as<detail::plain_t<decltype(Step::finished)>, Finished> &&
                           std::same_as<detail::plain_t<decltype(Step::input)>, Input> &&
                           std::same_as<detail::StateValues<decltype(Step::state)>, State> &&
                           std::same_as<detail::plain_t<decltype(Step::loop_state)>, LoopState>;
    static_assert(keeps,
                  "raw_rnn<steps>(cell, start, f): f must give finished, input, state and "
                  "loop_state of the types that they have at the start");
    constexpr bool emits = detail::all_tensors<Emit, detail::HasBatch<samples>::template Like>();
    static_assert(emits,
                  "raw_rnn<steps>(cell, start, f): what f emits must be a tensor whose first axis "
                  "is the batch, or a tuple, pair or array of such tensors");
    if constexpr (keeps && emits) {
      detail::mark(at, start.input);
      Graph& g = start.input.graph();
      using Carried = std::tuple<Finished, Input, State, LoopState>;
      const auto body = [&](const Carried& carried, const Time& time) {
        const auto& [finished, input, before, loop_before] = carried;
        const auto now = detail::call_cell(cell, input, before, at);
        const Step step =
            f(time, detail::ToExpr{}(now.output), detail::state_values(now.state), loop_before);
        const AnyExpr going = logical_not(finished.any());
        const AnyExpr any_going = reduce<ops::Any>(going, 1u, false);
        const auto rows = [&](const AnyExpr& next, const AnyExpr& then) {
          return detail::where_rows(going, next, then);
        };
        const auto all = [&](const AnyExpr& next, const AnyExpr& then) {
          return where(any_going, next, then);
        };
        const auto emitted = [&](const AnyExpr& value, const AnyExpr&) {
          return detail::where_rows(going, value, 0);
        };
        const Emit emit(step.emit);
        const Carried next(
            Finished(g, logical_or(finished.any(), step.finished.any()).id), Input(step.input),
            detail::zip_tensors<State>(g, detail::state_values(step.state), before, rows),
            detail::zip_tensors<LoopState>(g, LoopState(step.loop_state), loop_before, all));
        return std::pair<Carried, Emit>(next, detail::zip_tensors<Emit>(g, emit, emit, emitted));
      };
      const Carried first(detail::ToExpr{}(start.finished), detail::ToExpr{}(start.input),
                          detail::state_values(start.state), LoopState(start.loop_state));
      const auto [last, outputs] =
          scan(body, first, range<std::int32_t, MaxSteps>(g, 1, 1), {}, at);
      return RawRnnResult{outputs, std::get<2>(last), std::get<3>(last)};
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
