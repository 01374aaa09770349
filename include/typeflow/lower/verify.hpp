// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks that hold for every program. Tests run them, and models that are compiled at run time.

#include "typeflow/core/text.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// Calls fail() if a window that is read or written leaves its tensor when all symbols are 3.
template <class F>
constexpr void check_windows(const ProgramPools& program, const Step& step,
                             const KernelSpec& kernel, int rank, const F& fail) {
  SymbolSizes sizes;
  for (std::int64_t& size : sizes.of) size = 3;
  int at = step.extents.first + rank;
  const auto check = [&](Id slot, unsigned axes) {
    if (at + window_extents(rank) > step.extents.first + step.extents.count) return fail();
    const StepExtent* const window = program.extents.data() + at;
    std::int64_t first = window[0].resolve(sizes) + window[1].resolve(sizes);
    std::int64_t last = first;
    for (int k = 0; k < rank; ++k) {
      if ((axes >> k & 1u) == 0) continue;
      const std::int64_t extent = program.extents[step.extents.first + k].resolve(sizes);
      const std::int64_t along = (extent - 1) * window[2 + k].resolve(sizes);
      (along < 0 ? first : last) += along;
    }
    const Dims& dims = program.types[program.slots[slot].type].dims;
    if (first < 0 || last >= count_of(dims).resolve(sizes)) return fail();
    at += window_extents(rank);
  };
  int operand = step.operands.first;
  for (int i = 0; i < kernel.inputs; ++i) {
    if (kernel.input[i].is_index) continue;
    const Id slot = program.operands[operand++];
    if (kernel.input[i].is_window) check(slot, kernel.input[i].axes);
  }
  for (int i = 0; i < kernel.stores; ++i) {
    const Slot& slot = program.slots[program.operands[operand++]];
    if (kernel.store[i].is_window != (slot.within != none)) return fail();
    if (slot.within != none) check(slot.within, (1u << rank) - 1u);
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
    int loads = 0;
    for (int i = 0; i < kernel.inputs; ++i) loads += !kernel.input[i].is_index;
    if (!is_control && (step.inputs != loads || step.operands.count != loads + kernel.stores)) {
      fail(s, "other operands than its kernel has");
    }
    int extents = step.extents.count;
    if (kernel.kind == KernelKind::loop || kernel.kind == KernelKind::columns) {
      const int rank = loop_extents(program.kernels[step.kernel], step);
      extents = rank + program.kernels[step.kernel].windows * window_extents(rank);
      check_windows(program, step, kernel, rank, [&] { fail(s, "a window beyond its tensor"); });
    }
    if (extents != step.extents.count) fail(s, "other extents than its kernel has");
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

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
