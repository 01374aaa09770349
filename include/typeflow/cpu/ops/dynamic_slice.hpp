// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/dynamic_slice.hpp: strided copies from and to the place that the starts
// give.

#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/index/dynamic_slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The place of a window's first element in a tensor.
inline std::int64_t window_start(const Tensor& starts, const Tensor& window, const Tensor& whole,
                                 const Strides& stride) {
  std::int64_t at = 0;
  visit_integer(starts.dtype, [&](auto zero) {
    const auto* const start = static_cast<const decltype(zero)*>(starts.data);
    for (std::size_t i = 0; i < window.extents.size(); ++i) {
      at += ops::DynamicSlice::clamped(detail::to_index(start[i]), whole.extents[i],
                                       window.extents[i]) *
            stride[i];
    }
  });
  return at;
}

template <>
struct kernel_of<ops::DynamicSlice> {
  template <class A>
  static void run(const ops::DynamicSlice&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (out->size() == 0) return;
    const Strides from(*in);
    const Strides to(*out);
    const std::int64_t start = window_start(in[1], *out, *in, from);
    StridedCopy copy(*out);
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      copy.add_axis(out->extents[i], from[i], to[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run(call, static_cast<const T*>(in->data) + start, static_cast<T*>(out->data));
    });
  }
};

template <>
struct kernel_of<ops::DynamicUpdateSlice> {
  template <class A>
  static void run(const ops::DynamicUpdateSlice&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (out->size() == 0) return;
    const Tensor& window = in[1];
    const Strides from(window);
    const Strides to(*out);
    const std::int64_t start = window_start(in[2], window, *out, to);
    StridedCopy whole(*out);
    whole.add_axis(out->size(), 1, 1);
    StridedCopy copy(window);
    for (std::size_t i = 0; i < window.extents.size(); ++i) {
      copy.add_axis(window.extents[i], from[i], to[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      T* const y = static_cast<T*>(out->data);
      whole.run(call, static_cast<const T*>(in->data), y);
      copy.run(call, static_cast<const T*>(window.data), y + start);
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
