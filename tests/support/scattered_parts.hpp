// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streams for tests that results do not depend on how a loop is divided, nor on who runs the parts.
// They divide what a session's threads never would: loops of few elements, into parts that begin
// and end anywhere.
// Tests are compiled with TYPEFLOW_SHARED_GRAINS=0 (cpu/call.hpp), so that kernels ask them.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// Runs up to 37 equal parts of each loop one after the other, in a scattered order. Counts the
/// loops that threads would share, which have two grains or more.
class ScatteredParts final : public tf::cpu_kernels::Executor {
 public:
  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    if (count >= 2 * grain) ++shared;
    constexpr std::int64_t most = 37;  // a prime, so that every step below reaches all parts
    const std::int64_t size = (count + most - 1) / most;
    for (std::int64_t i = 0; i < most; ++i) {
      const std::int64_t begin = (5 + i * 23) % most * size;
      if (begin < count) task(context, begin, std::min(count, begin + size));
    }
  }

  int shared = 0;
};

/// Runs each loop of two items or more on two threads, half of it on each. So both take part in
/// every run.
class TwoThreads final : public tf::cpu_kernels::Executor {
 public:
  TwoThreads() : helper_([this] { help(); }) {}
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;
  ~TwoThreads() {
    change([this] { ends_ = true; });
    helper_.join();
  }

  void run(std::int64_t count, std::int64_t, Task task, void* context) override {
    if (count < 2) return task(context, 0, count);
    const std::int64_t half = count / 2;
    change([&] { work_ = {task, context, half}; });
    std::exception_ptr error;
    try {
      task(context, half, count);
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.task == nullptr; });
    if (error == nullptr) error = std::exchange(error_, nullptr);
    if (error != nullptr) std::rethrow_exception(error);
  }

 private:
  struct Work {
    Task task = nullptr;
    void* context = nullptr;
    std::int64_t count = 0;
  };

  template <class F>
  void change(const F& f) {
    const std::lock_guard lock(mutex_);
    f();
    changed_.notify_all();
  }
  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || work_.task != nullptr; });
      if (work_.task == nullptr) return;
      lock.unlock();
      std::exception_ptr error;
      try {
        work_.task(work_.context, 0, work_.count);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      work_.task = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;                 // until the helper has run it
  std::exception_ptr error_;  // the helper's
  bool ends_ = false;
  std::thread helper_;
};

}  // namespace test
