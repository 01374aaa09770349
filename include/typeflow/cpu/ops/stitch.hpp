// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/stitch.hpp: one pass over the rows in order, on one thread, so that the
// last row for a place wins.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/index/stitch.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::LastPositions> {
  template <class A>
  static void run(const ops::LastPositions& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    std::int32_t* const y = static_cast<std::int32_t*>(out->data);
    std::fill_n(y, out->size(), -1);
    const std::int64_t rows = in->extents[0];
    visit_integer(in->dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* index = static_cast<const T*>(in->data);
      for (std::int64_t row = 0; row < rows; ++row, index += op.rank) {
        if (detail::to_index(index[0]) == -1) continue;
        std::int64_t place = 0;
        for (int axis = 0; axis < op.rank; ++axis) {
          const std::int64_t extent = out->extents[static_cast<std::size_t>(axis)];
          const std::int64_t i = detail::to_index(index[axis]);
          if (i < 0 || i >= extent) return call.fail({1, {i, row, axis, extent}});
          place = place * extent + i;
        }
        y[place] = static_cast<std::int32_t>(row);
      }
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
