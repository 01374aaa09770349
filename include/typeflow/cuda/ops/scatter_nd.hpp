// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter_nd.hpp and ops/state/assign_slice.hpp: slices of a copy of a tensor,
// or of a variable, replaced.

#include "typeflow/cuda/ops/gather.hpp"
#include "typeflow/cuda/ops/movement.hpp"
#include "typeflow/ops/index/scatter_nd.hpp"
#include "typeflow/ops/state/assign_slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <>
struct kernel_of<ops::ReplaceSlices> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return scatter_workspace(in[2]);
  }
  template <class>
  static void run(const ops::ReplaceSlices& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const IndexLoops loops = typeflow::detail::flat_loops(out->extents, in[2].size(), 1);
    check_indices(call, op.indexing, in[2], loops.extent);
    copy_bytes(call, out->data, in[0].data, out->size() * size_of(out->dtype));
    visit_size(out->dtype, [&]<int N>(Unit<N>) {
      scatter_slices<Unit<N>>(call, loops, in[2], static_cast<const Unit<N>*>(in[1].data),
                              static_cast<Unit<N>*>(out->data), nullptr, ReplaceStep{});
    });
  }
};

template <>
struct kernel_of<ops::AssignSlice> {
  template <class>
  static void run(const ops::AssignSlice& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (in->size() == 0) return;
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(out->dtype);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      start += op.begin[i] * to[i];
      copy.add_axis(in->extents[i], from[i], op.step[i] * to[i]);
    }
    copy.run(call, in->data, result_at(*out, start));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
