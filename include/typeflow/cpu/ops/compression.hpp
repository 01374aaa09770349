// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of parallel/compression.hpp.

#include <cstdint>

#include "typeflow/cpu/call.hpp"
#include "typeflow/parallel/compression.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::TruncateToBfloat16> {
  template <class A>
  static void run(const ops::TruncateToBfloat16&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto* const from = static_cast<const float*>(in->data);
    auto* const to = static_cast<bfloat16*>(out->data);
    parallel(call, in->size(), grain_of_cost(4), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = truncate_to_bfloat16(from[i]);
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
