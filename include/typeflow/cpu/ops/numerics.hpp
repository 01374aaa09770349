// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernels of check_numerics, a copy that counts elements that are not finite, and of dropout's
// check.

#include <atomic>
#include <cmath>
#include <cstring>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/nn/dropout.hpp"
#include "typeflow/ops/elementwise/numerics.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::CheckNumerics> {
  template <class A>
  static void run(const ops::CheckNumerics&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    visit_dtype(in->dtype, [&](auto zero) {
      if constexpr (is_floating(dtype_of<decltype(zero)>)) {
        check(static_cast<const decltype(zero)*>(in->data), static_cast<decltype(zero)*>(out->data),
              in->size(), call);
      }
    });
  }

 private:
  template <class T>
  static void check(const T* x, T* y, std::int64_t size, const KernelCall& call) {
    std::atomic<std::int64_t> nan{0};
    std::atomic<std::int64_t> infinite{0};
    parallel(call, size, grain_of_cost(2 + sizeof(T)), [&](std::int64_t begin, std::int64_t end) {
      std::int64_t nan_here = 0;
      std::int64_t infinite_here = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto e = static_cast<Computed<T>>(x[i]);
        nan_here += std::isnan(e);
        infinite_here += std::isinf(e);
        y[i] = x[i];
      }
      if (nan_here > 0) nan += nan_here;
      if (infinite_here > 0) infinite += infinite_here;
    });
    if (nan + infinite > 0) call.fail({1, {nan, infinite, size}});
  }
};

template <>
struct kernel_of<ops::CheckKeep> {
  template <class A, class T>
  static void run(const ops::CheckKeep&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const T keep = *static_cast<const T*>(in->data);
    const Failure wrong =
        ops::CheckKeep::check(static_cast<double>(static_cast<Computed<T>>(keep)));
    if (wrong.what != 0) return call.fail(wrong);
    *static_cast<T*>(out->data) = keep;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
