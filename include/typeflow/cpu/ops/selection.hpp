// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/selection.hpp: finding positions is one pass in order, on one thread.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/index/selection.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::WhereIndex> {
  template <class A>
  static void run(const ops::WhereIndex&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const bool* const mask = static_cast<const bool*>(in->data);
    std::int32_t* row = static_cast<std::int32_t*>(out[0].data);
    const std::int64_t size = in->size();
    const std::int64_t bound = out[0].extents[0];
    const std::size_t rank = in->extents.size();
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < size; ++i) count += mask[i];
    if (count > bound) return call.fail({1, {bound, count}});
    for (std::int64_t i = 0, left = count; left > 0; ++i) {
      if (!mask[i]) continue;
      --left;
      std::int64_t rest = i;
      for (std::size_t axis = rank - 1; axis > 0; --axis) {
        row[axis] = static_cast<std::int32_t>(rest % in->extents[axis]);
        rest /= in->extents[axis];
      }
      row[0] = static_cast<std::int32_t>(rest);
      row += rank;
    }
    std::fill_n(row, (bound - count) * static_cast<std::int64_t>(rank), 0);
    *static_cast<std::int32_t*>(out[1].data) = static_cast<std::int32_t>(count);
  }
};

template <>
struct kernel_of<ops::Partition> {
  template <class A>
  static void run(const ops::Partition& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    std::int32_t* const positions = static_cast<std::int32_t*>(out[0].data);
    const std::int64_t size = in->size();
    const std::int64_t bound = out[0].size();
    std::int64_t count = 0;
    Failure wrong;
    visit_integer(in->dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(in->data);
      for (std::int64_t i = 0; i < size; ++i) {
        const auto part = static_cast<std::int64_t>(x[i]);
        if (part < 0 || part >= op.parts) {
          wrong = ops::Partition::wrong_part(part, i);
          return;
        }
        if (part != op.part) continue;
        if (count < bound) positions[count] = static_cast<std::int32_t>(i);
        ++count;
      }
    });
    if (wrong.what == 0 && count > bound) {
      wrong = ops::Partition::no_room(in->dtype, bound, count);
    }
    if (wrong.what != 0) return call.fail(wrong);
    std::fill(positions + count, positions + bound, -1);
    *static_cast<std::int32_t*>(out[1].data) = static_cast<std::int32_t>(count);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
