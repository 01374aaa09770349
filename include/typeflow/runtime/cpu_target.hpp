// SPDX-License-Identifier: Apache-2.0
#pragma once

// The default target of sessions: the processor that runs the program.
//
// TYPEFLOW_SERIAL, which the CMake target typeflow::serial defines, leaves oneTBB out. Sessions
// then run on their caller's thread only, and do not link to oneTBB.

#ifdef TYPEFLOW_SERIAL

#include "typeflow/runtime/serial_target.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

template <class Arch = cpu_kernels::DefaultArch>
using CpuTarget = SerialCpuTarget<Arch>;

}  // namespace typeflow::inline TYPEFLOW_ISA

#else

#include <span>

#include "typeflow/cpu/kernels.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/runtime/target.hpp"
#include "typeflow/runtime/threads.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The CPU, with kernels for one of xsimd's instruction sets. `Arch` must be contained in the
/// instruction set that the file is compiled for. Each device has a thread that calls its kernels
/// in order (the first one's is the caller's), and threads over which kernels spread their loops.
template <class Arch = cpu_kernels::DefaultArch>
class CpuTarget {
 public:
  explicit CpuTarget(const TargetOptions& options = {}) : processors_(options) {}

  /// Its memory is the host's.
  static constexpr bool is_host = true;

  template <class Kernel, DeviceKind = DeviceKind::cpu>
  static constexpr KernelEntry kernel = cpu_kernels::entry<Kernel, Arch>;

  std::span<const MachineDevice> devices() const { return processors_.devices(); }

 private:
  Processors processors_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#endif
