// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/counting.hpp: a binary search for each value.

#include <cstdint>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/index/counting.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T>
struct SearchElement {
  const T* sorted;
  const T* values;
  std::int32_t* places;
  std::int64_t count;  ///< in a sorted row
  std::int64_t each;   ///< values for a row
  bool right;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    using C = Computed<T>;
    const T* const row = sorted + static_cast<std::int64_t>(i) / each * count;
    places[i] =
        ops::SearchSorted::place<C>([row](std::int64_t k) { return static_cast<C>(row[k]); }, count,
                                    static_cast<C>(values[i]), right);
  }
};

template <>
struct kernel_of<ops::SearchSorted> {
  template <class T>
  static void run(const ops::SearchSorted& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t per_row = in->extents.size() == 1 ? out->size() : in[1].extents.back();
    each(call, out->size(),
         SearchElement<T>{static_cast<const T*>(in[0].data), static_cast<const T*>(in[1].data),
                          static_cast<std::int32_t*>(out->data), in->extents.back(), per_row,
                          op.right != 0});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
