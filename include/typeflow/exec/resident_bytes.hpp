// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes of the variables and constants that a plan has in the memory of devices
// (exec/residency.hpp), besides those of its layout.

#include <cstdint>

#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

TYPEFLOW_COLD inline std::int64_t resident_bytes(const ir::ProgramView& program, const Plan& plan,
                                                 int device, const SymbolSizes& sizes) {
  std::int64_t sum = 0;
  for (const Place& place : plan.places) {
    if (place.kind != PlaceKind::resident || place.device != device) continue;
    const Type& type = program.type_of(place.slot);
    sum =
        checked_sum(sum, checked_product(count_of(type.dims).resolve(sizes), size_of(type.dtype)));
  }
  return sum;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
