// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps of datasets with threads of their own. Elements come in the order of the input, whatever
// the number of threads. An exception comes in the place of the element at which it was thrown. A
// cursor that is destroyed in the middle stops its threads first.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/data/cursor.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Elements f(x) of the elements x of another cursor, computed ahead by some threads.
template <class T, class F>
class ParallelCursor final : public Cursor<std::invoke_result_t<const F&, T>> {
  using R = std::invoke_result_t<const F&, T>;

 public:
  /// At most `ahead` elements wait to be taken.
  ParallelCursor(CursorOf<T> in, const F& f, int threads, std::size_t ahead)
      : in_(std::move(in)), f_(f), ahead_(ahead) {
    try {
      for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ParallelCursor() override { stop(); }

  std::optional<R> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !slots_.empty() && slots_.front().is_ready; });
    if (!slots_.front().value && slots_.front().error == nullptr) return std::nullopt;
    Slot made = std::move(slots_.front());
    slots_.pop_front();
    lock.unlock();
    changed_.notify_all();
    if (made.error != nullptr) std::rethrow_exception(made.error);
    return std::move(made.value);
  }

 private:
  struct Slot {
    bool is_ready = false;
    std::optional<R> value;  // nothing: the end
    std::exception_ptr error;
  };

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void work() {
    for (;;) {
      std::unique_lock reading(in_mutex_);  // the elements' order is that of their numbers
      Slot* slot = nullptr;                 // stays where it is until it is ready and taken
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || slots_.size() < ahead_; });
        if (ends_) return;
        slot = &slots_.emplace_back();
      }
      Slot made{true, std::nullopt, nullptr};
      std::optional<T> x;
      try {
        x = in_->next();
      } catch (...) {
        made.error = std::current_exception();
      }
      if (!x && made.error == nullptr) {  // the last one
        const std::lock_guard lock(mutex_);
        ends_ = true;
        *slot = std::move(made);
        changed_.notify_all();
        return;
      }
      reading.unlock();
      try {
        if (x) made.value = f_(std::move(*x));
      } catch (...) {
        made.error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        *slot = std::move(made);
      }
      changed_.notify_all();
    }
  }

  std::mutex in_mutex_;  // guards in_
  CursorOf<T> in_;
  const F& f_;
  std::mutex mutex_;  // guards what follows; is taken after in_mutex_
  std::condition_variable changed_;
  std::deque<Slot> slots_;  // of the elements that are begun and not taken
  std::size_t ahead_;       // how many these may be
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
