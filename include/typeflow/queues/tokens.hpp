// SPDX-License-Identifier: Apache-2.0
#pragma once

// Token queues, which keep workers in step: a chief puts a token for each worker, with the number
// of the next step, and each worker takes one before it begins. TensorFlow's SyncReplicasOptimizer.

#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/queues/accumulator.hpp"
#include "typeflow/queues/operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Tokens are numbers of steps.
template <std::int64_t Capacity>
using TokenQueue = Queue<Fifo{Capacity}, Item<std::int64_t>>;

namespace detail {
template <class Q>
inline constexpr bool is_token_queue = false;
template <auto Kind, class... Items>
inline constexpr bool is_token_queue<Queue<Kind, Items...>> =
    std::is_same_v<Queue<Kind, Items...>, TokenQueue<Queue<Kind, Items...>::capacity>>;
}  // namespace detail

/// Declares a queue of tokens: token_queue<100>(g, "tokens").
template <std::int64_t Capacity>
constexpr Resource<TokenQueue<Capacity>> token_queue(
    Graph& g, Label name, std::source_location at = std::source_location::current()) {
  return resource<TokenQueue<Capacity>>(g, name, at);
}

/// Puts Count tokens of this step, all at once, when there is room for them.
template <std::int64_t Count, class Q, class N>
  requires(detail::is_token_queue<Q>)
constexpr Effect put_tokens(const Resource<Q>& tokens, const N& step) {
  constexpr bool fits = detail::is_step<N>();
  static_assert(
      fits, "put_tokens<n>(tokens, step): the step must be an integer or a std::int64_t scalar");
  if constexpr (fits) {
    Graph& g = tokens.graph();
    const AnyExpr one = detail::as_step(g, step).any();
    const Expr<std::int64_t, Shape<Count>> all(g, broadcast_to(one, Dims{1, {Count}}).id);
    return enqueue_many(tokens, all);
  } else {
    return {};
  }
}
/// Takes a token, when there is one: the number of the step.
template <class Q>
  requires(detail::is_token_queue<Q>)
constexpr Expr<std::int64_t> take_token(const Resource<Q>& tokens, const Effect& first = {},
                                        std::source_location at = std::source_location::current()) {
  return dequeue(tokens, first, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
