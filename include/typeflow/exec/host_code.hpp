// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps of accelerators that the processor has to run: because no kernel of theirs exists, or
// because the machine lacks the accelerator.
//
// A target with accelerators has the processor's code for every kernel, too (host_kernel). When an
// engine is made, such steps move to /cpu:0, with the variables that they assign and all that
// assigns these. Planning then adds the copies, as between any two devices.

#include <memory>

#include "typeflow/exec/placer.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Moves the steps that can't run on their device. `kernels` becomes the table that fits the moved
/// program. Null if nothing moves. Error if a step is pinned to a device that has no kernel for it,
/// and placement is not soft.
std::unique_ptr<Placed> move_to_host(const PlacementTask& task, const KernelTables& tables,
                                     const KernelEntry*& kernels);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/host_code.ipp"
#endif
