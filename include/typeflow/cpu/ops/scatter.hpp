// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter.hpp: slices of a variable changed in place, in the order of the
// indices.

#include "typeflow/cpu/ops/gather.hpp"
#include "typeflow/ops/index/scatter.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

template <class O>
struct scatter_kernel {
  template <class A, class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    const detail::IndexLoops loops = detail::index_loops(out->extents, in[1].extents, 0, 0);
    if (!check_indices(call, op.indexing, in[1], loops.extent)) return;
    scatter_slices(loops, in[1], static_cast<const T*>(in[0].data), static_cast<T*>(out->data),
                   call, [&](const T& a, const T& b) { return apply_element(op, a, b); });
  }
};

template <>
struct kernel_of<ops::ScatterAdd> : scatter_kernel<ops::ScatterAdd> {};
template <>
struct kernel_of<ops::ScatterSub> : scatter_kernel<ops::ScatterSub> {};
template <>
struct kernel_of<ops::ScatterMul> : scatter_kernel<ops::ScatterMul> {};
template <>
struct kernel_of<ops::ScatterUpdate> : scatter_kernel<ops::ScatterUpdate> {};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
