// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/dynamic_slice.hpp: copies from and to the place that the starts give. Each
// thread reads the starts, which are in the GPU's memory.

#include <cstdint>

#include "typeflow/cuda/ops/movement.hpp"
#include "typeflow/ops/index/dynamic_slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The place of a window's first element in a tensor.
struct WindowStart {
  Indices starts;
  CopyAxes axes;  ///< of the window: from is the tensor's extent, to its stride

  WindowStart(const Tensor& its_starts, const Tensor& window, const Tensor& whole)
      : starts(its_starts), axes{} {
    const Strides stride(whole);
    for (std::size_t i = 0; i < window.extents.size(); ++i) {
      axes.axis[axes.rank++] = {window.extents[i], whole.extents[i], stride[i]};
    }
  }
  TYPEFLOW_DEVICE std::int64_t operator()() const {
    std::int64_t at = 0;
    for (int k = 0; k < axes.rank; ++k) {
      const CopyAxis& axis = axes.axis[k];
      at += ops::DynamicSlice::clamped(starts[k], axis.from, axis.extent) * axis.to;
    }
    return at;
  }
};

/// A copy of which one side starts at the window.
template <int N, bool ToWindow>
struct WindowUnit {
  CopyUnit<N> copy;
  WindowStart start;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    copy.move(i, ToWindow ? 0 : start(), ToWindow ? start() : 0);
  }
};

template <bool ToWindow>
void copy_window(const KernelCall& call, const StridedCopy& copy, const WindowStart& start,
                 const void* in, const Tensor& out) {
  visit_size(out.dtype, [&]<int N>(Unit<N>) {
    each(call, copy.size(),
         WindowUnit<N, ToWindow>{
             {static_cast<const Unit<N>*>(in), static_cast<Unit<N>*>(out.data), copy.axes()},
             start});
  });
}

template <>
struct kernel_of<ops::DynamicSlice> {
  template <class>
  static void run(const ops::DynamicSlice&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(out->dtype);
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      copy.add_axis(out->extents[i], from[i], to[i]);
    }
    copy_window<false>(call, copy, WindowStart(in[1], *out, *in), in->data, *out);
  }
};

template <>
struct kernel_of<ops::DynamicUpdateSlice> {
  template <class>
  static void run(const ops::DynamicUpdateSlice&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const Tensor& window = in[1];
    const Strides from(window);
    const Strides to(*out);
    StridedCopy copy(out->dtype);
    for (std::size_t i = 0; i < window.extents.size(); ++i) {
      copy.add_axis(window.extents[i], from[i], to[i]);
    }
    copy_bytes(call, out->data, in->data, out->size() * size_of(out->dtype));
    copy_window<true>(call, copy, WindowStart(in[2], window, *out), window.data, *out);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
