// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of bitcast: a copy of bytes.

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/elementwise/bitcast.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <>
struct kernel_of<ops::Bitcast> {
  template <class>
  static void run(const ops::Bitcast&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    copy_bytes(call, out->data, in->data, in->size() * size_of(in->dtype));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
