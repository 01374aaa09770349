// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter_folds.hpp.

#include "typeflow/cuda/ops/scatter.hpp"
#include "typeflow/ops/index/scatter_folds.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class O, class Step>
struct scatter_step_kernel : scatter_kernel<O> {
  template <class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    change_slices(op, in, out, call, [&](const IndexLoops& loops, const Failure* found) {
      scatter_slices<T>(call, loops, in[1], static_cast<const T*>(in[0].data),
                        static_cast<T*>(out->data), found, FoldStep<Step>{});
    });
  }
};
template <>
struct kernel_of<ops::ScatterDiv> : scatter_step_kernel<ops::ScatterDiv, ops::Div> {};
template <>
struct kernel_of<ops::ScatterUpdateMax> : scatter_step_kernel<ops::ScatterUpdateMax, ops::Maximum> {
};
template <>
struct kernel_of<ops::ScatterUpdateMin> : scatter_step_kernel<ops::ScatterUpdateMin, ops::Minimum> {
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
