// SPDX-License-Identifier: Apache-2.0
#pragma once

// Detached parts: parts of a tensor (passes/parts.hpp) that another device computes than the one
// that puts the tensor together.
//
// Such a part has memory of its own. The plan sends it as any other tensor, and the step that puts
// the tensor together copies it in: kernels see by the address whether an operand is there already.
// The kernel that computes the part stores a strided view, whose strides are numbers of the step.
// So a plan gives a launch the strides of a dense tensor in place of them. The code and the bits
// are the same.

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/kernel_meaning.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The extents of a launch, whose places begin at `places` in Plan::operands: the number of the
/// first one in Plan::extents, to which they are added if the launch writes a detached part;
/// otherwise none.
TYPEFLOW_COLD inline int add_dense_extents(Plan& plan, const ir::ProgramView& program,
                                           const ir::Step& step, int places) {
  const auto slot_of = [&](int i) { return program.operands[step.operands.first + i]; };
  const auto is_part = [&](int i) { return program.slots[slot_of(i)].within != none; };
  const auto is_detached = [&](int i) {
    return is_part(i) && plan.places[plan.operands[places + i]].slot == slot_of(i);
  };
  bool any = false;
  for (int i = step.inputs; i < step.operands.count; ++i) any = any || is_detached(i);
  if (!any) return none;

  const int first = plan.extents.size();
  for (int i = 0; i < step.extents.count; ++i) {
    plan.extents.push(program.extents[step.extents.first + i]);
  }
  const ir::KernelSummary& kernel = program.kernels[step.kernel];
  const ir::KernelSpace space = ir::space_of(kernel.kind, kernel.outer, false);
  // The strided views of results are the last extents. Parts run along all axes of the loops.
  int view = plan.extents.size();
  for (int i = step.operands.count - 1; i >= step.inputs; --i) {
    if (!is_part(i)) continue;
    view -= ir::StridedExtents::count(space.rank);
    if (!is_detached(i)) continue;
    for (int k = 0; k < ir::StridedExtents::strides; ++k) plan.extents[view + k] = {0, 0};
    ir::StepExtent stride{1, 0};
    for (int axis = space.rank - 1; axis >= 0; --axis) {
      plan.extents[view + ir::StridedExtents::strides + axis] = stride;
      const ir::StepExtent& extent = plan.extents[first + space.extent(axis)];
      stride.coefficient = checked_product(stride.coefficient, extent.coefficient);
      stride.powers += extent.powers;
    }
  }
  return first;
}

/// Before a run: gives such launches their extents, for the run's sizes.
TYPEFLOW_COLD inline void bind_dense_extents(const Arena& arena, Binding& binding,
                                             Pool<std::int64_t>& extents) {
  const Plan& plan = *binding.plan;
  if (plan.extents.empty()) return;
  extents.clear();
  for (const ir::StepExtent& extent : plan.extents) extents.push(extent.resolve(arena.sizes));
  for (int l = 0; l < plan.launches.size(); ++l) {
    const int first = plan.launches[l].extents;
    if (first != none) binding.launches[l].call.extents = extents.data() + first;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
