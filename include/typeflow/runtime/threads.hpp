// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads of a session: oneTBB arenas, over which kernels spread their loops.

#include <span>

#include "typeflow/cpu/call.hpp"
#include "typeflow/exec/machine.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class ThreadPool {
 public:
  /// At most as many threads as the machine has.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// The stream that kernels are called with. It lives as long as the pool.
  cpu_kernels::Executor* executor() const;

 private:
  struct Arena;
  Arena* arena_;  // owned
};

/// The virtual devices of the processor, each with threads of its own.
class Processors {
 public:
  explicit Processors(const TargetOptions& options);
  ~Processors();
  Processors(const Processors&) = delete;
  Processors& operator=(const Processors&) = delete;

  std::span<const MachineDevice> devices() const;

 private:
  struct Parts;
  Parts* parts_;  // owned
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/threads.ipp"
#endif
