// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "typeflow/runtime/threads.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Tells the thread sanitizer about the ordering that oneTBB guarantees. The sanitizer can't see
/// it, because oneTBB is not compiled with it. Without the sanitizer this does nothing.
///
/// oneTBB orders accesses to its own objects, too. A suppression file leaves out reports about them
/// by the functions of the two accesses (tests/tsan.supp). But the sanitizer soon forgets the
/// function of the earlier one. So in all reports about objects of oneTBB on the caller's stack the
/// later access has to be oneTBB's own: they lie below `distance`, where kernels do not write.
struct ThreadOrder {
#ifdef TYPEFLOW_THREAD_SANITIZER
  ThreadOrder() {}  // without writing to `distance`
  mutable std::atomic<int> parts{0};
  char distance[1 << 18];  // frames of products have up to 210 KB
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

/// The loop of a kernel. If the arena is full, one of its threads runs the loop for the caller. So
/// reads of the loop's own members need a ThreadOrder, too.
struct ThreadedLoop {
  ThreadOrder order;
  std::int64_t count;
  std::int64_t grain;
  cpu_kernels::Executor::Task task;
  void* context;

  void operator()() const {
    order.enter();
    // oneTBB halves a range that is longer than its grain.
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, count, 2 * static_cast<std::size_t>(grain) - 1),
        [this](const tbb::blocked_range<std::int64_t>& part) {
          order.enter();
          task(context, part.begin(), part.end());
          order.leave();
        },
        tbb::simple_partitioner());
    order.leave();
  }
};

}  // namespace detail

struct ThreadPool::Arena final : cpu_kernels::Executor {
  explicit Arena(int count) : threads(std::min(count, tbb::info::default_concurrency())) {}

  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    detail::ThreadedLoop loop{{}, count, grain, task, context};
    loop.order.begin();
    threads.execute(loop);
    loop.order.end();
  }

  tbb::task_arena threads;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION ThreadPool::ThreadPool(int threads)
    : arena_(new Arena(threads)) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION ThreadPool::~ThreadPool() { delete arena_; }

TYPEFLOW_DEFINITION int ThreadPool::threads() const { return arena_->threads.max_concurrency(); }
TYPEFLOW_DEFINITION cpu_kernels::Executor* ThreadPool::executor() const { return arena_; }

struct Processors::Parts {
  std::vector<std::unique_ptr<ThreadPool>> threads;
  std::vector<MachineDevice> devices;

  TYPEFLOW_COLD void add(int number, const DeviceOptions& device) {
    const int count =
        device.threads > 0 ? device.threads : static_cast<int>(std::thread::hardware_concurrency());
    if (count > 1) threads.push_back(std::make_unique<ThreadPool>(count));
    cpu_kernels::Executor* const loops = count > 1 ? threads.back()->executor() : nullptr;
    devices.push_back(processor_device(number, device, loops));
  }
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION Processors::Processors(const TargetOptions& options)
    : parts_(new Parts) {
  for (int i = 0; i < options.devices.size(); ++i) parts_->add(i, options.devices[i]);
  if (options.devices.size() == 0) parts_->add(0, {.threads = options.threads});
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Processors::~Processors() { delete parts_; }
TYPEFLOW_DEFINITION std::span<const MachineDevice> Processors::devices() const {
  return parts_->devices;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
