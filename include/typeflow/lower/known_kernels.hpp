// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernels of a program that grows. Equal descriptions are one kernel.

#include "typeflow/core/pool.hpp"
#include "typeflow/lower/kernel_meaning.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class KnownKernels {
 public:
  /// The number of the kernel with this description. Adds it to the program if it is new.
  constexpr Id number_of(ProgramPools& out, const KernelSpec& kernel) {
    const unsigned key = key_of(kernel);
    for (int k = keys_.size() - 1; k >= 0; --k) {
      if (keys_.items[k] == key && out.specs.items[k] == kernel) return k;
    }
    out.kernels.push(summary_of(kernel));
    out.specs.push(trimmed(kernel));
    return keys_.push(key);
  }

 private:
  Pool<unsigned> keys_;  // by kernel: most comparisons end with them
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
