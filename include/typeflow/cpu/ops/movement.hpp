// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of transpose, slice and reverse.

#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Axis i of the result is axis permutation[i] of x.
template <>
struct kernel_of<ops::Transpose> {
  template <class A>
  static void run(const ops::Transpose& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(*out);
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      copy.add_axis(out->extents[i], from[static_cast<std::size_t>(op.permutation[i])], to[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run(call, static_cast<const T*>(in->data), static_cast<T*>(out->data));
    });
  }
};

template <>
struct kernel_of<ops::Slice> {
  template <class A>
  static void run(const ops::Slice& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t* const window = out->extents.data();
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(*out);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      const int axis = static_cast<int>(i);
      const Failure wrong = ops::Slice::outside(op, axis, window, in->extents[i]);
      if (wrong.what != 0) return call.fail(wrong);
      start += op.offset(axis, window) * from[i];
      copy.add_axis(window[i], op.step[i] * from[i], to[i]);
    }
    if (out->size() == 0) return;
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run(call, static_cast<const T*>(in->data) + start, static_cast<T*>(out->data));
    });
  }
};

template <>
struct kernel_of<ops::Reverse> {
  template <class A>
  static void run(const ops::Reverse& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (out->size() == 0) return;
    const Strides stride(*in);
    StridedCopy copy(*out);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      const std::int64_t extent = out->extents[i];
      const bool reversed = (op.axes >> i & 1u) != 0;
      if (reversed) start += (extent - 1) * stride[i];
      copy.add_axis(extent, reversed ? -stride[i] : stride[i], stride[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run(call, static_cast<const T*>(in->data) + start, static_cast<T*>(out->data));
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
