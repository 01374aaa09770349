// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/random/shuffle.hpp.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/random/shuffle.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::RandomPermutation> {
  using Ticket = ops::RandomPermutation::Ticket;

  static std::int64_t workspace(const std::int64_t* extents) {
    return checked_product(extents[0], sizeof(Ticket));
  }

  template <class A>
  static void run(const ops::RandomPermutation& op, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    Ticket* const tickets = static_cast<Ticket*>(call.workspace);
    std::int32_t* const y = static_cast<std::int32_t*>(out->data);
    const std::int64_t size = out->size();
    parallel(call, size, chunk_size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::construct_at(tickets + i, op.ticket(call.random, static_cast<std::int32_t>(i)));
      }
    });
    std::sort(tickets, tickets + size);
    for (std::int64_t i = 0; i < size; ++i) y[i] = tickets[i].index;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
