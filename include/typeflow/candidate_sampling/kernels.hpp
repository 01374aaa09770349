// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of candidate samplers. Its workspace is a hash table of the drawn classes.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "typeflow/candidate_sampling/samplers.hpp"
#include "typeflow/cpu/call.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::CandidateSampler> {
  static std::int64_t workspace(const std::int64_t* extents) {
    return checked_product(slot_count(extents[0]), sizeof(std::int32_t));
  }

  template <class A>
  static void run(const ops::CandidateSampler& op, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    std::int32_t* const ids = static_cast<std::int32_t*>(out[0].data);
    std::int32_t* const table = static_cast<std::int32_t*>(call.workspace);  // of ids, or -1
    const std::int64_t slots = slot_count(out[0].size());
    const int shift = 64 - std::countr_zero(static_cast<std::uint64_t>(slots));
    std::fill_n(table, slots, -1);
    *static_cast<std::int64_t*>(out[1].data) =
        op.draw(call.random, out[0].size(), [&](std::int64_t i, std::int32_t id) {
          if (op.unique != 0) {  // multiplicative hashing, as in unique
            auto slot = static_cast<std::int64_t>(
                static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15ull >> shift);
            while (table[slot] != -1 && table[slot] != id) slot = (slot + 1) & (slots - 1);
            if (table[slot] == id) return false;
            table[slot] = id;
          }
          ids[i] = id;
          return true;
        });
  }

 private:
  /// Open addressing: the number of slots is a power of two, at least two for each class.
  static std::int64_t slot_count(std::int64_t classes) {
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(2 * classes, 2))));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
