// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads for the streams of devices.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Tells a processor that a loop waits.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Lets threads sleep until another one has changed something. Who changes something that nobody
/// waits for pays one load.
class Doorbell {
 public:
  /// Returns when ready() holds. ready() reads atomics that others change before they ring().
  template <class Ready>
  void wait(const Ready& ready) {
    for (int i = 0; i < spins; ++i) {
      if (ready()) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    changed_.wait(lock, ready);
    sleepers_.fetch_sub(1);
  }
  /// The change before it must be sequentially consistent.
  void ring() {
    if (sleepers_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  static constexpr int spins = 500;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> sleepers_{0};
};

/// A thread for each of some devices. The tasks of a run are added to all of them at once, so that
/// two runs are in the same order everywhere and can't wait for one another.
class Workers {
 public:
  struct Task {
    /// Returns false if it has to wait. Then it is called again when ready() holds; other tasks of
    /// the thread run in between.
    bool (*run)(Task&) = nullptr;
    bool (*ready)(const Task&) = nullptr;
    int worker = 0;
    Task* next = nullptr;
  };

  TYPEFLOW_COLD explicit Workers(int count) : queues_(static_cast<std::size_t>(count)) {
    try {
      for (int i = 0; i < count; ++i) {
        threads_.emplace_back([this, i] { work(queues_[static_cast<std::size_t>(i)]); });
      }
    } catch (...) {  // no memory, or no thread
      stop();
      throw;
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  TYPEFLOW_COLD ~Workers() { stop(); }

  /// The tasks must live until they have run.
  void add(Task* const* tasks, int count) {
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < count; ++i) {
        Queue& queue = queues_[static_cast<std::size_t>(tasks[i]->worker)];
        (queue.last != nullptr ? queue.last->next : queue.first) = tasks[i];
        queue.last = tasks[i];
        queue.waiting.fetch_add(1);
      }
    }
    for (Queue& queue : queues_) queue.bell.ring();
  }

  /// Takes back a task that has not begun. Returns false if it has.
  TYPEFLOW_COLD bool take_back(Task& given) {
    const std::lock_guard lock(mutex_);
    Queue& queue = queues_[static_cast<std::size_t>(given.worker)];
    Task* before = nullptr;
    for (Task* task = queue.first; task != nullptr; before = task, task = task->next) {
      if (task != &given) continue;
      (before != nullptr ? before->next : queue.first) = task->next;
      if (queue.last == task) queue.last = before;
      queue.waiting.fetch_sub(1);
      return true;
    }
    return false;
  }

  /// Something has changed for which a task of this worker may wait.
  void ring(int worker) { queues_[static_cast<std::size_t>(worker)].bell.ring(); }

 private:
  struct Queue {
    Task* first = nullptr;
    Task* last = nullptr;
    std::atomic<int> waiting{0};
    Doorbell bell;
  };

  TYPEFLOW_COLD void stop() {
    stopped_.store(true);
    for (Queue& queue : queues_) queue.bell.ring();
    for (std::thread& thread : threads_) thread.join();
  }
  TYPEFLOW_COLD void work(Queue& queue) {
    Task* waiting = nullptr;  // a list of those that have begun
    const auto is_one_ready = [&] {
      for (const Task* task = waiting; task != nullptr; task = task->next) {
        if (task->ready(*task)) return true;
      }
      return false;
    };
    while (!stopped_.load()) {
      queue.bell.wait(
          [&] { return queue.waiting.load() > 0 || stopped_.load() || is_one_ready(); });
      if (Task* const task = next_of(queue); task != nullptr && !task->run(*task)) {
        task->next = waiting;
        waiting = task;
      }
      for (Task** at = &waiting; *at != nullptr;) {
        Task* const task = *at;
        Task* const next = task->next;  // it may be gone when it has run
        if (task->ready(*task) && task->run(*task)) {
          *at = next;
        } else {
          at = &task->next;
        }
      }
    }
  }
  Task* next_of(Queue& queue) {
    if (queue.waiting.load() == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    Task* const task = queue.first;
    if (task == nullptr) return nullptr;  // taken back
    queue.first = task->next;
    if (queue.first == nullptr) queue.last = nullptr;
    queue.waiting.fetch_sub(1);
    return task;
  }

  std::mutex mutex_;
  std::atomic<bool> stopped_{false};
  std::vector<Queue> queues_;
  std::vector<std::thread> threads_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
