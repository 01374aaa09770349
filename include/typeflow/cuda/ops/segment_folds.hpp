// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/segment_folds.hpp: like ScatterSum's, with another fold.

#include "typeflow/cuda/ops/gather.hpp"
#include "typeflow/ops/index/segment_folds.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T>
struct FillElement {
  T* out;
  T value;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    out[i] = value;
  }
};

template <class O>
struct scatter_fold_kernel {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return fold_workspace(in[1], in[0]);
  }
  template <class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    using Fold = typename O::fold;
    const IndexLoops loops = typeflow::detail::index_loops(out->extents, in[1].extents, 0, 0);
    check_indices(call, op.indexing, in[1], loops.extent);
    T* const folded = static_cast<T*>(out->data);
    each(call, out->size(),
         FillElement<T>{folded, static_cast<T>(Fold::template identity<Computed<T>>())});
    scatter_slices<T>(call, loops, in[1], static_cast<const T*>(in[0].data), folded, nullptr,
                      FoldStep<Fold>{});
  }
};

template <>
struct kernel_of<ops::ScatterProd> : scatter_fold_kernel<ops::ScatterProd> {};
template <>
struct kernel_of<ops::ScatterMax> : scatter_fold_kernel<ops::ScatterMax> {};
template <>
struct kernel_of<ops::ScatterMin> : scatter_fold_kernel<ops::ScatterMin> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
