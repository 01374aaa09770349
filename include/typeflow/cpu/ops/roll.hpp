// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/shape/roll.hpp: along each rolled axis, two parts change places.

#include <cstdint>

#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/ops/shape/roll.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Roll> {
  template <class A>
  static void run(const ops::Roll& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (out->size() == 0) return;
    const Strides stride(*in);
    const int rank = static_cast<int>(out->extents.size());
    unsigned rolled = 0;
    for (int i = 0; i < rank; ++i) {
      if (op.start(i, out->extents[static_cast<std::size_t>(i)]) != 0) rolled |= 1u << i;
    }
    // The bits of `last`: axes whose last elements are copied, to their start.
    for (unsigned last = rolled;; last = (last - 1) & rolled) {
      StridedCopy copy(*out);
      std::int64_t from = 0;
      std::int64_t to = 0;
      for (int i = 0; i < rank; ++i) {
        const auto axis = static_cast<std::size_t>(i);
        const std::int64_t extent = out->extents[axis];
        const std::int64_t start = op.start(i, extent);
        const bool is_last = (last >> i & 1u) != 0;
        from += is_last ? (extent - start) * stride[axis] : 0;
        to += is_last ? 0 : start * stride[axis];
        copy.add_axis(is_last ? start : extent - start, stride[axis], stride[axis]);
      }
      visit_size(in->dtype, [&]<class T>(T) {
        copy.run(call, static_cast<const T*>(in->data) + from, static_cast<T*>(out->data) + to);
      });
      if (last == 0) break;
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
