// SPDX-License-Identifier: Apache-2.0
#pragma once

// Waiting for a change of a resource, such as an element in a queue, without holding a thread.

#include <atomic>
#include <mutex>
#include <optional>

#include "typeflow/core/config.hpp"
#include "typeflow/core/run_stop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class Waiters;

/// Someone who waits until a resource changes. It is in one list at most, and leaves the list
/// before it dies.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { leave(); }

  /// Is called at a change, in the thread that makes it.
  using Wake = void (*)(void* context) noexcept;
  /// Says what to call; only while it is in no list.
  void set_wake(Wake wake, void* context) {
    wake_ = wake;
    context_ = context;
  }
  /// Whether the resource has changed since it joined the list.
  bool is_woken() const { return woken_.load(); }
  /// Leaves its list, if it is in one. Then nobody calls `wake`.
  inline void leave() noexcept;

 private:
  friend Waiters;

  Wake wake_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> woken_{false};
  Waiters* list_ = nullptr;
  Waiter* next_ = nullptr;
  Waiter* previous_ = nullptr;
};

/// Those who wait until a resource changes; a member of the resource.
class Waiters {
 public:
  Waiters() = default;
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  /// The caller looks at the resource again after it: a change before is not told.
  void join(Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    waiter.woken_.store(false);
    waiter.list_ = this;
    waiter.previous_ = last_;
    waiter.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &waiter;
    last_ = &waiter;
    count_.fetch_add(1);
  }
  void leave(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    if (waiter.list_ == nullptr) return;
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : first_) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->previous_ : last_) = waiter.previous_;
    waiter.list_ = nullptr;
    count_.fetch_sub(1);
  }
  /// The resource has changed. Call it without the resource's lock.
  void notify() noexcept {
    if (count_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    for (Waiter* w = first_; w != nullptr; w = w->next_) {
      w->woken_.store(true);
      w->wake_(w->context_);
    }
  }

 private:
  std::mutex mutex_;
  std::atomic<int> count_{0};
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

inline void Waiter::leave() noexcept {
  if (list_ != nullptr) list_->leave(*this);
}

/// Calls attempt() until it returns true, each time after a change of the resource; blocks the
/// thread in between. Throws RunStopped if the run, if one is given, is stopped before.
template <class Attempt>
void wait_in_thread(Waiters& waiters, const Attempt& attempt, RunStop* run = nullptr) {
  if (attempt()) return;
  std::atomic<int> changes{0};
  const auto wake = [](void* context) noexcept {
    auto& count = *static_cast<std::atomic<int>*>(context);
    count.fetch_add(1);
    count.notify_one();
  };
  std::optional<RunStop::Sleeper> stopped;
  if (run != nullptr) stopped.emplace(*run, wake, &changes);
  Waiter waiter;
  waiter.set_wake(wake, &changes);
  waiters.join(waiter);
  for (int seen = changes.load(); !attempt(); seen = changes.load()) {
    if (run != nullptr && run->is_stopped()) throw RunStopped{};
    changes.wait(seen);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
