// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two cells over a sequence, one from its start, one from its end. Source: Schuster and Paliwal,
// IEEE Transactions on Signal Processing 45 (1997).

#include <source_location>

#include "typeflow/rnn/sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The results of both cells. Outputs keep the places of their inputs: the backward cell's last
/// output is at position 0.
template <class Forward, class Backward>
struct BidirectionalResult {
  Forward forward;
  Backward backward;
};
template <class Forward, class Backward>
BidirectionalResult(Forward, Backward) -> BidirectionalResult<Forward, Backward>;

namespace detail {

template <SequenceLayout L, SequenceSteps Steps, class Forward, class Backward, TypedExpr X,
          class S, class R, class Lengths>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 const S& forward_state, const R& backward_state,
                                 const Lengths& lengths, const std::source_location& at) {
  return BidirectionalResult{
      dynamic_rnn<L, Walk{Steps}>(forward, x, forward_state, lengths, at),
      dynamic_rnn<L, Walk{Steps, true}>(backward, x, backward_state, lengths, at)};
}

}  // namespace detail

/// Runs one cell over sequences (B,T,inputs) from their start, another from each one's end, both
/// from an initial state. The results are RnnResults of outputs (B,T,outputs), zero past a sample's
/// length. A length above T counts as T, a length below 0 as 0. <tf::time_major> and <layout,
/// tf::unrolled> as in dynamic_rnn. The outputs side by side are concat<2>(result.forward.outputs,
/// result.backward.outputs).
template <SequenceLayout Layout = batch_major, SequenceSteps Steps = looped, class Forward,
          class Backward, TypedExpr X, class S, class R, TypedExpr Lengths>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 const S& forward_state, const R& backward_state,
                                 const Lengths& lengths,
                                 std::source_location at = std::source_location::current()) {
  static_assert(detail::are_lengths<Lengths, detail::SequenceAxes<Layout, X>::size>,
                "bidirectional_rnn(forward, backward, x, states, lengths): the lengths must be "
                "integers, one for each sample, (batch)");
  return detail::bidirectional_rnn<Layout, Steps>(forward, backward, x, forward_state,
                                                  backward_state, lengths, at);
}
/// The same from states of zeros.
template <SequenceLayout Layout = batch_major, SequenceSteps Steps = looped, class Forward,
          class Backward, TypedExpr X, TypedExpr Lengths>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 const Lengths& lengths,
                                 std::source_location at = std::source_location::current()) {
  constexpr Extent samples = detail::SequenceAxes<Layout, X>::size;
  return bidirectional_rnn<Layout, Steps>(forward, backward, x,
                                          zero_state<samples>(x.graph(), forward),
                                          zero_state<samples>(x.graph(), backward), lengths, at);
}
/// The same for sequences that all have T steps.
template <SequenceLayout Layout = batch_major, SequenceSteps Steps = looped, class Forward,
          class Backward, TypedExpr X>
constexpr auto bidirectional_rnn(const Forward& forward, const Backward& backward, const X& x,
                                 std::source_location at = std::source_location::current()) {
  constexpr Extent samples = detail::SequenceAxes<Layout, X>::size;
  return detail::bidirectional_rnn<Layout, Steps>(
      forward, backward, x, zero_state<samples>(x.graph(), forward),
      zero_state<samples>(x.graph(), backward), detail::AllSteps{}, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
