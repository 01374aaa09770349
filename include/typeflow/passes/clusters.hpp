// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clusters: the nodes that become one kernel, and the limits of a cluster.
//
// A cluster's operands run along some of the axes of its space, as bits of a number. The functions
// here say which, and whether a kernel has the loops for them.

#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/layout.hpp"
#include "typeflow/passes/fusion_limits.hpp"
#include "typeflow/passes/needs.hpp"
#include "typeflow/passes/recompute_cost.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

enum class ClusterKind : std::uint8_t { loop, contraction, single };

struct Cluster {
  ClusterKind kind;
  bool closed;        ///< takes no more nodes
  bool consumed;      ///< another cluster reads a value of it
  bool merged;        ///< emptied into another
  unsigned width;     ///< element sizes: bit 0 for 4 bytes, bit 1 for 8
  int phases;         ///< loops over a row, and the last phase of row values
  Id space;           ///< type number of the space: a boolean type of the squeezed shape
  int rank;           ///< of the space
  Id rows;            ///< type number of the row values' space; none without reductions
  unsigned reduced;   ///< the reduced axes of the space, as bits
  unsigned together;  ///< axes that are one for the kernel: an operand runs along all or none
  Id depth;
  Id first;  ///< member; the others are linked by Fused::next
  Id last;
  int members;
  Id needed_by;  ///< the kept names that need it: in Fused::need_sets
  Device device;
  Id region;
  int inputs;
  int tensors;  ///< inputs that are no scalars
  // The storage values that the cluster reads, and the axes of the space along which they run. A
  // value that is read in two ways stands here twice.
  Id input[FusionLimits::most_inputs];
  std::uint16_t input_axes[FusionLimits::most_inputs];
};

/// A value without memory of its own: readers read the base instead (passes/strided_views.hpp).
struct StridedView {
  Id value;
  Id base;  ///< a storage value
  Layout layout;
  /// Of gathered rows: a value that says where in the base each row begins, which `layout` leaves
  /// out. None for other views.
  Id offsets;
  std::int64_t row;  ///< elements of a gathered row; 0 for other views
};

/// A value that is computed in the memory of another value (passes/parts.hpp).
struct Part {
  Id value;
  Id whole;    ///< a storage value
  Id operand;  ///< the value or a view of it, an operand of the whole's operation
  Layout layout;
};

/// The clusters of a graph.
struct Fused {
  Pool<Cluster> clusters;
  // For nodes and values that are needed (`is_needed`); nothing for others.
  Pool<Id> cluster_of;   ///< by node; none for sources, views and groups
  Pool<Id> next;         ///< by node: the next member of its cluster
  Pool<char> is_row;     ///< by node: computes a row value
  Pool<char> phase;      ///< by node: the loop over the row that computes it
  Pool<Id> storage;      ///< by value: the value whose memory it shares (views)
  Pool<Id> order;        ///< nodes: those that follow no effect, then the others
  int first_effect = 0;  ///< where in the order the others begin
  /// From this cluster on, clusters have nodes that follow an effect. Such nodes join no earlier
  /// cluster: it may read what the effect overwrites, and so has to come before it.
  Id first_late = 0;
  /// The first cluster with a node that has control inputs; none if there is none.
  Id first_controlled = none;
  NeedSets need_sets;        ///< bits are numbers of Roots::values
  Pool<Id> needs;            ///< by node: the names that need it, in need_sets
  Pool<std::uint16_t> axes;  ///< by pair of types: broadcast_axes plus one, where known
  int type_count = 0;
  Pool<StridedView> strided_views;
  Pool<Id> strided_view_of;  ///< by value: in strided views, or none; empty if there are no strided
                             ///< views
  Pool<Part> parts;
  Pool<Id> part_of;  ///< by value: in parts, or none; empty if there are no parts
  /// Values that kernels could compute again; for people, so not in constant evaluation.
  Pool<RecomputeCost> recompute_costs;

  constexpr const StridedView* strided_view(Id value) const {
    const bool is_strided = value < strided_view_of.size() && strided_view_of.items[value] != none;
    return is_strided ? &strided_views.items[strided_view_of.items[value]] : nullptr;
  }
  constexpr const Part* part(Id value) const {
    const bool is_part = value < part_of.size() && part_of.items[value] != none;
    return is_part ? &parts.items[part_of.items[value]] : nullptr;
  }
};

/// The axes of the space of `out` (its axes of extent other than 1), as bits, along which a tensor
/// of shape `in` runs when it broadcasts to `out`.
constexpr unsigned broadcast_axes(const Dims& in, const Dims& out) {
  unsigned axes = 0;
  int axis = 0;
  const int offset = out.rank - in.rank;
  for (int i = 0; i < out.rank; ++i) {
    if (out.extent[i] == 1) continue;
    if (i >= offset && in.extent[i - offset] != 1) axes |= 1u << axis;
    ++axis;
  }
  return axes;
}

/// The same for positions along an axis of a tensor of shape `in`: they run along that axis only.
constexpr unsigned position_axes(const Dims& in, int along, const Dims& out) {
  const int axis = along + out.rank - in.rank;
  if (in.extent[along] == 1 || out.extent[axis] == 1) return 0;
  int before = 0;
  for (int i = 0; i < axis; ++i) before += out.extent[i] != 1;
  return 1u << before;
}

/// The axes of a cluster's row values as axes of its space.
constexpr unsigned spread_axes(unsigned axes, unsigned reduced, int rank) {
  unsigned spread = 0;
  for (int i = 0; i < rank; ++i) {
    if ((reduced >> i & 1u) != 0) continue;
    if ((axes & 1u) != 0) spread |= 1u << i;
    axes >>= 1;
  }
  return spread;
}

/// Whether operands that run along `axes` fit a geometry: along all reduced axes or none, and along
/// all axes inside of them or none. A kernel has one loop for each of the two.
constexpr bool fits_geometry(unsigned axes, unsigned reduced, int rank) {
  unsigned inner = 0;
  for (int i = rank - 1; i >= 0 && (reduced >> i & 1u) == 0; --i) inner |= 1u << i;
  const bool reduced_fits = (axes & reduced) == 0 || (axes & reduced) == reduced;
  const bool inner_fits = reduced == 0 || (axes & inner) == 0 || (axes & inner) == inner;
  return reduced_fits && inner_fits;
}

/// The same for a cluster of any geometry.
constexpr bool fits_cluster(unsigned axes, const Cluster& c) {
  const unsigned together = axes & c.together;
  return (together == 0 || together == c.together) && fits_geometry(axes, c.reduced, c.rank);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
