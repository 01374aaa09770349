// SPDX-License-Identifier: Apache-2.0
#pragma once

// Barriers: elements whose items come at different times, from different places. TensorFlow's
// Barrier, with keys that are numbers.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "typeflow/queues/barrier_core.hpp"
#include "typeflow/queues/operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <std::int64_t Capacity, class... Items>
struct BarrierText {
  constexpr Message operator()() const {
    Message m{};
    m << "Barrier " << Capacity << ": ";
    print_items<Items...>(m);
    return m;
  }
};

}  // namespace detail

/// A barrier of elements, each with a key, a std::int64_t, and these items. An element is complete
/// when all of its items have been inserted. At most Capacity keys are in the barrier at a time;
/// inserts of new keys wait while there is no room. Threads may call all members at the same time.
template <std::int64_t Capacity, class... Items>
class Barrier : public detail::BarrierCore {
  static_assert(Capacity > 0, "Barrier<n, Item...>: the capacity must be at least 1");
  static_assert((detail::is_item<Items> && ...) && sizeof...(Items) > 0 && sizeof...(Items) < 14,
                "Barrier<n, Item...>: elements must have from one to 13 items");
  static_assert(((Items::varying == 0) && ...), "Barrier<n, Item...>: no axis can be at_most(n)");

 public:
  static constexpr std::string_view name =
      detail::MessageText<detail::BarrierText<Capacity, Items...>>::view;
  static constexpr bool is_unordered = true;
  using items = std::tuple<Items...>;
  static constexpr std::int64_t capacity = Capacity;

  explicit Barrier(std::string_view path = "") : BarrierCore(path, Capacity, layouts) {}

 private:
  static constexpr std::array<detail::ItemLayout, sizeof...(Items)> layouts{
      detail::layout_of_item<Items>...};
};

namespace detail {
template <class B>
inline constexpr bool is_barrier = false;
template <std::int64_t Capacity, class... Items>
inline constexpr bool is_barrier<Barrier<Capacity, Items...>> = true;
}  // namespace detail

namespace ops {

/// Inserts item I of several keys. Inputs: the barrier, keys, values; output: a token.
template <class B, std::size_t I>
struct BarrierInsert : resource_operation<B> {
  struct Text {
    constexpr Message operator()() const {
      Message m{};
      return m << "BarrierInsert " << static_cast<std::int64_t>(I) << " (" << B::name << ')';
    }
  };
  static constexpr std::string_view name = detail::MessageText<Text>::view;
  static constexpr int flops = 0;
  static constexpr bool may_wait = true;
  static constexpr bool takes_strings = true;
  static void compute(const BarrierInsert&, B& barrier, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor*, const KernelCall& call) {
    const auto* const keys = static_cast<const std::int64_t*>(in[0].data);
    const void* const values = in[1].data;
    const std::int64_t count = in[0].extents[0];
    wait_for(call, barrier.waiters(),
             [=, &barrier] { return barrier.try_insert(I, keys, values, count); });
  }
};

/// Takes complete elements. Input: the barrier; outputs: indices, keys, the items, and their number
/// if it may be less than N.
template <class B, bool UpTo, std::int64_t N>
struct BarrierTake : resource_operation<B> {
  using List = detail::ItemList<typename B::items>;
  struct Text {
    constexpr Message operator()() const {
      Message m{};
      return m << (UpTo ? "BarrierTakeUpTo " : "BarrierTake ") << N << " (" << B::name << ')';
    }
  };
  static constexpr std::string_view name = detail::MessageText<Text>::view;
  static constexpr int flops = 0;
  static constexpr bool may_wait = true;
  static constexpr std::size_t items = static_cast<std::size_t>(List::items);
  static constexpr int outputs = 2 + List::items + (UpTo ? 1 : 0);

  static constexpr auto infer(BarrierTake, const Type&) {
    std::array<Type, static_cast<std::size_t>(outputs)> out{};
    out[0] = out[1] = Type(DType::int64, Dims{1, {N}});
    const auto types = List::results(N);
    for (std::size_t i = 0; i < items; ++i) out[2 + i] = types[i];
    if (UpTo) out.back() = Type(DType::int64, Dims{0, {}});
    return out;
  }
  static void compute(const BarrierTake&, B& barrier, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor* out, const KernelCall& call) {
    struct Outputs {
      std::int64_t* indices;
      std::int64_t* keys;
      void* values[items];
      std::size_t row_bytes[items];
      std::int64_t* told;
    } to{};
    to.indices = static_cast<std::int64_t*>(out[0].data);
    to.keys = static_cast<std::int64_t*>(out[1].data);
    const auto types = List::results(N);
    for (std::size_t i = 0; i < items; ++i) {
      to.values[i] = out[2 + i].data;
      to.row_bytes[i] = static_cast<std::size_t>(out[2 + i].size() / N) *
                        static_cast<std::size_t>(size_of(types[i].dtype));
    }
    if (UpTo) to.told = static_cast<std::int64_t*>(out[2 + items].data);
    Characters* const characters = call.characters;
    wait_for(call, barrier.waiters(), [to, characters, &barrier] {
      constexpr std::int64_t least = UpTo ? 1 : N;
      const std::int64_t count =
          barrier.try_take(to.indices, to.keys, to.values, least, N, *characters);
      if (count == B::must_wait) return false;
      if (count == B::at_end) barrier.fail_at_end(least);
      if constexpr (UpTo) {
        *to.told = count;
        std::fill(to.indices + count, to.indices + N, 0);
        std::fill(to.keys + count, to.keys + N, 0);
        const auto rows = static_cast<std::size_t>(count);
        for (std::size_t i = 0; i < items; ++i) {
          std::memset(static_cast<std::byte*>(to.values[i]) + rows * to.row_bytes[i], 0,
                      (static_cast<std::size_t>(N) - rows) * to.row_bytes[i]);
        }
      }
      return true;
    });
  }
};

/// The number of complete elements, or of others.
template <class B, bool Ready>
struct BarrierSize : resource_operation<B> {
  static constexpr std::string_view name = Ready
                                               ? detail::operation_name<B, "BarrierReadySize">
                                               : detail::operation_name<B, "BarrierIncompleteSize">;
  static constexpr int flops = 0;
  static constexpr Type infer(BarrierSize, const Type&) { return {DType::int64, Dims{0, {}}}; }
  static void compute(const BarrierSize&, B& barrier, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor* out, const KernelCall&) {
    *static_cast<std::int64_t*>(out->data) =
        Ready ? barrier.ready_size() : barrier.incomplete_size();
  }
};

}  // namespace ops

/// Declares a barrier: barrier<tf::Barrier<100, tf::Item<float>, tf::Item<int>>>(g, "joined").
template <class B>
constexpr Resource<B> barrier(Graph& g, Label name,
                              std::source_location at = std::source_location::current()) {
  static_assert(detail::is_barrier<B>,
                "barrier<B>(g, name): B must be a tf::Barrier<n, Item<T, D...>...>");
  return resource<B>(g, name, at);
}

/// Inserts item I of the elements of these keys: (n), (n,...). To insert an item twice is an Error.
/// The run fails with Cancelled if the barrier is closed and lacks a key.
template <std::size_t I, class B, TypedExpr K, TypedExpr V>
  requires(detail::is_barrier<B>)
constexpr Effect insert_many(const Resource<B>& barrier, const K& keys, const V& values,
                             std::source_location at = std::source_location::current()) {
  constexpr bool fits = [] {
    if constexpr (I < std::tuple_size_v<typename B::items> && K::rank == 1 && V::rank > 0) {
      return std::is_same_v<typename K::element, std::int64_t> &&
             detail::fits_item<std::tuple_element_t<I, typename B::items>, V>(1) &&
             K::shape::dims.extent[0] == V::shape::dims.extent[0];
    } else {
      return false;
    }
  }();
  static_assert(
      fits,
      "insert_many<i>(barrier, keys, values): keys must be std::int64_t of shape (n), and "
      "values of the type and shape of item i behind a first axis of n");
  if constexpr (fits) {
    detail::mark(at, barrier);
    return typeflow::apply(ops::BarrierInsert<B, I>{}, barrier, keys, values);
  } else {
    return {};
  }
}

/// Takes N complete elements, when they are there, in the order in which their keys came: a
/// std::tuple of the keys' numbers in this order, the keys and the items, each with a first axis of
/// N. OutOfRange if the barrier is closed and fewer can become complete.
template <std::int64_t N, class B>
  requires(detail::is_barrier<B>)
constexpr auto take_many(const Resource<B>& barrier,
                         std::source_location at = std::source_location::current()) {
  static_assert(N >= 1 && N <= B::capacity,
                "take_many<n>(barrier): n must be at least 1, and at most the capacity");
  detail::mark(at, barrier);
  return typeflow::apply(ops::BarrierTake<B, false, N>{}, barrier);
}
/// The same, and the rest of a closed barrier. The last result is the number of elements; the rows
/// behind them are zeros.
template <std::int64_t N, class B>
  requires(detail::is_barrier<B>)
constexpr auto take_up_to(const Resource<B>& barrier,
                          std::source_location at = std::source_location::current()) {
  static_assert(N >= 1 && N <= B::capacity,
                "take_up_to<n>(barrier): n must be at least 1, and at most the capacity");
  detail::mark(at, barrier);
  return typeflow::apply(ops::BarrierTake<B, true, N>{}, barrier);
}
/// The number of complete elements.
template <class B>
  requires(detail::is_barrier<B>)
constexpr Expr<std::int64_t> ready_size(const Resource<B>& barrier,
                                        std::source_location at = std::source_location::current()) {
  detail::mark(at, barrier);
  return typeflow::apply(ops::BarrierSize<B, true>{}, barrier);
}
/// The number of elements that lack items.
template <class B>
  requires(detail::is_barrier<B>)
constexpr Expr<std::int64_t> incomplete_size(
    const Resource<B>& barrier, std::source_location at = std::source_location::current()) {
  detail::mark(at, barrier);
  return typeflow::apply(ops::BarrierSize<B, false>{}, barrier);
}
/// No more keys. Keys that are there may still get their items, unless cancel_pending_enqueues.
template <class B>
  requires(detail::is_barrier<B>)
constexpr Effect close(const Resource<B>& barrier, CloseOptions options = {},
                       std::source_location at = std::source_location::current()) {
  detail::mark(at, barrier);
  return typeflow::apply(ops::Close<B>{{}, options.cancel_pending_enqueues ? 1u : 0u}, barrier);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
