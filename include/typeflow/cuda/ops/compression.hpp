// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of parallel/compression.hpp.

#include "typeflow/cuda/loops.hpp"
#include "typeflow/parallel/compression.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

struct TruncateElement {
  const float* in;
  bfloat16* out;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    out[i] = truncate_to_bfloat16(in[i]);
  }
};

template <>
struct kernel_of<ops::TruncateToBfloat16> {
  template <class>
  static void run(const ops::TruncateToBfloat16&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    each(call, in->size(),
         TruncateElement{static_cast<const float*>(in->data), static_cast<bfloat16*>(out->data)});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
