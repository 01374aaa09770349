// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two cells over a sequence, one of which reads it from its end. Source: Schuster and Paliwal, IEEE
// Transactions on Signal Processing 45 (1997).

#include <source_location>

#include "typeflow/ops/shape/reverse_sequence.hpp"
#include "typeflow/rnn/sequence.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// What both cells make of a sequence. Outputs of both stand where their inputs do: the backward
/// cell's last output is that at position 0.
template <class Forward, class Backward>
struct BidirectionalResult {
  Forward forward;
  Backward backward;
};
template <class Forward, class Backward>
BidirectionalResult(Forward, Backward) -> BidirectionalResult<Forward, Backward>;

/// A cell over sequences (B,T,inputs) from their beginning, another from each one's end, both from
/// a state on: RnnResults of outputs (B,T,outputs), zero past a sample's length. A length that is
/// not in [0, T] is an Error of the run. <tf::time_major> as in dynamic_rnn. The cells' outputs
/// side by side: concat<2>(result.forward.outputs, result.backward.outputs).
template <SequenceLayout Layout = batch_major, class Forward, class Backward, TypedExpr X, class S,
          class R, TypedExpr Lengths>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 const S& forward_state, const R& backward_state,
                                 const Lengths& lengths,
                                 std::source_location at = std::source_location::current()) {
  using Axes = detail::SequenceAxes<Layout, X>;
  static_assert(detail::are_lengths<Lengths, Axes::size>,
                "bidirectional_rnn(forward, backward, x, states, lengths): the lengths must be "
                "integers, one for each sample, (batch)");
  const auto reversed = [&](const auto& sequence) {
    return reverse_sequence<Axes::time, Axes::batch>(sequence, lengths, at);
  };
  const auto there = dynamic_rnn<Layout>(forward, x, forward_state, lengths, at);
  const auto back = dynamic_rnn<Layout>(backward, reversed(x), backward_state, lengths, at);
  return BidirectionalResult{there, RnnResult{reversed(back.outputs), back.state}};
}
/// The same from states of zeros on.
template <SequenceLayout Layout = batch_major, class Forward, class Backward, TypedExpr X,
          TypedExpr Lengths>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 const Lengths& lengths,
                                 std::source_location at = std::source_location::current()) {
  constexpr Extent samples = detail::SequenceAxes<Layout, X>::size;
  return bidirectional_rnn<Layout>(forward, backward, x, zero_state<samples>(x.graph(), forward),
                                   zero_state<samples>(x.graph(), backward), lengths, at);
}
/// The same of sequences that all have T steps.
template <SequenceLayout Layout = batch_major, class Forward, class Backward, TypedExpr X>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 std::source_location at = std::source_location::current()) {
  constexpr int time = detail::SequenceAxes<Layout, X>::time;
  const auto there = dynamic_rnn<Layout>(forward, x, at);
  const auto back = dynamic_rnn<Layout>(backward, reverse<time>(x, at), at);
  return BidirectionalResult{there, RnnResult{reverse<time>(back.outputs, at), back.state}};
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
