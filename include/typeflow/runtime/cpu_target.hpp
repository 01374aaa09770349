// SPDX-License-Identifier: Apache-2.0
#pragma once

// The target of sessions that name none: the processor that runs the program.
//
// TYPEFLOW_SERIAL, which the CMake target typeflow::serial defines, leaves oneTBB out: its sessions
// run on their caller's thread alone, and link to no shared library of oneTBB's.

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

/// The CPU, with kernels for an instruction set of xsimd's. Steps are called in order on the thread
/// that runs; kernels spread their loops over `threads`. Another instruction set than the one that
/// the file is compiled for must be a part of that.
template <class Arch = simd::DefaultArch>
class CpuTarget {
 public:
  explicit CpuTarget(int threads = 1)
      : threads_(threads > 1 ? std::make_unique<ThreadPool>(threads) : nullptr) {}

  template <class Kernel, DeviceKind = DeviceKind::cpu>
  static constexpr KernelEntry kernel = simd::entry<Kernel, Arch>;

  std::span<const Device> devices() const { return TargetView::host_devices; }
  Memory& memory() const { return host_memory; }
  Queue* queue() const { return threads_.get(); }

 private:
  std::unique_ptr<ThreadPool> threads_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET

#endif
