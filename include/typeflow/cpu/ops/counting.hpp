// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/counting.hpp: a binary search for each value.

#include <bit>
#include <cstdint>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/index/counting.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::SearchSorted> {
  template <class A, class T>
  static void run(const ops::SearchSorted& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    using C = detail::Computed<T>;
    const std::int64_t n = in->extents.back();
    const std::int64_t each = in->extents.size() == 1 ? out->size() : in[1].extents.back();
    const T* const values = static_cast<const T*>(in[1].data);
    std::int32_t* const places = static_cast<std::int32_t*>(out->data);
    // Each step of a search waits for the one before, some 2 ns.
    const std::int64_t cost =
        200 * (1 + static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))));
    parallel(call, out->size(), grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* const row = static_cast<const T*>(in->data) + i / each * n;
        const auto at = [&](std::int64_t k) { return static_cast<C>(row[k]); };
        places[i] = ops::SearchSorted::place<C>(at, n, static_cast<C>(values[i]), op.right != 0);
      }
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
