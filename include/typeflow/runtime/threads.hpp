// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads of a session: a oneTBB arena that kernels spread their loops over.

#include <cstdint>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "typeflow/cpu/call.hpp"

namespace typeflow {

class ThreadPool final : public simd::Executor {
 public:
  /// 0: as many threads as the machine has.
  explicit ThreadPool(int threads) : arena_(threads > 0 ? threads : tbb::task_arena::automatic) {}

  int threads() const { return arena_.max_concurrency(); }

  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
          [&](const tbb::blocked_range<std::int64_t>& part) {
            task(context, part.begin(), part.end());
          },
          tbb::simple_partitioner());
    });
  }

 private:
  tbb::task_arena arena_;
};

}  // namespace typeflow
