// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/segment_folds.hpp: like ScatterSum's, with another fold.

#include "typeflow/cpu/ops/gather.hpp"
#include "typeflow/ops/index/segment_folds.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class O>
struct scatter_fold_kernel {
  template <class A, class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    using Fold = typename O::fold;
    const detail::IndexLoops loops = detail::index_loops(out->extents, in[1].extents, 0, 0);
    if (!check_indices(call, op.indexing, in[1], loops.extent)) return;
    T* const folded = static_cast<T*>(out->data);
    const T identity = static_cast<T>(Fold::template identity<detail::Computed<T>>());
    parallel(call, out->size(), grain_of_bytes(sizeof(T)),
             [&](std::int64_t begin, std::int64_t end) {
               std::fill(folded + begin, folded + end, identity);
             });
    scatter_slices(loops, in[1], static_cast<const T*>(in[0].data), folded, call,
                   [](const T& a, const T& b) { return apply_element(Fold{}, a, b); });
  }
};

template <>
struct kernel_of<ops::ScatterProd> : scatter_fold_kernel<ops::ScatterProd> {};
template <>
struct kernel_of<ops::ScatterMax> : scatter_fold_kernel<ops::ScatterMax> {};
template <>
struct kernel_of<ops::ScatterMin> : scatter_fold_kernel<ops::ScatterMin> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
