// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/fractional_pool.hpp: the borders of the regions.

#include <cstdint>

#include "typeflow/cpu/call.hpp"
#include "typeflow/ops/nn/fractional_pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::PoolingSequence> {
  template <class A>
  static void run(const ops::PoolingSequence& op, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    auto* const y = static_cast<std::int64_t*>(out->data);
    op.draw(call.random, out->size() - 1,
            [&](std::int64_t i, std::int64_t border) { y[i] = border; });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
