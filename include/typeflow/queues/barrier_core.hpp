// SPDX-License-Identifier: Apache-2.0
#pragma once

// A barrier without its types: elements as bytes. Barrier<...> (queues/barrier.hpp) adds the types.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/queues/item.hpp"
#include "typeflow/queues/item_strings.hpp"
#include "typeflow/queues/queue_core.hpp"
#include "typeflow/resources/waiting.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A barrier without its types.
class BarrierCore {
 public:
  BarrierCore(std::string_view path, std::int64_t capacity, std::span<const ItemLayout> items)
      : path_(path),
        capacity_(capacity),
        items_(items.begin(), items.end()),
        string_items_(string_items(items_)) {}
  BarrierCore(const BarrierCore&) = delete;
  BarrierCore& operator=(const BarrierCore&) = delete;

  /// The keys that have all of their items.
  std::int64_t ready_size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(ready_.size());
  }
  /// The keys that lack items.
  std::int64_t incomplete_size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(incomplete_.size());
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  /// No more keys: inserts of new ones fail with Cancelled. Keys that the barrier has may still get
  /// their items; cancel_pending_enqueues refuses these, too.
  void close(CloseOptions options = {}) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (options.cancel_pending_enqueues) {
        cancelled_ = true;
        incomplete_.clear();
      }
    }
    changed_.notify();
  }

  // For kernels and Barrier.

  /// Gives `count` keys their item `which`; false if there is no room for new keys now.
  bool try_insert(std::size_t which, const std::int64_t* keys, const void* values,
                  std::int64_t count) {
    {
      const std::lock_guard lock(mutex_);
      const std::int64_t fresh = check_keys(which, keys, count);
      if (fresh > capacity_) {
        throw Error(title(), "at most " + std::to_string(capacity_) + " new keys at once",
                    std::to_string(fresh));
      }
      if (fresh > capacity_ - static_cast<std::int64_t>(incomplete_.size() + ready_.size())) {
        return false;
      }
      const ItemLayout& item = items_[which];
      const auto* const from = static_cast<const std::byte*>(values);
      std::vector<ItemCharacters> strings(item.is_string ? static_cast<std::size_t>(count) : 0);
      for (std::size_t i = 0; i < strings.size(); ++i) {
        strings[i] = copy_characters(from + i * static_cast<std::size_t>(item.bytes),
                                     item.bytes / item.element_size);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        add(which, keys[i], from + i * item.bytes,
            item.is_string ? &strings[static_cast<std::size_t>(i)] : nullptr);
      }
    }
    changed_.notify();
    return true;
  }

  /// Takes `most` complete elements, or what is left of a closed barrier, if that is `least`. Those
  /// come first whose keys did. Returns the number, must_wait or at_end. `characters` takes over
  /// the bytes of strings.
  std::int64_t try_take(std::int64_t* indices, std::int64_t* keys, void* const* values,
                        std::int64_t least, std::int64_t most, Characters& characters) {
    std::int64_t count = most;
    {
      const std::lock_guard lock(mutex_);
      const auto ready = static_cast<std::int64_t>(ready_.size());
      if (closed_) {
        const std::int64_t possible = ready + static_cast<std::int64_t>(incomplete_.size());
        if (possible < least) return at_end;
        count = std::min(most, possible);
      }
      if (count > ready) return must_wait;
      if (string_items_ > 0) characters.reserve(static_cast<std::size_t>(count) * string_items_);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto first = ready_.begin();
        indices[i] = first->first;
        keys[i] = first->second.key;
        const std::byte* from = first->second.bytes.get();
        for (std::size_t k = 0; k < items_.size(); ++k) {
          const auto bytes = static_cast<std::size_t>(items_[k].bytes);
          std::memcpy(static_cast<std::byte*>(values[k]) + static_cast<std::size_t>(i) * bytes,
                      from, bytes);
          from += bytes;
        }
        for (ItemCharacters& strings : first->second.strings) hand_over(strings, characters);
        ready_.erase(first);
      }
    }
    changed_.notify();
    return count;
  }
  static constexpr std::int64_t must_wait = QueueCore::must_wait;
  static constexpr std::int64_t at_end = QueueCore::at_end;
  [[noreturn]] void fail_at_end(std::int64_t wanted) const {
    throw OutOfRange(title(), std::to_string(wanted) + " complete elements",
                     "a closed barrier with " + std::to_string(ready_size()));
  }
  Waiters& waiters() { return changed_; }

 private:
  struct Element {
    std::int64_t key;
    std::int64_t index;       ///< of the key, in the order in which keys came
    std::uint32_t items = 0;  ///< bit k: item k is there
    std::unique_ptr<std::byte[]> bytes;
    std::vector<ItemCharacters> strings;  ///< of its items of strings, as they came
  };

  std::string title() const { return "barrier '" + path_ + "'"; }

  /// Checks keys before anything changes. Returns how many are new.
  std::int64_t check_keys(std::size_t which, const std::int64_t* keys, std::int64_t count) const {
    if (cancelled_) throw Cancelled(title(), "is closed, so nothing can be inserted");
    std::vector<std::int64_t> sorted(keys, keys + count);
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) fail_twice(which, *twice);
    std::int64_t fresh = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto known = incomplete_.find(keys[i]);
      if (known == incomplete_.end()) {
        if (closed_) {
          throw Cancelled(title(), "is closed, so key " + std::to_string(keys[i]) +
                                       ", which it does not have, can't be inserted");
        }
        ++fresh;
      } else if ((known->second.items >> which & 1u) != 0) {
        fail_twice(which, keys[i]);
      }
    }
    return fresh;
  }
  [[noreturn]] void fail_twice(std::size_t which, std::int64_t key) const {
    throw Error(title(),
                "item " + std::to_string(which) + " of key " + std::to_string(key) + " once",
                "it twice");
  }

  /// Takes over `strings`, the bytes of an item of strings; else it is null.
  void add(std::size_t which, std::int64_t key, const std::byte* from, ItemCharacters* strings) {
    auto found = incomplete_.find(key);
    if (found == incomplete_.end()) {
      std::size_t bytes = 0;
      for (const ItemLayout& item : items_) bytes += static_cast<std::size_t>(item.bytes);
      Element fresh{key, next_index_, 0, std::unique_ptr<std::byte[]>(new std::byte[bytes]), {}};
      fresh.strings.reserve(string_items_);
      found = incomplete_.emplace(key, std::move(fresh)).first;
      ++next_index_;
    }
    Element& element = found->second;
    std::size_t offset = 0;
    for (std::size_t k = 0; k < which; ++k) offset += static_cast<std::size_t>(items_[k].bytes);
    const ItemLayout& item = items_[which];
    std::byte* const to = element.bytes.get() + offset;
    std::memcpy(to, from, static_cast<std::size_t>(item.bytes));
    if (strings != nullptr) {
      element.strings.push_back(std::move(*strings));
      refer_to(element.strings.back().get(), to, item.bytes / item.element_size);
    }
    element.items |= 1u << which;
    if (element.items + 1u != 1u << items_.size()) return;
    const std::int64_t index = element.index;
    ready_.emplace(index, std::move(element));
    incomplete_.erase(found);
  }

  const std::string path_;
  const std::int64_t capacity_;
  const std::vector<ItemLayout> items_;
  const std::size_t string_items_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  bool cancelled_ = false;
  std::int64_t next_index_ = 0;
  std::unordered_map<std::int64_t, Element> incomplete_;  // by key
  std::map<std::int64_t, Element> ready_;                 // by index
  Waiters changed_;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
