// SPDX-License-Identifier: Apache-2.0
#pragma once

// The device of a machine that stands for one of a model.

#include <cstddef>
#include <span>

#include "typeflow/exec/machine.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The number of the device in the list that runs what is pinned to `wanted`: that device; if it is
/// missing, the first of its kind, or else the first.
inline int device_number(std::span<const MachineDevice> devices, Device wanted) {
  int of_kind = 0;
  for (int i = static_cast<int>(devices.size()) - 1; i >= 0; --i) {
    const Device known = devices[static_cast<std::size_t>(i)].device;
    if (known == wanted) return i;
    if (known.kind == wanted.kind) of_kind = i;
  }
  return of_kind;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
