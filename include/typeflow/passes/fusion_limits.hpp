// SPDX-License-Identifier: Apache-2.0
#pragma once

// Limits of the passes that choose kernels. Tests and fuzzers compile with others.

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Not constexpr, so that the compiler's message names it when a limit calls it.
inline void a_limit_of_fusion_is_beyond_what_clusters_and_kernels_hold() {}

/// A number from 1 to Most, or the program does not compile. (The default is a template argument:
/// clang 16 evaluates no consteval constructor in a default member initialiser.)
template <int Default, int Most>
struct Limit {
  static_assert(Default >= 1 && Default <= Most,
                "a limit of fusion is beyond what clusters and kernels hold");
  int value = Default;
  constexpr Limit() = default;
  consteval Limit(int limit) : value(limit) {  // NOLINT: {.members = 5} needs the conversion
    if (limit < 1 || limit > Most) a_limit_of_fusion_is_beyond_what_clusters_and_kernels_hold();
  }
  constexpr operator int() const { return value; }  // NOLINT: is a number
};

/// Limits of a cluster, so that a kernel's operands stay in registers; and the most that it can
/// hold.
struct FusionLimits {
  static constexpr int most_members = 48;
  static constexpr int most_inputs = 16;
  static constexpr int most_phases = 8;

  Limit<40, most_members> members{};  ///< nodes
  Limit<12, most_inputs> tensors{};   ///< operands that are no scalars
  Limit<16, most_inputs> inputs{};    ///< operands
  Limit<4, most_phases> phases{};     ///< loops over a row
  /// The fewest elements that lie together in a strided view; fewer are cheaper to copy.
  Limit<8, 1 << 20> run{};
  /// The fewest elements of a gathered row that is read in place. Kernels of shorter rows compute
  /// several at a time, and want them side by side.
  Limit<33, 1 << 20> row{};
  /// The fewest elements that lie together in a part of a concatenation, and those of it in all,
  /// for which an operation on it is done to the parts: each is a kernel.
  Limit<32, 1 << 20> part{};
  Limit<4096, 1 << 20> joined{};
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
