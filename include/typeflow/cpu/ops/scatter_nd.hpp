// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter_nd.hpp and ops/state/assign_slice.hpp: slices of a copy of a tensor,
// or of a variable, replaced.

#include "typeflow/cpu/ops/gather.hpp"
#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/ops/index/scatter_nd.hpp"
#include "typeflow/ops/state/assign_slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::ReplaceSlices> {
  template <class A, class T>
  static void run(const ops::ReplaceSlices& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const detail::IndexLoops loops = detail::flat_loops(out->extents, in[2].size(), 1);
    if (!check_indices(call, op.indexing, in[2], loops.extent)) return;
    const T* const x = static_cast<const T*>(in[0].data);
    T* const y = static_cast<T*>(out->data);
    parallel(
        call, out->size(), grain_of_bytes(2 * sizeof(T)),
        [&](std::int64_t begin, std::int64_t end) { std::copy(x + begin, x + end, y + begin); });
    scatter_slices(loops, in[2], static_cast<const T*>(in[1].data), y, call,
                   [](const T&, const T& b) { return b; });
  }
};

template <>
struct kernel_of<ops::AssignSlice> {
  template <class A>
  static void run(const ops::AssignSlice& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (in->size() == 0) return;
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(*in);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      start += op.begin[i] * to[i];
      copy.add_axis(in->extents[i], from[i], op.step[i] * to[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run(call, static_cast<const T*>(in->data), static_cast<T*>(out->data) + start);
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
