// SPDX-License-Identifier: Apache-2.0
#pragma once

// The meaning of a kernel's description: one plain loop over its space.
//
// It reads a KernelSpec as a back end does, and neither graphs nor passes. Operations are evaluated
// one element at a time, by the functions of the graph interpreter. So differences from that
// interpreter come from fusing and lowering.
//
// A description promises that the order of elements does not matter. A memory plan that puts a
// result where an operand is promises the same. This checks both: elements come in a scattered
// order, each is stored as soon as it is computed, and every pass over a row reads its operands
// anew. Operands that overlap without permission are an Error.

#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/runtime/elements.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Runs a kernel from its description alone; KernelCall::description points to its KernelSpec.
void interpret_kernel(const KernelCall& call);

}  // namespace typeflow::inline TYPEFLOW_ISA::ir

#ifndef TYPEFLOW_COMPILED_TESTING
#include "typeflow/interpret/kernel.ipp"
#endif
