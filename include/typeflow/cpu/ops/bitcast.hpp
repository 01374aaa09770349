// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of bitcast: a copy of bytes.

#include <cstring>

#include "typeflow/cpu/call.hpp"
#include "typeflow/ops/elementwise/bitcast.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Bitcast> {
  template <class A>
  static void run(const ops::Bitcast&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto* const from = static_cast<const std::byte*>(in->data);
    auto* const to = static_cast<std::byte*>(out->data);
    parallel(call, in->size() * size_of(in->dtype), grain_of_bytes(2),
             [&](std::int64_t begin, std::int64_t end) {
               std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
             });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
