// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations on queues. They wait for each other, so those on one queue are not ordered. run_after
// orders effects, and the argument `first` of the others makes them come after one.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/state/assign.hpp"
#include "typeflow/queues/kernels.hpp"
#include "typeflow/queues/queue.hpp"
#include "typeflow/resources/resource.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class Q>
inline constexpr bool is_queue = false;
template <auto Kind, class... Items>
inline constexpr bool is_queue<Queue<Kind, Items...>> = true;

/// Whether an X can stand for a scalar: a number, or a text.
template <class T, class X>
inline constexpr bool is_literal_of =
    is_string<T> ? std::is_convertible_v<const X&, std::string_view> : Literal<X>;

/// Whether x can be enqueued as an item, behind `leading` axes.
template <class I, class X>
constexpr bool fits_item(int leading) {
  if constexpr (TypedExpr<X>) {
    const Dims& dims = X::shape::dims;
    if (!std::is_same_v<typename X::element, typename I::element>) return false;
    if (dims.rank != I::rank + leading) return false;
    for (int i = 0; i < I::rank; ++i) {
      const Extent given = dims.extent[i + leading];
      const Extent item = I::type.dims.extent[i];
      const bool varies = (I::varying >> i & 1u) != 0;
      if (varies ? given > item : given != item) return false;  // (a symbol is negative)
    }
    return true;
  } else {
    return leading == 0 && I::rank == 0 && is_literal_of<typename I::element, X>;
  }
}
template <class Items, class... X>
inline constexpr bool fit_items = false;
template <class... I, class... X>
  requires(sizeof...(I) == sizeof...(X))
inline constexpr bool fit_items<std::tuple<I...>, X...> = (fits_item<I, X>(0) && ...);
template <class Items, class... X>
inline constexpr bool fit_many_items = false;
template <class... I, TypedExpr... X>
  requires(sizeof...(I) == sizeof...(X) && ((X::rank > 0) && ...))
inline constexpr bool fit_many_items<std::tuple<I...>, X...> = [] {
  const Extent rows[] = {X::shape::dims.extent[0]...};
  bool fits = (fits_item<I, X>(1) && ...);
  for (const Extent r : rows) fits = fits && r == rows[0];
  return fits;
}();

template <class I, class X>
constexpr auto as_item(Graph& g, const X& x) {
  if constexpr (TypedExpr<X>) {
    return x;
  } else {
    return constant<typename I::element>(g, static_cast<typename I::element>(x));
  }
}
template <class Q, class... X, std::size_t... K>
constexpr Effect enqueue_one(const Resource<Q>& queue, std::index_sequence<K...>, const X&... x) {
  Graph& g = queue.graph();
  return typeflow::apply(ops::Enqueue<Q, false>{}, queue,
                         as_item<std::tuple_element_t<K, typename Q::items>>(g, x)...);
}
template <class R>
constexpr void mark(std::source_location at, const Resource<R>& resource) {
  ir::Graph& graph = resource.graph();
  graph.source = source_line(at);
}
template <class X>
constexpr Id first_id(const X& x) {
  return x.id();
}
template <class... X>
constexpr Id first_id(const std::tuple<X...>& x) {
  return std::get<0>(x).id();
}
/// The results of an operation, which comes after an effect, if there is one.
template <class X>
constexpr X ordered_after(const Effect& first, const X& results) {
  if (first.empty()) return results;
  const Id token = first.token();
  add_controls(ir::records(first.graph()), first_id(results), &token, 1);
  return results;
}
template <class Q>
constexpr bool fits_batch(std::int64_t n) {
  return n >= 1 && n <= Q::most_at_once;
}
template <class Q, Taking How, std::int64_t N>
constexpr auto dequeue(const Resource<Q>& queue, const Effect& first, std::source_location at) {
  using List = ItemList<typename Q::items>;
  constexpr bool few = List::items + List::lengths < max_outputs;
  static_assert(few, "dequeue(queue): too many items for one operation's results");
  if constexpr (few && fits_batch<Q>(N)) {
    mark(at, queue);
    return ordered_after(first, typeflow::apply(ops::Dequeue<Q, How, N>{}, queue));
  }
}

}  // namespace detail

/// Declares a queue: queue<tf::Queue<tf::Fifo{32}, tf::Item<float, 28, 28>>>(g, "examples").
/// Sessions on one store share it.
template <class Q>
constexpr Resource<Q> queue(Graph& g, Label name,
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::is_queue<Q>,
                "queue<Q>(g, name): Q must be a tf::Queue<Kind, Item<T, D...>...>");
  return resource<Q>(g, name, at);
}

/// Adds an element, of an x for each item, when there is room. A number or text stands for a
/// scalar. The run fails with Cancelled if the queue is closed.
template <class Q, class... X>
  requires(detail::is_queue<Q>)
constexpr Effect enqueue(const Resource<Q>& queue, const X&... x) {
  constexpr bool fits = detail::fit_items<typename Q::items, X...>;
  constexpr bool few = sizeof...(X) < static_cast<std::size_t>(max_arity);
  (void)sizeof(
      detail::requirement<"enqueue(queue, x...): there must be an x for each item of the queue, of "
                          "its element type and shape",
                          fits>);
  static_assert(fits,
                "enqueue(queue, x...): there must be an x for each item of the queue, of its "
                "element type and shape");
  static_assert(few, "enqueue(queue, x...): seven items at most");
  if constexpr (fits && few) {
    return detail::enqueue_one(queue, std::index_sequence_for<X...>{}, x...);
  } else {
    return {};
  }
}

/// Adds an element for each row of the x, which have a further first axis: all elements at once,
/// when there is room for them. (rows,...)
template <class Q, class... X>
  requires(detail::is_queue<Q>)
constexpr Effect enqueue_many(const Resource<Q>& queue, const X&... x) {
  constexpr bool fits = detail::fit_many_items<typename Q::items, X...>;
  constexpr bool few = sizeof...(X) < static_cast<std::size_t>(max_arity);
  (void)sizeof(
      detail::requirement<"enqueue_many(queue, x...): there must be an x for each item of the "
                          "queue, of its element type and shape behind a first axis of rows",
                          fits>);
  static_assert(fits,
                "enqueue_many(queue, x...): there must be an x for each item of the queue, of its "
                "element type and shape behind a first axis of rows");
  static_assert(few, "enqueue_many(queue, x...): seven items at most");
  if constexpr (fits && few) {
    constexpr bool room = ((X::shape::dims.extent[0] <= Q::capacity) && ...);
    static_assert(room, "enqueue_many(queue, x...): more rows than the queue's capacity");
    return typeflow::apply(ops::Enqueue<Q, true>{}, queue, x...);
  } else {
    return {};
  }
}

/// Takes an element, when there is one: its item, or a std::tuple of several. It comes after the
/// effect `first`, if one is given, as all operations below do. Behind the items are,
/// for each with at_most(n), the lengths of its axes that vary. The run fails with OutOfRange if
/// the queue is closed and empty.
template <class Q>
  requires(detail::is_queue<Q>)
constexpr auto dequeue(const Resource<Q>& queue, const Effect& first = {},
                       std::source_location at = std::source_location::current()) {
  return detail::dequeue<Q, detail::Taking::one, 1>(queue, first, at);
}
/// Takes N elements, when they are there, with a first axis of N. A closed queue with fewer is
/// OutOfRange.
template <std::int64_t N, class Q>
  requires(detail::is_queue<Q>)
constexpr auto dequeue_many(const Resource<Q>& queue, const Effect& first = {},
                            std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::fits_batch<Q>(N);
  (void)sizeof(
      detail::requirement<"dequeue_many<n>(queue): n must be at least 1, and at most the capacity "
                          "less min_after_dequeue, or the dequeue would wait for ever",
                          fits>);
  static_assert(fits,
                "dequeue_many<n>(queue): n must be at least 1, and at most the capacity less "
                "min_after_dequeue, or the dequeue would wait for ever");
  return detail::dequeue<Q, detail::Taking::many, N>(queue, first, at);
}
/// The same, and the rest of a closed queue. The last result is the number of elements; the rows
/// behind them are zeros. OutOfRange if there is none.
template <std::int64_t N, class Q>
  requires(detail::is_queue<Q>)
constexpr auto dequeue_up_to(const Resource<Q>& queue, const Effect& first = {},
                             std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::fits_batch<Q>(N);
  (void)sizeof(
      detail::requirement<"dequeue_up_to<n>(queue): n must be at least 1, and at most the capacity "
                          "less min_after_dequeue, or the dequeue would wait for ever",
                          fits>);
  static_assert(fits,
                "dequeue_up_to<n>(queue): n must be at least 1, and at most the capacity less "
                "min_after_dequeue, or the dequeue would wait for ever");
  return detail::dequeue<Q, detail::Taking::up_to, N>(queue, first, at);
}
/// The same as dequeue(queue), but the end is a value: the last result is true, or false and the
/// others are zeros.
template <class Q>
  requires(detail::is_queue<Q>)
constexpr auto dequeue_or_end(const Resource<Q>& queue, const Effect& first = {},
                              std::source_location at = std::source_location::current()) {
  return detail::dequeue<Q, detail::Taking::one_or_none, 1>(queue, first, at);
}

/// The number of elements in the queue when the run asks.
template <class Q>
  requires(detail::is_queue<Q>)
constexpr Expr<std::int64_t> size(const Resource<Q>& queue, const Effect& first = {},
                                  std::source_location at = std::source_location::current()) {
  detail::mark(at, queue);
  return detail::ordered_after(first, typeflow::apply(ops::QueueSize<Q>{}, queue));
}
template <class Q>
  requires(detail::is_queue<Q>)
constexpr Expr<bool> is_closed(const Resource<Q>& queue, const Effect& first = {},
                               std::source_location at = std::source_location::current()) {
  detail::mark(at, queue);
  return detail::ordered_after(first, typeflow::apply(ops::QueueIsClosed<Q>{}, queue));
}
/// No more elements: later enqueues fail with Cancelled. Dequeues take what is left, and then fail
/// with OutOfRange.
template <class Q>
  requires(detail::is_queue<Q>)
constexpr Effect close(const Resource<Q>& queue, CloseOptions options = {},
                       std::source_location at = std::source_location::current()) {
  detail::mark(at, queue);
  return typeflow::apply(ops::Close<Q>{{}, options.cancel_pending_enqueues ? 1u : 0u}, queue);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
