// SPDX-License-Identifier: Apache-2.0
#pragma once

// A copy of small blocks that repeats a pattern: reversed rows and channels, repeated elements,
// tiles of short rows, transposes of tiny matrices.

#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/copy_axis.hpp"
#include "typeflow/cpu/permutations.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Copies by a pattern between the axes of a tensor, of which as many as possible are in its
/// blocks. False if there is none. Threads share the rows of blocks, or parts of rows.
bool copy_pattern(const KernelCall& call, const CopyAxis* axes, int rank, std::int64_t size,
                  const std::byte* in, std::byte* out, bool streams, const Filling& filling = {});

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

#ifndef TYPEFLOW_COMPILED
#include "typeflow/cpu/pattern_copy.ipp"
#endif
