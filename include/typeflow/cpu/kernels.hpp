// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU back end: a program's kernels as a table of functions.

#include <array>

#include "typeflow/cpu/columns.hpp"
#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/copies.hpp"
#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/ops/check.hpp"
#include "typeflow/cpu/ops/concat.hpp"
#include "typeflow/cpu/ops/conv.hpp"
#include "typeflow/cpu/ops/conv_filter_gradient.hpp"
#include "typeflow/cpu/ops/cumulative.hpp"
#include "typeflow/cpu/ops/depthwise_filter_gradient.hpp"
#include "typeflow/cpu/ops/gather.hpp"
#include "typeflow/cpu/ops/matmul.hpp"
#include "typeflow/cpu/ops/movement.hpp"
#include "typeflow/cpu/ops/numerics.hpp"
#include "typeflow/cpu/ops/pad.hpp"
#include "typeflow/cpu/ops/pool.hpp"
#include "typeflow/cpu/ops/scatter.hpp"
#include "typeflow/cpu/ops/selection.hpp"
#include "typeflow/cpu/ops/sort.hpp"
#include "typeflow/cpu/ops/unique.hpp"
#include "typeflow/cpu/rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The entry in the table for code with these functions.
template <class C>
inline constexpr KernelEntry entry_of{&C::run, &C::workspace};
template <class C>
  requires C::explains
inline constexpr KernelEntry entry_of<C>{&C::run, &C::workspace, nullptr, &C::explain};

/// Steps of branches and loops, which the engine runs itself.
template <class A>
struct Code<ir::ControlKernel, A> {
  static void run(const KernelCall&) {}
  static std::int64_t workspace(const std::int64_t*) { return 0; }
  static constexpr bool explains = false;
};

/// The code of a kernel type for instruction set A.
template <class Kernel, class A>
inline constexpr KernelEntry entry = entry_of<Code<Kernel, A>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
