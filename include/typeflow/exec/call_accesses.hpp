// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory that the kernel calls of a recording read and write, found in the plan.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/memory_access.hpp"
#include "typeflow/exec/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The accesses of the launches of a device, one launch after the other. Tensors are found by their
/// addresses, because a plan gives the memory of dead tensors to others.
class CallAccesses {
 public:
  CallAccesses(const Execution& execution, const Arena& arena, const Plan& plan)
      : execution_(execution), arena_(arena), plan_(plan) {}

  /// The accesses of the next launch, until the next call. Sets `call.workspace`. `at` has the
  /// addresses of the plan's places.
  TYPEFLOW_COLD std::span<const MemoryAccess> next(const Launch& launch, KernelCall& call,
                                                   void* const* at) {
    const ir::ProgramView& program = execution_.program;
    const ir::Step& step = program.steps[launch.step];
    const KernelEntry& kernel = execution_.kernels[step.kernel];
    const ir::KernelSummary& summary = program.kernels[step.kernel];
    accesses_.clear();
    const bool is_known = kernel.is_confined && !summary.outside && !summary.prints;
    if (!is_known) {
      accesses_.push_back(any_access);
      return accesses_;
    }
    for (int i = 0; i < launch.places.count; ++i) {
      const int place = plan_.operands[launch.places.first + i];
      const Id slot = program.operands[step.operands.first + i];
      const Id whole = program.slots[slot].within;
      const bool writes = i >= step.inputs;
      const bool is_part = writes && whole != none && whole == plan_.places[place].slot;
      add(at[place], std::max(arena_.slot_bytes[slot], arena_.slot_bytes[plan_.places[place].slot]),
          writes, is_part && parts_.insert(slot).second ? slot : none);
    }
    choose_workspace(launch.device, call, kernel.workspace(call.extents));
    return accesses_;
  }

 private:
  void add(const void* data, std::int64_t bytes, bool writes, Id part) {
    if (data == nullptr || bytes == 0) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    accesses_.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), writes, part});
  }
  /// Calls share the workspace in turn, each behind the last one, so that few of them wait for one
  /// another because of it. Those that need much all begin at its beginning, and so are in order:
  /// they are calls of libraries, which may have other memory of their own.
  void choose_workspace(int device, KernelCall& call, std::int64_t bytes) {
    constexpr std::int64_t much = std::int64_t{16} << 20;
    if (bytes == 0) return;
    auto& workspace = arena_.workspace[static_cast<std::size_t>(device)];
    if (bytes > workspace.size() - used_ || bytes >= much) used_ = 0;
    call.workspace = workspace.data() + used_;
    add(call.workspace, bytes, true, none);
    constexpr std::int64_t alignment = 256;
    used_ = std::min(workspace.size(), used_ + (bytes + alignment - 1) / alignment * alignment);
  }

  const Execution& execution_;
  const Arena& arena_;
  const Plan& plan_;
  std::int64_t used_ = 0;  // of the workspace, by the last calls
  std::set<Id> parts_;     // that were written: slots
  std::vector<MemoryAccess> accesses_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
