// SPDX-License-Identifier: Apache-2.0
#pragma once

// The default target of sessions: the processor that runs the program.
//
// TYPEFLOW_SERIAL, which the CMake target typeflow::serial defines, leaves oneTBB out. Sessions
// then run on their caller's thread only, and do not link to oneTBB.

#ifdef TYPEFLOW_SERIAL

#include "typeflow/runtime/serial_target.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

template <class Arch = simd::DefaultArch>
using CpuTarget = SerialCpuTarget<Arch>;

}  // namespace typeflow::inline TYPEFLOW_TARGET

#else

#include <memory>
#include <span>

#include "typeflow/cpu/kernels.hpp"
#include "typeflow/runtime/memory.hpp"
#include "typeflow/runtime/target.hpp"
#include "typeflow/runtime/threads.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The CPU, with kernels for one of xsimd's instruction sets. The calling thread calls the steps in
/// order; kernels spread their loops over `threads`. `Arch` must be contained in the instruction
/// set that the file is compiled for.
template <class Arch = simd::DefaultArch>
class CpuTarget {
 public:
  explicit CpuTarget(int threads = 1)
      : threads_(threads > 1 ? std::make_unique<ThreadPool>(threads) : nullptr) {}

  template <class Kernel, DeviceKind = DeviceKind::cpu>
  static constexpr KernelEntry kernel = simd::entry<Kernel, Arch>;

  std::span<const Device> devices() const { return TargetView::host_devices; }
  Memory& memory() const { return host_memory; }
  Queue* queue() const { return threads_ != nullptr ? threads_->executor() : nullptr; }

 private:
  std::unique_ptr<ThreadPool> threads_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET

#endif
