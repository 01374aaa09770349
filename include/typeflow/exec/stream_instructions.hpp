// SPDX-License-Identifier: Apache-2.0
#pragma once

// The instructions of a stream while its plan is made, and their place in the plan.

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Three lists, which come one behind the other. Jumps count from the first instruction of `main`.
struct StreamInstructions {
  Pool<Instruction> sends{};  ///< before all else: copies to the stream and to others
  Pool<Instruction> waits{};  ///< for such copies
  Pool<Instruction> main{};

  /// Makes them a plan's next stream, whose jumps count from the plan's first instruction.
  TYPEFLOW_COLD void append_to(Plan& plan) const {
    const int first = plan.instructions.size();
    for (const Instruction& i : sends) plan.instructions.push(i);
    for (const Instruction& i : waits) plan.instructions.push(i);
    const int offset = plan.instructions.size();
    for (Instruction i : main) {
      if (is_jump(i.opcode)) i.b += offset;
      if (i.opcode == Opcode::select) {
        for (int k = 0; k < i.c; ++k) plan.targets[i.b + k] += offset;
      }
      plan.instructions.push(i);
    }
    plan.streams.push({first, plan.instructions.size() - first});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
