// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of candidate samplers. Their workspace is a hash table of the drawn classes.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "typeflow/candidate_sampling/samplers.hpp"
#include "typeflow/candidate_sampling/unigram.hpp"
#include "typeflow/cpu/call.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The classes drawn so far, as a hash table in the workspace.
class DrawnClasses {
 public:
  static std::int64_t bytes(std::int64_t classes) {
    return checked_product(slot_count(classes), sizeof(std::int32_t));
  }
  DrawnClasses(void* memory, std::int64_t classes)
      : table_(static_cast<std::int32_t*>(memory)),
        slots_(slot_count(classes)),
        shift_(64 - std::countr_zero(static_cast<std::uint64_t>(slots_))) {
    std::fill_n(table_, slots_, -1);
  }
  /// Adds a class; false if it was there. (Multiplicative hashing, as in unique.)
  bool insert(std::int32_t id) {
    auto slot =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15ull >> shift_);
    while (table_[slot] != -1 && table_[slot] != id) slot = (slot + 1) & (slots_ - 1);
    if (table_[slot] == id) return false;
    table_[slot] = id;
    return true;
  }

 private:
  /// Open addressing: the number of slots is a power of two, at least two for each class.
  static std::int64_t slot_count(std::int64_t classes) {
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(2 * classes, 2))));
  }

  std::int32_t* table_;  ///< of classes, or -1
  std::int64_t slots_;
  int shift_;
};

template <>
struct kernel_of<ops::CandidateSampler> {
  static std::int64_t workspace(const std::int64_t* extents) {
    return DrawnClasses::bytes(extents[0]);
  }

  template <class A>
  static void run(const ops::CandidateSampler& op, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    std::int32_t* const ids = static_cast<std::int32_t*>(out[0].data);
    DrawnClasses drawn(call.workspace, out[0].size());
    *static_cast<std::int64_t*>(out[1].data) =
        op.draw(call.random, out[0].size(), [&](std::int64_t i, std::int32_t id) {
          if (op.unique != 0 && !drawn.insert(id)) return false;
          ids[i] = id;
          return true;
        });
  }
};

template <>
struct kernel_of<ops::UnigramSampler> {
  static std::int64_t workspace(const Tensor*, const Tensor* out) {
    return DrawnClasses::bytes(out->size());
  }

  template <class A>
  static void run(const ops::UnigramSampler& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    std::int32_t* const ids = static_cast<std::int32_t*>(out[0].data);
    const double* const sums = static_cast<const double*>(in->data);
    const auto sum = [&](std::int64_t i) { return sums[i]; };
    const Failure wrong = op.find_wrong(sum, in->size(), out[0].size());
    if (wrong.what != 0) return call.fail(wrong);
    DrawnClasses drawn(call.workspace, out[0].size());
    *static_cast<std::int64_t*>(out[1].data) =
        op.draw(call.random, sum, in->size(), out[0].size(), [&](std::int64_t i, std::int32_t id) {
          if (op.unique != 0 && !drawn.insert(id)) return false;
          ids[i] = id;
          return true;
        });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
