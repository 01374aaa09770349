// SPDX-License-Identifier: Apache-2.0
#pragma once

// The processor, with the calling thread only.

#include <span>

#include "typeflow/cpu/kernels.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The CPU, with the calling thread only, whatever SessionOptions::threads says; with several
/// devices, a thread for each. Results have the same bits as CpuTarget's.
template <class Arch = cpu_kernels::DefaultArch>
class SerialCpuTarget {
 public:
  explicit SerialCpuTarget(const TargetOptions& options = {}) {
    count_ = options.devices.size() > 0 ? options.devices.size() : 1;
    for (int i = 0; i < count_; ++i) {
      const DeviceOptions device =
          options.devices.size() > 0 ? options.devices[i] : DeviceOptions{};
      devices_[i] = processor_device(i, device, nullptr);
    }
  }

  static constexpr bool is_host = true;

  template <class Kernel, DeviceKind = DeviceKind::cpu>
  static constexpr KernelEntry kernel = cpu_kernels::entry<Kernel, Arch>;

  std::span<const MachineDevice> devices() const {
    return {devices_, static_cast<std::size_t>(count_)};
  }

 private:
  MachineDevice devices_[max_devices];
  int count_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
