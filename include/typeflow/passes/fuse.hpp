// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fusion: which nodes become one kernel.
//
// Nodes are visited in order. A node joins the cluster of one of its producers where that is legal,
// and merges the clusters of the others into it where that is legal, too. Otherwise it starts a
// cluster. There are three kinds:
//
//   loop         elementwise nodes over one index space, with at most one geometry of reductions
//                over it, and what follows these: per row (a softmax's sum, its logarithm), then
//                elementwise again (the division by it), which is the kernel's next phase
//   contraction  sums of products, and the elementwise nodes that follow on their tile
//   single       an operation with a kernel of its own; it may change a variable in place
//
// A space is a shape without its axes of extent 1. A reduction splits its axes into outer, reduced
// and inner ones. Values for each outer (and inner) index are called row values. Every cluster is
// deeper than the clusters that it reads, so clusters never form a cycle.
//
// Nodes are put together only if the same kept names need them (Roots::kept). So a run of kept
// names computes nothing, and asks for no feed, that it does not need. A run of another name may
// find its value in a kernel that does more; it gets a program of its own (lower/selection.hpp).
//
// An assignment joins the cluster that computes its value, which then writes the variable in place.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/contraction.hpp"
#include "typeflow/passes/cluster_builder.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/needs.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class Fuser : ClusterBuilder {
 public:
  constexpr Fuser(Simplified& simplified, const Roots& roots, bool fuse, const FusionLimits& limits)
      : ClusterBuilder(simplified, roots, fuse, limits) {}

  constexpr Fused run() {
    const Id* const order = out_.order.data();
    const int count = out_.order.size();
    for (int i = 0; i < count; ++i) {
      const Id id = order[i];
      if (i == out_.first_effect) out_.first_late = out_.clusters.size();
      if (needs_[id] == NeedSets::nobody) continue;  // left over by a rewrite
      const Node node = nodes_[id];
      const Kind kind = node.op->kind;
      const Id output = node.outputs.first;
      cluster_of_[id] = none;
      if (kind == Kind::view) {
        storage_[output] = storage_[operands_[node.inputs.first]];
        continue;
      }
      storage_[output] = output;
      for (Id k = 1; k < node.outputs.count; ++k) storage_[output + k] = output + k;
      switch (kind) {
        case Kind::source:
        case Kind::group:
          break;
        case Kind::result:  // its branch or loop writes it
          cluster_of_[id] = cluster_of_[values_[operands_[node.inputs.first]].node];
          is_row_[id] = 0;
          phase_[id] = 0;
          break;
        case Kind::elementwise:
          place_elementwise(id, node);
          break;
        case Kind::reduction:
          place_reduction(id, node);
          break;
        case Kind::write:
          place_write(id, node);
          break;
        case Kind::update:
          place_single(id, node);  // it changes the variable
          break;
        case Kind::contraction:
          look(node);
          start_contraction(id, node);
          break;
        default:
          place_single(id, node);
          break;
      }
    }
    if (out_.first_effect == count) out_.first_late = out_.clusters.size();
    out_.axes = std::move(axes_);
    out_.type_count = type_count_;
    return std::move(out_);
  }

 private:
  constexpr void start_contraction(Id id, const Node& node) {
    Cluster& c = start(id, node, ClusterKind::contraction, type_);
    if (!node.op->contraction->whole_rows) return;
    const Dims& dims = graph_.types.items[type_].dims;
    const bool columns = dims.rank > 0 && dims.extent[dims.rank - 1] != 1;
    c.together = all(columns ? c.rank - 1 : c.rank);
  }

  /// An operation with a kernel of its own, and any number of inputs.
  constexpr void place_single(Id id, const Node& node) {
    if (node.op->holds_inputs) merge_parts(node);
    count_ = 0;
    width_ = 0;
    Cluster& c = start(id, node, ClusterKind::single, none);
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id producer = cluster_of_[values_[storage_[operands_[node.inputs.first + k]]].node];
      if (producer != none) follow(c, producer);
    }
    follow_effects(id, node);
  }

  /// Merges loops that compute parts of the result from the same two tensors, or more. (Those that
  /// share one tensor gain less, and can run on several devices.)
  constexpr void merge_parts(const Node& node) {
    const auto producer = [&](Id k) {
      return cluster_of_[values_[storage_[operands_[node.inputs.first + k]]].node];
    };
    for (Id k = 1; k < node.inputs.count; ++k) {
      const Id a = producer(k - 1);
      const Id b = producer(k);
      if (a == none || b == none || a == b || !share_tensors(a, b)) continue;
      if (can_merge(a, b)) {
        merge(a, b);
      } else if (can_merge(b, a)) {
        merge(b, a);
      }
    }
  }
  constexpr bool share_tensors(Id a, Id b) const {
    const Cluster& x = clusters_[a];
    const Cluster& y = clusters_[b];
    if (x.kind != ClusterKind::loop || y.kind != ClusterKind::loop) return false;
    int shared = 0;
    for (int i = 0; i < x.inputs; ++i) {
      if (types_[values_[x.input[i]].type].rank != x.rank) continue;
      for (int k = 0; k < y.inputs; ++k) shared += x.input[i] == y.input[k];
    }
    return shared >= 2;
  }

  /// How a node would fit into a cluster.
  struct Seat {
    bool fits;
    bool is_row;
    int phase;
  };

  /// Whether the current elementwise node may join, by space, geometry, limits and depth.
  constexpr Seat seat(Id cluster, const Node& node) const {
    const Cluster& c = clusters_[cluster];
    const Id space = types_[result_].space;
    const bool is_row = space != c.space;
    if (c.closed || cluster < out_.first_late ||
        (is_row && (space != c.rows || c.kind != ClusterKind::loop)) || (c.width | width_) == 3u ||
        c.members >= limits_.members || c.region != node.region || !(c.device == node.device) ||
        c.needed_by != node_needs_) {
      return {};
    }
    const unsigned whole = all(c.rank);
    const unsigned reduced = c.reduced;
    int phase = 0;
    int inputs = c.inputs;
    int tensors = c.tensors;
    for (int k = 0; k < count_; ++k) {
      const Operand o = look_[k];
      const Id producer = cluster_of_[o.node];
      if (producer == cluster) {
        const bool from_row = is_row_[o.node] != 0;
        if (is_row) {
          if (!from_row || types_[o.type].space != c.rows) return {};
        } else if (from_row) {
          const bool rows_are_contiguous = (reduced >> (c.rank - 1) & 1u) != 0;
          if (!rows_are_contiguous || o.axes != (whole & ~reduced) || has_long_rows(c)) return {};
        } else if (o.axes != whole) {
          return {};
        }
        if (phase_[o.node] > phase) phase = phase_[o.node];
        continue;
      }
      if (producer != none && c.consumed && clusters_[producer].depth >= c.depth) return {};
      const unsigned axes = is_row ? spread_axes(o.axes, reduced, c.rank) : o.axes;
      if (!fits_cluster(axes, c)) return {};
      ++inputs;
      if (types_[o.type].rank > 0) ++tensors;
    }
    if (inputs > limits_.inputs || tensors > limits_.tensors || phase >= limits_.phases) return {};
    return {true, is_row, phase};
  }

  /// Whether rows are few, and so long that they leave the near caches before they are read again.
  /// Threads, or a GPU's blocks, share a row if its kernel reads it once.
  constexpr bool has_long_rows(const Cluster& c) const {
    const std::int64_t elements = typical_bytes(graph_.types.items[c.space]);
    const std::int64_t rows = typical_bytes(graph_.types.items[c.rows]);
    return rows <= 8 && elements >= rows * rows << 16;
  }

  constexpr void place_elementwise(Id id, const Node& node) {
    look(node);
    node_needs_ = kept_needs(id);
    const SideEffect effect = node.op->effect;
    const bool copies =
        node.op->builtin == Builtin::after && nodes_[look_[0].node].op->kind == Kind::source;
    // A variable is copied before it is written: a kernel beside it might have to come later.
    const bool copies_variable = copies && nodes_[look_[0].node].op->builtin == Builtin::variable;
    const bool alone = !fuse_ || node.controls.count != 0 || width_ == 3u ||
                       (effect != SideEffect::pure && effect != SideEffect::random) ||
                       copies_variable;
    if (effect == SideEffect::reads_state) {  // others may join, until a write follows
      start(id, node, ClusterKind::loop, type_);
      follow_effects(id, node);
      return;
    }
    if (alone) {
      Cluster& c = start(id, node, ClusterKind::loop, type_);
      c.closed = true;
      follow_effects(id, node);
      return;
    }
    Id best = none;
    Seat best_seat{};
    int candidates = 0;
    for (int k = 0; k < count_; ++k) {
      const Id cluster = cluster_of_[look_[k].node];
      if (cluster == none || cluster == best) continue;
      ++candidates;
      if (best != none && !goes_first(cluster, best)) continue;
      const Seat there = seat(cluster, node);
      if (!there.fits) continue;
      best = cluster;
      best_seat = there;
    }
    if (copies) best = loop_beside(node, look_[0].storage);
    if (best == none) {
      if (candidates > 1) merge_producers();
      start(id, node, ClusterKind::loop, type_);
      return;
    }
    for (int k = 0; k < count_ && candidates > 1; ++k) {
      const Id other = cluster_of_[look_[k].node];
      if (other == none || other == best || !can_merge(other, best)) continue;
      merge(other, best);
      best_seat = seat(best, node);
      if (!best_seat.fits) {  // a broadcast of a row value that a kernel can't do
        start(id, node, ClusterKind::loop, type_);
        return;
      }
    }
    add(best, id, node, best_seat.is_row, best_seat.phase);
  }

  /// The loop that also copies an input of the region, for a result that is that input: one that
  /// reads it, or another with its space; none if there is none.
  constexpr Id loop_beside(const Node& copy, Id input) const {
    Id found = none;
    for (Id k = 0; k < out_.clusters.size(); ++k) {
      const Cluster& c = clusters_[k];
      if (c.kind != ClusterKind::loop || c.merged) continue;
      const Seat there = seat(k, copy);
      if (!there.fits || there.is_row) continue;
      found = k;
      for (int i = 0; i < c.inputs; ++i) {
        if (c.input[i] == input) return k;
      }
    }
    return found;
  }

  /// If the clusters that the current node reads cannot take it, merges them where possible: they
  /// have one space, and the same names need them.
  constexpr void merge_producers() {
    for (int k = 1; k < count_; ++k) {
      const Id a = cluster_of_[look_[k].node];
      for (int j = 0; j < k && a != none; ++j) {
        const Id b = cluster_of_[look_[j].node];
        if (b == none || a == b) continue;
        if (can_merge(a, b)) {
          merge(a, b);
          break;
        }
        if (can_merge(b, a)) merge(b, a);
      }
    }
  }

  /// Whether a node joins cluster a rather than b: the deeper one, or a contraction, which is never
  /// emptied into another.
  constexpr bool goes_first(Id a, Id b) const {
    const Cluster& x = clusters_[a];
    const Cluster& y = clusters_[b];
    if (x.depth != y.depth) return x.depth > y.depth;
    return x.kind == ClusterKind::contraction && y.kind != ClusterKind::contraction;
  }

  constexpr void place_reduction(Id id, const Node& node) {
    look(node);
    const Operand x = look_[0];
    const Id rows = types_[type_].space;
    const unsigned reduced = squeezed_axes(graph_.attributes.items[node.attributes.first],
                                           graph_.types.items[x.type].dims);
    const Id producer = cluster_of_[x.node];
    if (fuse_ && producer != none && reduced != 0) {
      Cluster& c = clusters_[producer];
      const int phase = phase_[x.node] + 1;
      if (c.kind == ClusterKind::loop && !c.closed && producer >= out_.first_late &&
          c.needed_by == kept_needs(id) && c.space == types_[x.type].space &&
          is_row_[x.node] == 0 && c.members < limits_.members && c.device == node.device &&
          c.region == node.region && (c.width | width_) != 3u && phase < limits_.phases &&
          (c.reduced == 0 ? inputs_fit(producer, reduced)
                          : c.reduced == reduced && c.rows == rows)) {
        c.reduced = reduced;
        c.rows = rows;
        add(producer, id, node, true, phase);
        return;
      }
    }
    Cluster& c = start(id, node, ClusterKind::loop, x.type);
    c.reduced = reduced;
    c.rows = rows;
    c.phases = 2;
    c.closed = c.closed || reduced == 0;
    is_row_[id] = 1;
    phase_[id] = 1;
  }

  static constexpr unsigned squeezed_axes(unsigned axes, const Dims& dims) {
    unsigned result = 0;
    int axis = 0;
    for (int i = 0; i < dims.rank; ++i) {
      if (dims.extent[i] == 1) continue;
      if ((axes >> i & 1u) != 0) result |= 1u << axis;
      ++axis;
    }
    return result;
  }

  constexpr void place_write(Id id, const Node& node) {
    look(node);
    const Id source = look_[1].node;
    const Id producer = cluster_of_[source];
    if (producer != none && fuse_ && may_write(producer, id, node, source) &&
        may_follow(producer, node)) {
      add(producer, id, node, is_row_[source] != 0, phase_[source]);
    } else {
      start(id, node, ClusterKind::loop, result_).closed = true;
    }
    follow_effects(id, node);
  }

  /// Whether a cluster can come after everything before a write: no other cluster reads it yet, or
  /// it is deeper.
  constexpr bool may_follow(Id cluster, const Node& write) const {
    const Cluster& c = clusters_[cluster];
    bool may = true;
    effects_.before_write(write, [&](Id before) {
      const Id other = cluster_of_[before];
      if (other != cluster && c.consumed && clusters_[other].depth >= c.depth) may = false;
    });
    return may;
  }

  /// Whether the cluster may write the variable in place.
  constexpr bool may_write(Id cluster, Id id, const Node& node, Id source) {
    const Cluster& c = clusters_[cluster];
    if (c.kind == ClusterKind::single || c.closed || node.controls.count != 0 ||
        c.needed_by != kept_needs(id) || c.members >= limits_.members ||
        !(c.device == node.device)) {
      return false;
    }
    const Id variable = look_[0].storage;
    const bool to_row = is_row_[source] != 0;
    bool reads = false;
    for (int i = 0; i < c.inputs; ++i) reads = reads || c.input[i] == variable;
    for (Id m = c.first; m != none; m = next_[m]) {
      const Node& member = nodes_[m];
      const Id* const inputs = operands_ + member.inputs.first;
      if (member.op->kind == Kind::write) {
        if (storage_[inputs[0]] == variable) return false;
        continue;
      }
      for (Id k = 0; k < member.inputs.count && reads; ++k) {
        if (storage_[inputs[k]] != variable) continue;
        // The old value is read, too, but only at the element that is written, and before it is:
        // the last pass over a row writes its elements.
        if (member.op->kind != Kind::elementwise || (is_row_[m] != 0) != to_row) return false;
        const Id type = values_[member.outputs.first].type;
        if (operand_axes(inputs[k], type) != all(types_[type].rank)) return false;
      }
    }
    return true;
  }
};

/// Clusters the nodes of a simplified graph that the roots need. Without `fuse`, every node is a
/// cluster.
constexpr Fused fuse(Simplified& simplified, const Roots& roots, bool fuse = true,
                     const FusionLimits& limits = {}) {
  return Fuser(simplified, roots, fuse, limits).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
