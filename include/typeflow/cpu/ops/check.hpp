// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of check. It throws the Error, with the tensors that the text shows.

#include <cstdint>

#include "typeflow/cpu/call.hpp"
#include "typeflow/ops/state/check.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Check> {
  template <class A>
  static void run(const ops::Check& op, const Tensor* in, const Tensor*, const KernelCall&) {
    const auto* const condition = static_cast<const bool*>(in->data);
    bool all = true;
    for (std::int64_t i = 0; i < in->size(); ++i) all &= condition[i];
    if (!all) fail(op, in);
  }

 private:
  static void fail(const ops::Check& op, const Tensor* in);
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

#ifndef TYPEFLOW_COMPILED
#include "typeflow/cpu/ops/check.ipp"
#endif
