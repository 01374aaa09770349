// SPDX-License-Identifier: Apache-2.0
#pragma once

// Queues, as objects of C++ threads. Their operations in models are in queues/operations.hpp.
//
//   using Examples = tf::Queue<tf::Fifo{.capacity = 32}, tf::Item<float, 28, 28>, tf::Item<int>>;

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/queues/item.hpp"
#include "typeflow/queues/queue_core.hpp"
#include "typeflow/runtime/array.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Elements leave a queue in the order in which they came.
struct Fifo {
  std::int64_t capacity;  ///< the most elements; enqueues wait while there is no room
};

/// A dequeue takes any element, each with the same probability.
struct Shuffle {
  std::int64_t capacity;
  /// Dequeues wait, rather than leave fewer elements than these, until the queue is closed. The
  /// more, the better are elements mixed.
  std::int64_t min_after_dequeue = 0;
  std::uint64_t seed = 0;
};

/// An element has a priority besides its items, a std::int64_t. Elements with the least priority
/// leave first, and of those the one that came first.
struct Priority {
  std::int64_t capacity;
};

namespace detail {

template <class K>
constexpr QueueSettings settings_of(const K& kind) {
  if constexpr (std::is_same_v<K, Shuffle>) {
    return {QueueOrder::shuffle, kind.capacity, kind.min_after_dequeue, kind.seed};
  } else {
    const bool fifo = std::is_same_v<K, Fifo>;
    return {fifo ? QueueOrder::fifo : QueueOrder::priority, kind.capacity, 0, 0};
  }
}
template <class K>
inline constexpr bool is_queue_kind =
    std::is_same_v<K, Fifo> || std::is_same_v<K, Shuffle> || std::is_same_v<K, Priority>;

/// All items of a queue's elements, a priority included.
template <class Kind, class... Items>
struct ItemsOf {
  using type = std::tuple<Items...>;
};
template <class... Items>
struct ItemsOf<Priority, Items...> {
  using type = std::tuple<Item<std::int64_t>, Items...>;
};

/// "queue of 32 (first in, first out): float [28, 28], int32 []"
template <auto Kind, class... Items>
struct QueueText {
  constexpr Message operator()() const {
    constexpr QueueSettings settings = settings_of(Kind);
    Message m{};
    switch (settings.order) {
      case QueueOrder::fifo:
        m << "Fifo ";
        break;
      case QueueOrder::shuffle:
        m << "Shuffle of seed " << static_cast<std::int64_t>(settings.seed) << ", at least "
          << settings.min_after_dequeue << ", at most ";
        break;
      case QueueOrder::priority:
        m << "Priority ";
        break;
    }
    m << settings.capacity << ": ";
    print_items<Items...>(m);
    return m;
  }
};

// Items of one element, or of many, as values of C++.

/// The element of a value that owns its bytes.
template <class T>
using OwnedElement = std::conditional_t<is_string<T>, std::string, T>;
template <class I>
using ItemValue =
    std::conditional_t<I::rank == 0, OwnedElement<typename I::element>,
                       Array<OwnedElement<typename I::element>, static_cast<std::size_t>(I::rank)>>;
/// What `pop` gives besides: the lengths of the axes that vary.
template <class I>
using ItemLengths = std::array<std::int64_t, static_cast<std::size_t>(I::varying_axes)>;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t R>
inline constexpr bool is_array<Array<T, R>> = true;

/// A container of texts that are not std::string_views.
template <class X>
concept Texts = std::ranges::contiguous_range<const X> &&
                !std::is_same_v<std::ranges::range_value_t<const X>, std::string_view> &&
                std::is_convertible_v<std::ranges::range_reference_t<const X>, std::string_view>;

/// What is pushed for an item, by pointer. It must live as long.
template <class I>
struct GivenItem {
  using T = typename I::element;
  T number{};
  std::vector<std::string_view> texts{};  // views of what is pushed, if that has none
  std::array<std::int64_t, static_cast<std::size_t>(I::rank)> extents{};
  const void* data = nullptr;

  template <class X>
  GivenItem(const X& x, std::size_t index) {
    if constexpr (I::rank == 0) {
      static_assert(std::is_convertible_v<X, T>,
                    "push(x...): the x of an item without axes must be a number of its type, or a "
                    "text");
      number = static_cast<T>(x);
      data = &number;
    } else {
      constexpr bool copies = is_string<T> && Texts<X>;
      constexpr bool fits = copies || requires { std::span<const T>(x); };
      static_assert(fits,
                    "push(x...): the x of an item with axes must be a container of its elements, "
                    "one after the other");
      static_assert(I::varying == 0 || I::rank == 1 || is_array<X>,
                    "push(x...): the x of an item with at_most(n) and several axes must be a "
                    "tf::Array, which has a shape");
      if constexpr (fits) {
        const std::span<const T> elements = [&] {
          if constexpr (copies) {
            texts.assign(std::ranges::begin(x), std::ranges::end(x));
            return std::span<const T>(texts);
          } else {
            return std::span<const T>(x);
          }
        }();
        for (std::size_t i = 0; i < extents.size(); ++i) {
          if constexpr (is_array<X>) {
            extents[i] = static_cast<std::int64_t>(x.shape(i));
          } else {
            extents[i] =
                I::rank == 1 ? static_cast<std::int64_t>(elements.size()) : I::type.dims.extent[i];
          }
        }
        if (I::varying == 0 && static_cast<std::int64_t>(elements.size()) != I::size) {
          throw Error("push, item " + std::to_string(index), std::to_string(I::size) + " elements",
                      std::to_string(elements.size()));
        }
        data = elements.data();
      }
    }
  }
};

/// An item's value before it is popped.
template <class I>
ItemValue<I> empty_value() {
  if constexpr (I::rank == 0) {
    return {};
  } else {
    std::array<std::size_t, static_cast<std::size_t>(I::rank)> shape{};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      shape[i] = static_cast<std::size_t>(I::type.dims.extent[i]);
    }
    return ItemValue<I>(shape);
  }
}

/// Memory for a popped item, and the item's value.
template <class I>
class PoppedItem {
 public:
  void* data() {
    if constexpr (I::rank == 0) {
      return &value_;
    } else {
      return value_.data();
    }
  }
  ItemValue<I> value() { return std::move(value_); }

 private:
  ItemValue<I> value_ = empty_value<I>();
};
/// Strings are views of bytes that the caller keeps until it has called value().
template <class I>
  requires(is_string<typename I::element>)
class PoppedItem<I> {
 public:
  void* data() { return views_.data(); }
  ItemValue<I> value() const {
    if constexpr (I::rank == 0) {
      return std::string(views_[0]);
    } else {
      ItemValue<I> out = empty_value<I>();
      std::copy(views_.begin(), views_.end(), out.begin());
      return out;
    }
  }

 private:
  std::vector<std::string_view> views_ =
      std::vector<std::string_view>(static_cast<std::size_t>(I::size));
};

/// The first, if there is no other; else all.
template <class... T>
auto one_or_all(std::tuple<T...>&& all) {
  if constexpr (sizeof...(T) == 1) {
    return std::get<0>(std::move(all));
  } else {
    return std::move(all);
  }
}

}  // namespace detail

/// A queue of elements, each of the same items. Kind is a Fifo, Shuffle or Priority. Threads may
/// call all members at the same time. A model declares one by queue<Q>(g, name), and
/// variables.resource<Q>(name) is that of a store.
template <auto Kind, class... Items>
class Queue : public detail::QueueCore {
  using KindType = std::remove_cvref_t<decltype(Kind)>;
  static_assert(detail::is_queue_kind<KindType>,
                "Queue<Kind, Item...>: the kind must be Fifo{n}, Shuffle{n, min, seed} or "
                "Priority{n}");
  static_assert((detail::is_item<Items> && ...) && sizeof...(Items) > 0,
                "Queue<Kind, Item...>: elements must have items, such as Item<float, 28, 28>");
  static constexpr detail::QueueSettings settings = detail::settings_of(Kind);
  static_assert(settings.capacity > 0 &&
                    settings.capacity <= std::numeric_limits<std::int32_t>::max(),
                "Queue<Kind, Item...>: the capacity must be at least 1, and less than 2^31");
  static_assert(settings.min_after_dequeue >= 0 && settings.min_after_dequeue < settings.capacity,
                "Queue<Shuffle{...}, Item...>: min_after_dequeue must be less than the capacity");

 public:
  static constexpr std::string_view name =
      detail::MessageText<detail::QueueText<Kind, Items...>>::view;
  static constexpr bool is_unordered = true;
  /// The items of an element; the first one of a Priority queue's is the priority.
  using items = typename detail::ItemsOf<KindType, Items...>::type;
  static constexpr std::size_t item_count = std::tuple_size_v<items>;
  static constexpr std::int64_t capacity = settings.capacity;
  /// The most elements that one dequeue can take.
  static constexpr std::int64_t most_at_once = settings.capacity - settings.min_after_dequeue;

  explicit Queue(std::string_view path = "")
      : QueueCore(path, settings, layouts(static_cast<items*>(nullptr))) {}

  /// Adds an element, when there is room. x: an item each, as a number, a text or a container,
  /// which are copied. Throws Cancelled if the queue is closed.
  template <class... X>
  void push(const X&... x) {
    enqueue<true>(x...);
  }
  /// Adds an element; false if there is no room now.
  template <class... X>
  [[nodiscard]] bool try_push(const X&... x) {
    return enqueue<false>(x...);
  }

  /// Takes an element, when there is one: its item, or a std::tuple of several items. A string is a
  /// std::string. Behind the
  /// items are, for each with at_most(n), the lengths of its axes that vary. Throws OutOfRange if
  /// the queue is closed and empty.
  auto pop() {
    auto element = pop_or_end();
    if (!element) fail_at_end(1);
    return std::move(*element);
  }
  /// The same as a std::optional: empty after the end.
  auto pop_or_end() { return dequeue<true>(static_cast<items*>(nullptr)); }
  /// Takes an element, if there is one now.
  auto try_pop() { return dequeue<false>(static_cast<items*>(nullptr)); }

  /// Takes n elements, when they are there, or the rest of a closed queue, which may be none. The
  /// items of all, one after the other, are a std::vector for each item; lengths follow as above.
  auto pop_up_to(std::int64_t n) {
    return dequeue_many(n, static_cast<items*>(nullptr), std::make_index_sequence<item_count>{});
  }

 private:
  template <class... I>
  static std::span<const detail::ItemLayout> layouts(std::tuple<I...>*) {
    static constexpr detail::ItemLayout all[] = {detail::layout_of_item<I>...};
    return all;
  }

  template <bool Waits, class... X>
  bool enqueue(const X&... x) {
    static_assert(sizeof...(X) == item_count, "push(x...): there must be an x for each item");
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const std::tuple given{detail::GivenItem<std::tuple_element_t<I, items>>(x, I)...};
      const detail::ItemSource sources[] = {source(std::get<I>(given))...};
      if constexpr (!Waits) {
        return try_enqueue(sources, 1, {});
      } else {
        if (try_enqueue(sources, 1, {})) return true;
        const Withdrawal at_last{*this};
        wait_in_thread(waiters_for_room(), [&] { return try_enqueue(sources, 1, {&at_last}); });
        return true;
      }
    }(std::index_sequence_for<X...>{});
  }
  template <class Given>
  static detail::ItemSource source(const Given& given) {
    // (The number of a copy, not of what was copied.)
    return {given.extents.empty() ? &given.number : given.data, given.extents.data()};
  }
  struct Withdrawal {
    QueueCore& queue;
    ~Withdrawal() { queue.withdraw(this); }
  };

  template <bool Waits, class... I>
  auto dequeue(std::tuple<I...>*) {
    Characters characters;  // of strings, until they are copied
    std::tuple<detail::PoppedItem<I>...> values;
    std::tuple<detail::ItemLengths<I>...> lengths;
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      const detail::ItemTarget targets[] = {
          {std::get<K>(values).data(), std::get<K>(lengths).data()}...};
      const std::int64_t count = take<Waits>(targets, 1, 1, characters);
      auto all = std::tuple_cat(std::tuple<detail::ItemValue<I>...>(std::get<K>(values).value()...),
                                given_lengths<I>(std::get<K>(lengths))...);
      using Element = decltype(detail::one_or_all(std::move(all)));
      return count == 1 ? std::optional<Element>(detail::one_or_all(std::move(all)))
                        : std::optional<Element>();
    }(std::index_sequence_for<I...>{});
  }
  template <class... I, std::size_t... K>
  auto dequeue_many(std::int64_t n, std::tuple<I...>*, std::index_sequence<K...>) {
    if (n < 1 || n > most_at_once) {
      throw Error("pop_up_to", "from 1 to " + std::to_string(most_at_once) + " elements",
                  std::to_string(n));
    }
    const auto rows = static_cast<std::size_t>(n);
    Characters characters;  // of strings, until they are copied
    // (A std::vector<bool> has no elements in memory.)
    std::tuple<std::vector<std::conditional_t<std::is_same_v<typename I::element, bool>,
                                              unsigned char, typename I::element>>...>
        values;
    std::tuple<std::vector<ItemLengths<I>>...> lengths;
    (std::get<K>(values).resize(rows * static_cast<std::size_t>(I::size)), ...);
    (std::get<K>(lengths).resize(rows), ...);
    const detail::ItemTarget targets[] = {
        {std::get<K>(values).data(), std::get<K>(lengths).data()->data()}...};
    const std::int64_t count = take<true>(targets, 1, n, characters);
    const auto taken = static_cast<std::size_t>(count < 0 ? 0 : count);
    (std::get<K>(values).resize(taken * static_cast<std::size_t>(I::size)), ...);
    (std::get<K>(lengths).resize(taken), ...);
    return detail::one_or_all(std::tuple_cat(std::tuple(owned(std::move(std::get<K>(values)))...),
                                             given_lengths<I>(std::move(std::get<K>(lengths)))...));
  }
  template <class V>
  static auto owned(V&& values) {
    if constexpr (std::is_same_v<std::remove_cvref_t<V>, std::vector<std::string_view>>) {
      return std::vector<std::string>(values.begin(), values.end());
    } else {
      return std::remove_cvref_t<V>(std::forward<V>(values));
    }
  }
  template <class I>
  using ItemLengths = detail::ItemLengths<I>;

  /// Returns the number of elements, at_end, or must_wait if it does not wait.
  template <bool Waits>
  std::int64_t take(const detail::ItemTarget* targets, std::int64_t least, std::int64_t most,
                    Characters& characters) {
    std::int64_t count = try_dequeue(targets, least, most, characters);
    if (!Waits || count != must_wait) return count;
    wait_in_thread(waiters_for_elements(), [&] {
      count = try_dequeue(targets, least, most, characters);
      return count != must_wait;
    });
    return count;
  }

  /// The lengths, if axes of the item vary.
  template <class I, class L>
  static auto given_lengths(L&& lengths) {
    if constexpr (I::varying_axes == 0) {
      return std::tuple<>();
    } else {
      return std::tuple<std::remove_cvref_t<L>>(std::forward<L>(lengths));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA
