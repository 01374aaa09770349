// SPDX-License-Identifier: Apache-2.0
#pragma once

// What devices there are: for people, and for targets that look for accelerators.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/device_name.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/runtime/default_target.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A device of this process.
struct LocalDevice {
  std::string name;  ///< "/job:localhost/replica:0/task:0/gpu:0"
  DeviceKind kind;
  std::int64_t memory;      ///< bytes that tensors may take: its limit, or all; 0 if unknown
  std::string description;  ///< for people: "Intel(R) Xeon(R) CPU"
};

/// Descriptions of a target's devices, in their order.
std::vector<LocalDevice> describe_devices(std::span<const MachineDevice> devices);

namespace detail {
/// The bytes of the machine's memory; 0 if the system does not tell.
std::int64_t host_bytes();
}  // namespace detail

/// The devices that sessions on a target have with these options. By default those of the
/// processor.
template <TargetType T = DefaultTarget>
std::vector<LocalDevice> list_local_devices(const DeviceList& devices = {}) {
  T target(detail::target_options(0, devices, "list_local_devices"));
  return describe_devices(target.devices());
}

/// The numbers of the accelerators that this process may use, of `count` that the machine has. The
/// first is /gpu:0, and so on. The environment variable TYPEFLOW_VISIBLE_DEVICES says which:
/// "12,13,14,15"; an empty text or -1 means none. Error if it is no such list, or names an
/// accelerator twice, or one that the machine lacks.
///
/// Without it CUDA_VISIBLE_DEVICES counts, read as CUDA does: the list ends in front of the first
/// entry that is wrong. Without both they are 0 to count - 1.
std::vector<int> visible_devices(int count);

/// The same for the text of a list. `variable` is the name for messages; if it is empty, the list
/// ends in front of the first entry that is wrong.
std::vector<int> visible_devices(std::string_view list, int count, std::string_view variable);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/local_devices.ipp"
#endif
