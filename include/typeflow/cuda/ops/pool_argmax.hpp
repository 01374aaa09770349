// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/pool_argmax.hpp.

#include <cstdint>

#include "typeflow/cuda/ops/pool.hpp"
#include "typeflow/ops/nn/pool_argmax.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T, class Loops>
struct MaxPoolArgmaxElement;
template <class T, class Index, int N>
struct MaxPoolArgmaxElement<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = false;
  PoolLoops<Index, N> loops;
  const T* x;
  std::int64_t* out;
  std::int64_t image_size;  ///< subtracted for each image before this one

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    const PoolPoint<Index> place = loops.place(static_cast<Index>(at));
    const auto found = loops.largest(place, x);
    const std::int64_t first = static_cast<std::int64_t>(place.image) * image_size;
    Packet<std::int64_t, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) {
      result.element[n] =
          static_cast<std::int64_t>(loops.offset(found.pixel[n], place)) + n - first;
    }
    store_channels<N>(out + at * N, result);
  }
};

template <>
struct kernel_of<ops::MaxPoolArgmax> {
  template <class T>
  static void run(const ops::MaxPoolArgmax& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolImage image(op.window, in->extents);
    const std::int64_t image_size =
        op.include_batch != 0 ? 0 : image.in[0] * image.in[1] * image.in[2] * image.channels;
    each_pool<MaxPoolArgmaxElement, T>(call, image, static_cast<const T*>(in[0].data),
                                       static_cast<std::int64_t*>(out->data), image_size);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
