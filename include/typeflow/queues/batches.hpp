// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batches from a queue for models whose first axis is tf::batch. The last batch may be smaller.
//
//   auto batches = tf::batches<"x", "y">(queue, 32);   // placeholder<float, tf::batch, 784>(g,
//   "x") while (const auto loss = batches.run<"loss">(session)) ...
//
// Sizes of symbols decide the memory of a run, so they are known before its first step. That is why
// elements are taken before the run, and not by one of its operations.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/run_stop.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/core/waiting.hpp"
#include "typeflow/queues/kernels.hpp"
#include "typeflow/queues/queue.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Takes elements of a queue and feeds them to placeholders, one for each item, then one for each
/// item's lengths if axes of it vary. An object belongs to one thread; several may share a queue.
/// The queue must outlive it.
template <class Q, Text... Names>
class QueueBatches {
  using Items = typename Q::items;
  static constexpr std::size_t items = Q::item_count;
  static constexpr std::size_t lengths = static_cast<std::size_t>(detail::ItemList<Items>::lengths);
  static_assert(sizeof...(Names) == items + lengths,
                "batches<name...>(queue, n): there must be a name for each item of the queue, then "
                "one for the lengths of each item with at_most(n)");

 public:
  /// Error unless n is from 1 to the capacity less min_after_dequeue.
  QueueBatches(Q& queue, std::int64_t n, std::stop_token stop)
      : queue_(queue), n_(n), stop_(std::move(stop)) {
    if (n < 1 || n > Q::most_at_once) {
      throw Error("batches", "from 1 to " + std::to_string(Q::most_at_once) + " elements",
                  std::to_string(n));
    }
    allocate(std::make_index_sequence<items>{});
  }

  /// Takes up to n elements and runs the session with them: session.run<Fetches...>(arguments...,
  /// a feed for each name). Returns the results as a std::optional, or a bool if there are none. It
  /// is empty, or false, at the end: the queue is closed and has no element.
  ///
  /// It waits until there are n elements, or the queue is closed. Throws Cancelled if a stop is
  /// requested meanwhile. Limits among the arguments count from the run's first step.
  ///
  /// If the run throws, the elements stay here, and the next run gets them again.
  template <Text... Fetches, class Session, class... A>
  auto run(Session& session, const A&... arguments) {
    constexpr auto all = std::make_index_sequence<sizeof...(Names)>{};
    const auto call = [&] { return run_now<Fetches...>(session, all, arguments...); };
    using Given = decltype(call());
    if constexpr (std::is_void_v<Given>) {
      if (!take()) return false;
      call();
      kept_ = false;
      return true;
    } else {
      std::optional<Given> results;
      if (take()) {
        results.emplace(call());
        kept_ = false;
      }
      return results;
    }
  }

  /// The elements of the last batch.
  std::int64_t size() const { return size_; }
  /// Whether the last run has failed, so that the next one gets its elements again.
  bool is_kept() const { return kept_; }
  /// Drops the elements of a run that has failed. Returns their number.
  std::int64_t discard() { return std::exchange(kept_, false) ? size_ : 0; }

 private:
  template <std::size_t I>
  using ItemAt = std::tuple_element_t<I, Items>;

  template <std::size_t... I>
  void allocate(std::index_sequence<I...>) {
    const auto rows = static_cast<std::size_t>(n_);
    (allocate(std::get<I>(elements_), rows * static_cast<std::size_t>(ItemAt<I>::size)), ...);
    (allocate(lengths_[I], rows * static_cast<std::size_t>(ItemAt<I>::varying_axes)), ...);
    ((targets_[I] = {std::get<I>(elements_).get(), lengths_[I].get()}), ...);
  }

  template <class T>
  static void allocate(std::unique_ptr<T[]>& memory, std::size_t count) {
    memory = std::make_unique<T[]>(count);
  }

  /// Returns false at the end.
  bool take() {
    if (kept_) return true;
    characters_->clear();
    std::int64_t count = Q::must_wait;
    const auto attempt = [&] {
      count = queue_.try_dequeue(targets_.data(), 1, n_, *characters_);
      return count != Q::must_wait;
    };
    RunStop waiting;
    const std::stop_callback on_stop(stop_, [&] { waiting.stop(StopReason::cancelled); });
    try {
      wait_in_thread(queue_.waiters_for_elements(), attempt, &waiting);
    } catch (const RunStopped&) {
      throw Cancelled("batches", "a stop was requested while they waited for elements");
    }
    kept_ = count > 0;
    size_ = kept_ ? count : 0;
    return kept_;
  }

  template <Text... Fetches, class Session, std::size_t... K, class... A>
  auto run_now(Session& session, std::index_sequence<K...>, const A&... arguments) {
    return session.template run<Fetches...>(arguments..., feed_of<K, Names>()...);
  }
  template <std::size_t K, Text Name>
  auto feed_of() const {
    if constexpr (K < items) {
      using I = ItemAt<K>;
      return made<Name>(std::get<K>(elements_).get(), I::type.dims);
    } else {
      constexpr std::size_t item = with_lengths(K - items);
      constexpr int axes = ItemAt<item>::varying_axes;
      return made<Name>(static_cast<const std::int64_t*>(lengths_[item].get()),
                        axes > 1 ? Dims{1, {axes}} : Dims{0, {}});
    }
  }
  /// The item that has lengths number k.
  static constexpr std::size_t with_lengths(std::size_t k) {
    std::size_t item = 0;
    for (;; ++item) {
      if (!detail::ItemList<Items>::varies[item]) continue;
      if (k == 0) return item;
      --k;
    }
  }
  template <Text Name, class T>
  auto made(const T* data, const Dims& dims) const {
    Feed<Name, std::remove_const_t<T>> f;
    f.values = data;
    f.rank = dims.rank + 1;
    f.extents[0] = f.count = size_;
    for (int i = 0; i < dims.rank; ++i) {
      f.extents[static_cast<std::size_t>(i) + 1] = dims.extent[i];
      f.count *= dims.extent[i];
    }
    return f;
  }

  template <class List>
  struct Memory;
  template <class... I>
  struct Memory<std::tuple<I...>> {
    using type = std::tuple<std::unique_ptr<typename I::element[]>...>;
  };

  Q& queue_;
  const std::int64_t n_;
  const std::stop_token stop_;
  typename Memory<Items>::type elements_;
  std::array<std::unique_ptr<std::int64_t[]>, items> lengths_;
  std::array<detail::ItemTarget, items> targets_{};
  std::unique_ptr<Characters> characters_ = std::make_unique<Characters>();  // of elements_
  std::int64_t size_ = 0;
  bool kept_ = false;
};

/// Batches of n elements of a queue, and the rest at its end, for placeholders of these names. A
/// stop ends the wait for elements.
template <Text... Names, auto Kind, class... Items>
auto batches(Queue<Kind, Items...>& queue, std::int64_t n, std::stop_token stop = {}) {
  return QueueBatches<Queue<Kind, Items...>, Names...>(queue, n, std::move(stop));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
