// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/pool_argmax.hpp.

#include <cstdint>

#include "typeflow/cuda/ops/pool.hpp"
#include "typeflow/ops/nn/pool_argmax.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T>
struct MaxPoolArgmaxElement {
  PoolLoops loops;
  const T* x;
  const T* y;
  std::int64_t* out;
  std::int64_t image_size;  ///< subtracted for each image before this one

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const PoolPoint place = loops.place(at);
    out[at] = loops.largest(place, x, y[at]) - place.image * image_size;
  }
};

template <>
struct kernel_of<ops::MaxPoolArgmax> {
  template <class T>
  static void run(const ops::MaxPoolArgmax& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops loops(op.window, *in);
    const std::int64_t* const size = loops.image.in;
    const std::int64_t image_size =
        op.include_batch != 0 ? 0 : size[0] * size[1] * size[2] * loops.image.channels;
    each(call, loops.results(),
         MaxPoolArgmaxElement<T>{loops, static_cast<const T*>(in[0].data),
                                 static_cast<const T*>(in[1].data),
                                 static_cast<std::int64_t*>(out->data), image_size});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
