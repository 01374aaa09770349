// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a step costs in a run: operations and bytes, from the tables of its program.

#include <cstdint>

#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// The cost of a step in a run.
struct StepCost {
  std::int64_t flops;
  std::int64_t bytes;  ///< read and written
};

constexpr StepCost cost_of(const ProgramView& program, const Step& step, const SymbolSizes& sizes) {
  const KernelSummary& kernel = program.kernels[step.kernel];
  StepCost cost{};
  if (kernel.kind == KernelKind::control) return cost;  // its blocks' steps have their own
  const auto extent = [&](int i) { return program.extents[step.extents.first + i].resolve(sizes); };
  std::int64_t most =
      too_many;  // a kernel that reads strided views reads at most as much as it loops
  if (kernel.strided_views > 0) {
    most = 1;
    for (int i = 0; i < loop_extents(kernel, step); ++i) most = checked_product(most, extent(i));
  }
  const auto elements = [&](Id slot) {
    const std::int64_t count = count_of(program.type_of(slot).dims).resolve(sizes);
    return count < most ? count : most;
  };
  std::int64_t space = 0;
  for (int i = 0; i < (kernel.updates ? step.inputs : step.operands.count); ++i) {
    const Id slot = program.operands[step.operands.first + i];
    const std::int64_t bytes =
        checked_product(elements(slot), size_of(program.type_of(slot).dtype));
    const bool is_there = program.slots[slot].within != none && i < step.inputs;
    if (!is_there) cost.bytes = checked_sum(cost.bytes, bytes);
    if (elements(slot) > space) space = elements(slot);
  }
  if (kernel.updates) {  // reads and writes as many elements as the largest input has
    const Id output = program.operands[step.operands.first + step.inputs];
    const std::int64_t bytes = checked_product(space, 2 * size_of(program.type_of(output).dtype));
    cost.bytes = checked_sum(cost.bytes, bytes);
  }
  if (kernel.kind == KernelKind::custom) {
    cost.flops = checked_product(space, kernel.flops);
    return cost;
  }
  const bool contraction = kernel.kind == KernelKind::contraction;
  space = 1;
  for (int i = 0; i < loop_extents(kernel, step); ++i) {
    if (!contraction || i != ContractionExtents::depth) space = checked_product(space, extent(i));
  }
  cost.flops = checked_product(space, kernel.flops);
  if (contraction) {
    cost.flops = checked_sum(
        cost.flops, checked_product(2, checked_product(space, extent(ContractionExtents::depth))));
  }
  return cost;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
