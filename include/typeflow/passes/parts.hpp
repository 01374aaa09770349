// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts: values that are computed directly in the memory of a tensor that is put together from
// them.
//
// A concatenation computes nothing, nor does a pad inside of its borders. If nothing else reads an
// operand, and a loop or a contraction computes it, that kernel can store its elements where they
// belong in the result: they are written once. The operation stays a step, for its borders and for
// operands that others compute. The result has memory from its first part on.

#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/strided_views.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class PartFinder {
 public:
  constexpr PartFinder(const Simplified& simplified, Fused& fused, const Roots& roots,
                       const Pool<Id>& stored, const FusionLimits& limits)
      : graph_(simplified.graph), fused_(fused), limits_(limits) {
    for (const Cluster& c : fused_.clusters) {
      if (c.kind != ClusterKind::single || c.merged) continue;
      const Node& node = graph_.nodes.items[c.first];
      if (node.op->holds_inputs) wholes_.push(c.first);
    }
    if (wholes_.empty()) return;
    reads_ = Pool<int>(graph_.values.size(), 0);
    count_reads();
    // Named values have memory of their own.
    for (const Id value : roots.values) pin(simplified.map[value]);
    for (const Id value : stored) pin(simplified.map[value]);
  }

  constexpr void run() {
    for (const Id id : wholes_) {
      const Node& node = graph_.nodes.items[id];
      for (int k = 0; k < node.inputs.count; ++k) consider(node, k);
    }
  }

 private:
  constexpr void count_reads() {
    for (const Cluster& c : fused_.clusters) {
      if (c.merged) continue;
      if (c.kind != ClusterKind::single) {
        for (int i = 0; i < c.inputs; ++i) ++reads_[c.input[i]];
        continue;
      }
      const Node& node = graph_.nodes.items[c.first];
      for (Id k = 0; k < node.inputs.count; ++k)
        ++reads_[fused_.storage.items[graph_.input(node, k)]];
    }
    // An assignment in the cluster of its value may still get a cluster of its own.
    for (const Id id : fused_.order) {
      const Node& node = graph_.nodes.items[id];
      if (node.op->kind != Kind::write || fused_.needs.items[id] == NeedSets::nobody) continue;
      ++reads_[fused_.storage.items[graph_.input(node, 1)]];
    }
  }
  constexpr void pin(Id value) {
    if (value == none || fused_.needs.items[graph_.values.items[value].node] == NeedSets::nobody)
      return;
    ++reads_[fused_.storage.items[value]];
  }

  /// Considers operand k of an operation that puts its operands into its result.
  constexpr void consider(const Node& node, int k) {
    const Id operand = graph_.input(node, k);
    const Id value = fused_.storage.items[operand];
    if (reads_[value] != 1) return;
    const Id producer = graph_.values.items[value].node;
    const Id cluster = fused_.cluster_of.items[producer];
    if (cluster == none || fused_.is_row.items[producer] != 0) return;
    const Cluster& c = fused_.clusters.items[cluster];
    if (c.kind == ClusterKind::single || !(c.device == node.device)) return;
    const Id whole = node.outputs.first;
    if (!can_index(graph_.dims_of(whole)) || !can_index(graph_.dims_of(operand))) return;
    Part part{value, whole, operand, {}};
    if (!node.op->input_layout(graph_, node, k, part.layout) || !can_store(c, part)) return;
    if (fused_.part_of.empty()) fused_.part_of = Pool<Id>(graph_.values.size(), none);
    fused_.part_of[value] = fused_.parts.push(part);
  }
  constexpr bool can_store(const Cluster& c, const Part& part) const {
    // Loops that fold over an axis that is not the innermost go down columns.
    if (c.rank == 0 || (c.reduced != 0 && (c.reduced >> (c.rank - 1) & 1u) == 0)) return false;
    const StridedAxes along = strided_axes(part.layout, graph_.dims_of(part.operand),
                                           graph_.types.items[c.space].dims, (1u << c.rank) - 1u);
    if (!along.fits || !fits_starts(along.starts, c.reduced, c.rank)) return false;
    const bool is_short = along.run.powers == 0 && along.run.coefficient < limits_.run;
    if (along.stride[c.rank - 1] != Stride{1, 0} || is_short) return false;
    return c.kind == ClusterKind::loop || can_multiply(c, along);
  }
  /// Whether a contraction can store its result so: the rows lie at one distance, and only the
  /// columns may not continue where the row before ends. Kernels of GPUs store whole results.
  constexpr bool can_multiply(const Cluster& c, const StridedAxes& along) const {
    const Dims& result =
        graph_.dims_of(graph_.nodes.items[c.first].outputs.first);  // of the product
    return c.device.kind == DeviceKind::cpu && result.extent[result.rank - 1] != 1 &&
           (along.starts & ~(1u << (c.rank - 1))) == 0;
  }

  const Graph& graph_;
  Fused& fused_;
  const FusionLimits limits_;
  Pool<Id> wholes_;  // nodes that put their operands into their results
  Pool<int> reads_;  // by storage value: the number of readers, names among them
};

/// Finds operands that can be written into the result of which they are a part. `stored`: values
/// (of the original) that must be in memory at the end.
constexpr void find_parts(const Simplified& simplified, Fused& fused, const Roots& roots,
                          const Pool<Id>& stored, const FusionLimits& limits = {}) {
  PartFinder(simplified, fused, roots, stored, limits).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
