// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/positions.hpp: one pass in order, on one thread.

#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/index/positions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::InvertPermutation> {
  template <class A>
  static void run(const ops::InvertPermutation&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto run_as = [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(in->data);
      T* const y = static_cast<T*>(out->data);
      return ops::InvertPermutation::invert(
          in->size(), [&](std::int64_t i) { return static_cast<std::int64_t>(x[i]); },
          [&](std::int64_t k, std::int64_t i) { y[k] = static_cast<T>(i); },
          [&](std::int64_t k) { return static_cast<std::int64_t>(y[k]); });
    };
    const Failure wrong =
        in->dtype == DType::int32 ? run_as(std::int32_t{}) : run_as(std::int64_t{});
    if (wrong.what != 0) call.fail(wrong);
  }
};

template <>
struct kernel_of<ops::UnravelIndex> {
  template <class A>
  static void run(const ops::UnravelIndex&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t count = in->size();
    visit_integer(in->dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(in->data);
      T* const y = static_cast<T*>(out->data);
      const Failure wrong = ops::UnravelIndex::unravel(
          count, {in[1].extents.data(), in[1].extents.size()},
          [&](std::int64_t i) { return detail::to_index(x[i]); },
          [&](std::int64_t axis, std::int64_t i, std::int64_t c) {
            y[axis * count + i] = static_cast<T>(c);
          });
      if (wrong.what != 0) call.fail(wrong);
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
