// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/lrn.hpp: sums over neighbouring channels, in their order.

#include <cstdint>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/nn/lrn.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T>
struct WindowSumElement {
  const T* x;
  T* y;
  std::int64_t channels;
  std::int64_t radius;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    using C = Computed<T>;
    Index rest = at;
    const std::int64_t c = next_digit(rest, channels);
    const T* const row = x + static_cast<std::int64_t>(rest) * channels;
    const std::int64_t first = c > radius ? c - radius : 0;
    const std::int64_t last = c + radius < channels ? c + radius : channels - 1;
    C sum = C(0);
    for (std::int64_t j = first; j <= last; ++j) sum = sum + static_cast<C>(row[j]);
    y[at] = static_cast<T>(sum);
  }
};

template <>
struct kernel_of<ops::WindowSum> {
  template <class T>
  static void run(const ops::WindowSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    each(call, in->size(),
         WindowSumElement<T>{static_cast<const T*>(in->data), static_cast<T*>(out->data),
                             in->extents.back(), op.radius});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
