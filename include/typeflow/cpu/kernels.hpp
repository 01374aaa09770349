// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU back end: a program's kernels as a table of functions.

#include <array>

#include "typeflow/cpu/bitcast.hpp"
#include "typeflow/cpu/columns.hpp"
#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/gather.hpp"
#include "typeflow/cpu/movement.hpp"
#include "typeflow/cpu/numerics.hpp"
#include "typeflow/cpu/reverse_sequence.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/scan.hpp"
#include "typeflow/cpu/scatter.hpp"
#include "typeflow/cpu/selection.hpp"
#include "typeflow/cpu/shuffle.hpp"
#include "typeflow/cpu/sort.hpp"
#include "typeflow/cpu/unique.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

/// The code of a kernel type for instruction set A.
template <class Kernel, class A>
inline constexpr KernelEntry entry{&Code<Kernel, A>::run, &Code<Kernel, A>::workspace};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
