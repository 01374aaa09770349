// SPDX-License-Identifier: Apache-2.0
#pragma once

// The processor without threads besides the one that runs.

#include <span>

#include "typeflow/cpu/kernels.hpp"
#include "typeflow/runtime/memory.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The CPU, on the thread that runs alone, whatever SessionOptions::threads says. Results have the
/// bits that those of CpuTarget have.
template <class Arch = simd::DefaultArch>
class SerialCpuTarget {
 public:
  explicit SerialCpuTarget(int = 1) {}

  template <class Kernel, DeviceKind = DeviceKind::cpu>
  static constexpr KernelEntry kernel = simd::entry<Kernel, Arch>;

  std::span<const Device> devices() const { return TargetView::host_devices; }
  Memory& memory() const { return host_memory; }
  Queue* queue() const { return nullptr; }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
