// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter_folds.hpp.

#include "typeflow/cpu/ops/scatter.hpp"
#include "typeflow/ops/index/scatter_folds.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::ScatterDiv> : scatter_kernel<ops::ScatterDiv> {};
template <>
struct kernel_of<ops::ScatterUpdateMax> : scatter_kernel<ops::ScatterUpdateMax> {};
template <>
struct kernel_of<ops::ScatterUpdateMin> : scatter_kernel<ops::ScatterUpdateMin> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
