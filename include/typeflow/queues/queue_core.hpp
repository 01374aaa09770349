// SPDX-License-Identifier: Apache-2.0
#pragma once

// A queue without its types: elements as bytes, in memory that is allocated once. Only the bytes of
// strings are allocated by each enqueue. Queue<...> (queues/queue.hpp) adds the types.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/queues/item.hpp"
#include "typeflow/queues/item_strings.hpp"
#include "typeflow/resources/waiting.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// What close(queue, options) does besides.
struct CloseOptions {
  /// Enqueues that wait fail, too. Otherwise they are done when there is room.
  bool cancel_pending_enqueues = false;
};

namespace detail {

enum class QueueOrder : std::uint8_t { fifo, shuffle, priority };

struct QueueSettings {
  QueueOrder order;
  std::int64_t capacity;
  std::int64_t min_after_dequeue;
  std::uint64_t seed;
};

/// An item of one or many elements, which lie one after the other.
struct ItemSource {
  const void* data;
  const std::int64_t* extents;  ///< of one element's item; read where axes vary
};
struct ItemTarget {
  void* data;             ///< padded items
  std::int64_t* lengths;  ///< of the axes that vary; null if none does
};

/// Who waits for room in a queue: a step of a run, or a thread outside of runs.
struct Enqueuer {
  const void* who = nullptr;  ///< null: it does not wait
  std::int32_t step = -1;
  RunScope* run = nullptr;
};

class QueueCore {
 public:
  QueueCore(std::string_view path, const QueueSettings& settings,
            std::span<const ItemLayout> items);
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  /// The elements in the queue.
  std::int64_t size() const;
  bool is_closed() const;
  /// No more elements: later enqueues fail with Cancelled. Dequeues take what is left, and then
  /// fail with OutOfRange. Closing a closed queue cancels the enqueues that wait, if it says so.
  void close(CloseOptions options = {});

  // For kernels and Queue. The pointers have an entry for each item.

  /// Puts `count` elements into the queue, or none and returns false: there is no room now. Throws
  /// Cancelled if the queue is closed, unless this enqueuer waited before.
  bool try_enqueue(const ItemSource* items, std::int64_t count, const Enqueuer& by);
  /// Takes `most` elements, or what is left of a closed queue, if that is `least`. Returns their
  /// number, or must_wait, or at_end. `characters` takes over the bytes of strings.
  std::int64_t try_dequeue(const ItemTarget* items, std::int64_t least, std::int64_t most,
                           Characters& characters);
  static constexpr std::int64_t must_wait = -1;
  static constexpr std::int64_t at_end = -2;
  /// Sets rows that no element filled to zero, or to empty strings.
  void clear_rows(const ItemTarget* items, std::int64_t first, std::int64_t end) const;
  /// Forgets that it waits.
  void withdraw(const void* who) noexcept;
  /// Throws OutOfRange.
  [[noreturn]] void fail_at_end(std::int64_t wanted) const;

  Waiters& waiters_for_room() { return room_; }
  Waiters& waiters_for_elements() { return elements_; }

 private:
  struct Pending {
    const void* who;
    std::int32_t step;
    std::int64_t count;
  };
  struct Entry {  // of a queue by priority
    std::int64_t priority;
    std::uint64_t number;  // elements of one priority leave in the order in which they came
    std::int32_t slot;
  };

  std::string title() const;
  std::byte* at(std::size_t item, std::int64_t slot) const {
    return memory_[item].get() + slot * items_[item].bytes;
  }
  void check_extents(const ItemSource* sources) const;
  bool is_pending(const Enqueuer& by) const;
  void remove_pending(const Enqueuer& by) noexcept;
  /// An enqueue that waits has room now, and so will soon be done.
  bool expects_elements() const;
  std::int64_t slot_for(std::int64_t priority);
  std::int64_t next_slot();
  /// The bytes of all strings that are enqueued: by element and item of strings.
  std::vector<ItemCharacters> copy_strings(const ItemSource* sources, std::int64_t count) const;
  /// Takes over the element's part of copy_strings.
  void store(const ItemSource* sources, std::int64_t element, ItemCharacters* strings);
  void load(const ItemTarget* targets, std::int64_t element, Characters& characters);
  static void release_run(void* queue, const RunScope& run) noexcept {
    static_cast<QueueCore*>(queue)->withdraw(&run);
  }

  const std::string path_;
  const QueueSettings settings_;
  const std::vector<ItemLayout> items_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;           // by item
  std::vector<std::unique_ptr<std::int64_t[]>> item_lengths_;  // by item that varies
  std::vector<std::unique_ptr<ItemCharacters[]>> strings_;     // by item of strings, and slot
  const std::size_t string_items_;

  mutable std::mutex mutex_;
  std::int64_t size_ = 0;
  bool closed_ = false;
  std::int64_t head_ = 0;            // fifo: the first element's slot
  std::vector<std::int32_t> slots_;  // others: those of elements (shuffle), then free ones
  std::vector<Entry> heap_;          // priority
  std::uint64_t number_ = 0;         // priority: of the next element; shuffle: of the next draw
  std::vector<Pending> pending_;
  Waiters room_;
  Waiters elements_;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/queues/queue_core.ipp"
#endif
