// SPDX-License-Identifier: Apache-2.0
#pragma once

// Placement: every operation gets a device before anything is shared or fused. So pinning an
// operation to the device where it would run anyway changes neither kernels nor bits.

#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// Puts operations without a device on the first CPU.
constexpr void place(Graph& graph) {
  Node* const nodes = graph.nodes.data();
  const int count = graph.nodes.size();
  for (Id id = 0; id < count; ++id) {
    if (nodes[id].device.kind == DeviceKind::any) nodes[id].device = cpu(0);
  }
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
