// SPDX-License-Identifier: Apache-2.0
#pragma once

// The processor, with the calling thread only.

#include <span>

#include "typeflow/cpu/kernels.hpp"
#include "typeflow/runtime/memory.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The CPU, with the calling thread only, whatever SessionOptions::threads says. Results have the
/// same bits as CpuTarget's.
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
