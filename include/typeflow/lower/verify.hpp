// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks that hold for every program. Tests run them, and models that are compiled at run time.

#include "typeflow/core/text.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Calls fail() if a strided view that is read or written leaves its tensor when all symbols are 3,
/// or if a result is part of a tensor and its kernel does not know.
template <class F>
constexpr void check_strided(const ProgramPools& program, const Step& step,
                             const KernelSpec& kernel, const F& fail) {
  SymbolSizes sizes;
  for (std::int64_t& size : sizes.of) size = 3;
  Pool<std::int64_t> extents;
  for (int i = 0; i < step.extents.count; ++i) {
    extents.push(program.extents[step.extents.first + i].resolve(sizes));
  }
  const KernelSpace space = space_of(kernel);
  const KernelBody body = body_of(kernel);
  std::int64_t of_axes[max_rank + 2] = {};
  for (int k = 0; k < space.rank; ++k) of_axes[k] = extents[space.extent(k)];
  const std::int64_t* const of_views = extents.data() + extents_between(kernel);
  const auto check = [&](Id slot, unsigned axes, StridedExtents strided_view) {
    const auto layout = layout_of<max_rank>(axes, of_axes, strided_view);
    const ElementRange range = elements_of(layout, axes, of_axes, space.rank);
    const Dims& dims = program.types[program.slots[slot].type].dims;
    if (range.first < 0 || range.last > count_of(dims).resolve(sizes)) fail();
  };
  const Id* const operands = program.operands.data() + step.operands.first;
  for (int i = 0; i < kernel.inputs; ++i) {
    if (!kernel.input[i].is_strided) continue;
    unsigned axes = kernel.input[i].axes;
    if (body.has_product && i < 2) {  // a matrix lies along its own axes
      const auto shapes = kernel.op->contraction->shapes(
          program.words.data() + step.words.first, extents.data() + space.extents(),
          extents[ContractionExtents::rows], extents[ContractionExtents::columns],
          extents[ContractionExtents::depth]);
      for (int k = 0; k < 2; ++k) {
        of_axes[space.rank - 2 + k] = shapes[static_cast<std::size_t>(i)].extent[k];
        axes |= 1u << (space.rank - 2 + k);
      }
    }
    check(operands[body.operand(i)], axes, body.strides(i, space.rank, of_views));
    if (body.has_product) {
      for (int k = 0; k < space.rank; ++k) of_axes[k] = extents[space.extent(k)];
    }
  }
  for (int s = 0; s < kernel.stores; ++s) {
    const Slot& slot = program.slots[operands[body.first_result() + s]];
    if (kernel.store[s].is_strided != (slot.within != none)) return fail();
    if (slot.within == none) continue;
    check(slot.within, space.axes_of(kernel.store[s]), body.store_strides(s, space.rank, of_views));
  }
}

/// A sentence about the first thing that is wrong with a program; empty if nothing is.
constexpr Message verify(const ProgramPools& program) {
  Message wrong{};
  const auto fail = [&](Id step, const char* what) {
    if (wrong.empty()) wrong << "step " << step << ": " << what;
  };
  Pool<char> written(program.slots.size(), 0);
  for (Id s = 0; s < program.steps.size() && wrong.empty(); ++s) {
    const Step& step = program.steps[s];
    if (step.kernel < 0 || step.kernel >= program.kernels.size()) {
      fail(s, "no such kernel");
      break;
    }
    const KernelSpec& kernel = program.specs[step.kernel];
    const bool is_control = kernel.kind == KernelKind::control;  // has as many as it has results
    const StepNeeds needs = needs_of(kernel);
    if (!is_control &&
        (step.inputs != needs.inputs || step.operands.count != needs.inputs + kernel.stores)) {
      fail(s, "other operands than its kernel has");
    }
    const bool has_loops = !is_control && kernel.kind != KernelKind::custom;
    if (step.extents.count != needs.extents) {
      fail(s, "other extents than its kernel has");
    } else if (wrong.empty() && has_loops) {
      check_strided(program, step, kernel, [&] { fail(s, "a strided view beyond its tensor"); });
    }
    // Constants that a step is the first to read have their words behind the step's.
    if (step.words.count < needs.words) fail(s, "fewer words than its kernel has");
    if (step.label.operation.size == 0) fail(s, "no label");
    if (step.device.kind == DeviceKind::any) fail(s, "no device");
    for (int i = 0; i < step.operands.count && wrong.empty(); ++i) {
      const Id id = program.operands[step.operands.first + i];
      if (id < 0 || id >= program.slots.size()) {
        fail(s, "no such slot");
        break;
      }
      const Slot& slot = program.slots[id];
      const bool is_read = i < step.inputs;
      if (slot.kind == SlotKind::temporary) {
        if (is_read && written[id] == 0) fail(s, "reads what is not yet written");
        if (!is_read && written[id] != 0) fail(s, "writes a temporary again");
        if (!is_read && slot.step != s) fail(s, "writes another step's temporary");
        if (!is_read && !(slot.device == step.device)) fail(s, "writes to another device");
        if (!is_read) written[id] = 1;
      } else if (!is_read && slot.kind != SlotKind::variable) {
        fail(s, "writes what is no variable");
      }
    }
    for (int i = 0; i < step.after.count; ++i) {
      if (program.operands[step.after.first + i] >= s) fail(s, "follows a later step");
    }
  }
  return wrong;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
