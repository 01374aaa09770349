// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/counting.hpp: a binary search for each value.

#include <algorithm>
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
    const std::int64_t cost =
        50 * (1 + static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))));
    parallel(call, out->size(), grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end;) {
        const T* const row = static_cast<const T*>(in->data) + i / each * n;
        const std::int64_t end_of_row = std::min(end, (i / each + 1) * each);
        for (; i + together <= end_of_row; i += together) {
          op.right != 0 ? search<true>(row, n, values + i, places + i)
                        : search<false>(row, n, values + i, places + i);
        }
        const auto at = [&](std::int64_t k) { return static_cast<C>(row[k]); };
        for (; i < end_of_row; ++i) {
          places[i] = ops::SearchSorted::place<C>(at, n, static_cast<C>(values[i]), op.right != 0);
        }
      }
    });
  }

 private:
  /// Values that are searched for at once: each step of a search waits for the one before.
  static constexpr int together = 16;

  /// As ops::SearchSorted::place of each of `together` values, without branches.
  template <bool Right, class T>
  static void search(const T* row, std::int64_t n, const T* values, std::int32_t* places) {
    using C = detail::Computed<T>;
    const std::int32_t last = static_cast<std::int32_t>(n) - 1;
    C value[together];
    std::int32_t low[together] = {};
    std::int32_t count[together];
    for (int k = 0; k < together; ++k) {
      value[k] = static_cast<C>(values[k]);
      count[k] = last + 1;
    }
    for (int steps = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))); steps > 0;
         --steps) {
      for (int k = 0; k < together; ++k) {
        const std::int32_t half = count[k] / 2;
        const std::int32_t middle = low[k] + half;
        const C element = static_cast<C>(row[std::min(middle, last)]);
        const bool in_front =
            (count[k] != 0) & ops::SearchSorted::in_front<C>(element, value[k], Right);
        const std::int32_t mask = -static_cast<std::int32_t>(in_front);
        low[k] += mask & (half + 1);
        count[k] = half + (mask & ((count[k] & 1) - 1));  // or what is behind the middle
      }
    }
    std::copy(low, low + together, places);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
