// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of saving and restoring.

#include <cstddef>

#include "typeflow/cpu/call.hpp"
#include "typeflow/saving/operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::SaveVariables> {
  template <class A>
  static void run(const ops::SaveVariables&, const Tensor* in, const Tensor* out,
                  const KernelCall&) {
    save(in, static_cast<std::size_t>(out - in) - 2);
  }

 private:
  static void save(const Tensor* in, std::size_t count);
};

template <>
struct kernel_of<ops::RestoreTensor> {
  template <class A>
  static void run(const ops::RestoreTensor&, const Tensor* in, const Tensor* out,
                  const KernelCall&) {
    restore(in, *out);
  }

 private:
  static void restore(const Tensor* in, const Tensor& y);
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/kernels.ipp"
#endif
