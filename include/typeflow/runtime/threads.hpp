// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads of a session: a oneTBB arena that kernels spread their loops over.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "typeflow/cpu/call.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

class ThreadPool final : public simd::Executor {
 public:
  /// At most as many threads as the machine has.
  explicit ThreadPool(int threads) : arena_(std::min(threads, tbb::info::default_concurrency())) {}

  int threads() const { return arena_.max_concurrency(); }

  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    Loop loop{{}, count, grain, task, context};
    loop.order.begin();
    arena_.execute(loop);
    loop.order.end();
  }

 private:
  /// What oneTBB guarantees, said again where the thread sanitizer can see it: that library is not
  /// compiled with it. Otherwise nothing.
  struct Order {
#ifdef TYPEFLOW_THREAD_SANITIZER
    mutable std::atomic<int> parts{0};
    void begin() const { parts.store(1, std::memory_order_release); }
    void enter() const { (void)parts.load(std::memory_order_acquire); }
    void leave() const { parts.fetch_add(1, std::memory_order_release); }
    void end() const { (void)parts.load(std::memory_order_acquire); }
#else
    void begin() const {}
    void enter() const {}
    void leave() const {}
    void end() const {}
#endif
  };

  /// The loop of a kernel. If all places of the arena are taken, a thread in it runs the loop for
  /// its caller: so what it reads stands behind an order too, in the same object.
  struct Loop {
    Order order;
    std::int64_t count;
    std::int64_t grain;
    Task task;
    void* context;

    void operator()() const {
      order.enter();
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
          [this](const tbb::blocked_range<std::int64_t>& part) {
            order.enter();
            task(context, part.begin(), part.end());
            order.leave();
          },
          tbb::simple_partitioner());
      order.leave();
    }
  };

  tbb::task_arena arena_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
