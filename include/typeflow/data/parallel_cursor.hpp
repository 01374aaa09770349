// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps of datasets with threads of their own. Elements come in the order of the input, whatever
// the number of threads. An exception comes in the place of the element at which it was thrown. A
// cursor that is destroyed in the middle stops its threads first.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
      : in_(std::move(in)), f_(f), slots_(ahead) {
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
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.is_ready; });
    const std::exception_ptr error = std::exchange(slot.error, nullptr);
    if (!slot.value && error == nullptr) return std::nullopt;
    std::optional<R> value = std::move(slot.value);
    slot.value.reset();
    slot.is_ready = false;
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (error != nullptr) std::rethrow_exception(error);
    return value;
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
      std::uint64_t number = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || begun_ < taken_ + slots_.size(); });
        if (ends_) return;
        number = begun_++;
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
        slots_[number % slots_.size()] = std::move(made);
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
        slots_[number % slots_.size()] = std::move(made);
      }
      changed_.notify_all();
    }
  }

  std::mutex in_mutex_;  // guards in_
  CursorOf<T> in_;
  const F& f_;
  std::mutex mutex_;  // guards what follows; is taken after in_mutex_
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::uint64_t begun_ = 0;  // elements
  std::uint64_t taken_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
