// SPDX-License-Identifier: Apache-2.0
#pragma once

// The passes of a compilation by name, and sets of them. A graph says which passes leave it as it
// is (ir::Graph::skipped), so that tests can compare results with and without a pass.

#include <cstdint>
#include <string_view>

#include "typeflow/core/pool.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class Graph;

/// In the order of lower/compile.hpp.
enum class Pass : std::uint8_t {
  recognize,          ///< primitives of control flow become branches and loops
  hoist,              ///< loop-invariant computations move in front of their loop
  multiply_outside,   ///< products of all slices with one matrix become one product
  transpose_outside,  ///< loop-invariant matrices are transposed in front of their loop
  place,              ///< devices
  simplify,
  find_multiply_adds,  ///< a * b + c becomes one operation; a part of simplify, not seen by itself
  distribute,          ///< operations on concatenations are done to their parts; its last part
  fuse,
  recompute,
  find_strided_views,
  find_parts,
};
inline constexpr int pass_count = 12;

constexpr std::string_view name_of(Pass pass) {
  constexpr std::string_view names[pass_count] = {
      "recognize", "hoist",     "multiply_outside",   "transpose_outside",
      "place",     "simplify",  "find_multiply_adds", "distribute",
      "fuse",      "recompute", "find_strided_views", "find_parts"};
  return names[static_cast<int>(pass)];
}

struct PassSet {
  unsigned bits = 0;

  constexpr bool has(Pass pass) const { return (bits >> static_cast<int>(pass) & 1u) != 0; }
  constexpr PassSet with(Pass pass) const { return {bits | 1u << static_cast<int>(pass)}; }
  constexpr bool empty() const { return bits == 0; }
};

/// The passes without which a graph can be compiled, too.
inline constexpr PassSet optional_passes = PassSet{}
                                               .with(Pass::hoist)
                                               .with(Pass::multiply_outside)
                                               .with(Pass::transpose_outside)
                                               .with(Pass::find_multiply_adds)
                                               .with(Pass::distribute)
                                               .with(Pass::fuse)
                                               .with(Pass::recompute)
                                               .with(Pass::find_strided_views)
                                               .with(Pass::find_parts);

struct Fused;

/// Sees a graph after each pass; for tests and for people (lower/describe_passes.hpp). Nothing is
/// called in constant evaluation.
struct PassObserver {
  /// `order`: the nodes in the graph, once they do not stand in the order of their numbers.
  /// `fused`: their clusters, once there are any.
  void (*see)(PassObserver&, Pass, const Graph&, const Pool<Id>* order, const Fused* fused);
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
