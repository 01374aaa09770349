// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/random/shuffle.hpp.

#include <cstdint>

#include "typeflow/cuda/sorting.hpp"
#include "typeflow/ops/random/shuffle.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

struct TicketKeys {
  ops::RandomPermutation op;
  RandomSource random;

  TYPEFLOW_DEVICE std::uint64_t operator()(std::int64_t i) const {
    return op.ticket(random.state(), static_cast<std::int32_t>(i)).number;
  }
};

struct WritePosition {
  const std::uint32_t* order;
  std::int32_t* out;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    out[i] = static_cast<std::int32_t>(order[i]);
  }
};

template <>
struct kernel_of<ops::RandomPermutation> {
  static std::int64_t workspace(const std::int64_t* extents) {
    return sort_workspace<std::uint64_t>(1, extents[0]);
  }
  template <class>
  static void run(const ops::RandomPermutation& op, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    const auto sorted = sort_rows(call, TicketKeys{op, random_source(call)}, 1, out->size(), 64);
    each(call, out->size(), WritePosition{sorted.positions, static_cast<std::int32_t*>(out->data)});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
