// SPDX-License-Identifier: Apache-2.0
#pragma once

// A list to which threads add values that others find without a lock.

#include <atomic>
#include <mutex>
#include <utility>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

template <class T>
class GrowingList {
 public:
  GrowingList() = default;
  GrowingList(const GrowingList&) = delete;
  GrowingList& operator=(const GrowingList&) = delete;
  TYPEFLOW_COLD ~GrowingList() {
    const Entry* entry = first_.load();
    while (entry != nullptr) delete std::exchange(entry, entry->next);
  }

  /// The value for which is(value) holds. If there is none, make() makes it, under a lock.
  template <class Is, class Make>
  const T& get(const Is& is, const Make& make) {
    if (const T* const known = find(is)) return *known;
    return add(is, make);
  }

  template <class F>
  void each(const F& f) const {
    for (const Entry* entry = first_.load(); entry != nullptr; entry = entry->next) f(entry->value);
  }

 private:
  struct Entry {
    T value;
    const Entry* next;
  };
  template <class Is, class Make>
  TYPEFLOW_COLD const T& add(const Is& is, const Make& make) {
    const std::lock_guard lock(mutex_);
    const Entry* const first = first_.load(std::memory_order_relaxed);
    for (const Entry* entry = first; entry != nullptr; entry = entry->next) {
      if (is(entry->value)) return entry->value;
    }
    const auto* const made = new Entry{make(), first};
    first_.store(made, std::memory_order_release);
    return made->value;
  }
  template <class Is>
  const T* find(const Is& is) const {
    const Entry* entry = first_.load(std::memory_order_acquire);
    while (entry != nullptr && !is(entry->value)) entry = entry->next;
    return entry != nullptr ? &entry->value : nullptr;
  }

  std::atomic<const Entry*> first_{nullptr};  // the newest
  std::mutex mutex_;                          // guards making entries
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
