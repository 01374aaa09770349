// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads of a session: a oneTBB arena, over which kernels spread their loops.

#include "typeflow/cpu/call.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

class ThreadPool {
 public:
  /// At most as many threads as the machine has.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// The queue that kernels are called with. It lives as long as the pool.
  simd::Executor* executor() const;

 private:
  struct Arena;
  Arena* arena_;  // owned
};

}  // namespace typeflow::inline TYPEFLOW_TARGET

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/threads.ipp"
#endif
