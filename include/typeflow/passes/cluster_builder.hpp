// SPDX-License-Identifier: Apache-2.0
#pragma once

// How clusters begin and grow: a node is looked at, then starts a cluster or is added to one; a
// cluster is emptied into another. fuse.hpp decides which.
//
// Every cluster is deeper than the clusters that it reads, and than those that come before it by
// their effects, so clusters never form a cycle.

#include <cstdint>
#include <utility>

#include "typeflow/graph/graph.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/needs.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class ClusterBuilder {
 protected:
  constexpr ClusterBuilder(Simplified& simplified, const Roots& roots, bool fuse,
                           const FusionLimits& limits)
      : graph_(simplified.graph), limits_(limits), fuse_(fuse), effects_(graph_) {
    EffectsLast split = put_effects_last(graph_, simplified.order);
    out_.order = std::move(split.order);
    out_.first_effect = split.first_effect;
    const int node_count = graph_.nodes.size();
    // Written for every node that is needed, never read for others. With room for copies.
    const int room = node_count / 2 + 64;
    out_.cluster_of = Pool<Id>::uninitialized(node_count, node_count + room);
    out_.next = Pool<Id>::uninitialized(node_count, node_count + room);
    out_.is_row = Pool<char>::uninitialized(node_count, node_count + room);
    out_.phase = Pool<char>::uninitialized(node_count, node_count + room);
    out_.storage = Pool<Id>::uninitialized(graph_.values.size(), graph_.values.size() + room);
    out_.clusters.reserve(node_count / 2 + 16);
    describe_types();
    nodes_ = graph_.nodes.data();
    values_ = graph_.values.data();
    operands_ = graph_.operands.data();
    storage_ = out_.storage.data();
    cluster_of_ = out_.cluster_of.data();
    next_ = out_.next.data();
    is_row_ = out_.is_row.data();
    phase_ = out_.phase.data();
    NodeNeeds needs = find_needs(graph_, out_.order, roots, simplified.map);
    out_.need_sets = std::move(needs.sets);
    out_.needs = std::move(needs.needs);
    kept_pool_ = std::move(needs.kept);
    needs_ = out_.needs.data();
    kept_ = kept_pool_.data();
  }

  /// The kept names that need a node.
  constexpr Id kept_needs(Id node) const { return kept_[needs_[node]]; }

  // Types.

  /// Facts about a type that fusion uses.
  struct TypeInfo {
    Id space;        ///< a number that two types share if they index memory alike
    int rank;        ///< of the space
    unsigned width;  ///< element size: bit 0 for 4 bytes, bit 1 for 8
  };

  constexpr void describe_types() {
    const int count = graph_.types.size();
    type_info_.reserve(count);
    for (Id i = 0; i < count; ++i) {
      const Type type = graph_.types.items[i];
      const Dims dims = squeezed(type.dims);
      const int size = lane_size(type.dtype);
      type_info_.push(TypeInfo{graph_.intern(Type(DType::boolean, dims)), dims.rank,
                               size == 4   ? 1u
                               : size == 8 ? 2u
                                           : 0u});
    }
    types_ = type_info_.data();
    type_count_ = count;
    axes_ = Pool<std::uint16_t>(count * count, 0);
  }

  /// broadcast_axes of two types, computed once for each pair.
  constexpr unsigned axes_of(Id in, Id out) {
    std::uint16_t& known = axes_.items[in * type_count_ + out];
    if (known == 0) {
      known = static_cast<std::uint16_t>(
          broadcast_axes(graph_.types.items[in].dims, graph_.types.items[out].dims) + 1u);
    }
    return known - 1u;
  }
  static constexpr unsigned all(int rank) { return (1u << rank) - 1u; }
  /// The axes of the space of type `out` along which a value runs that broadcasts to it.
  constexpr unsigned operand_axes(Id value, Id out) {
    const Node& node = nodes_[values_[storage_[value]].node];
    const Id in = values_[value].type;
    if (node.op->builtin == Builtin::index_along) {
      return position_axes(graph_.types.items[in].dims,
                           static_cast<int>(graph_.attributes.items[node.attributes.first]),
                           graph_.types.items[out].dims);
    }
    return in == out ? all(types_[in].rank) : axes_of(in, out);
  }

  // The current node.

  struct Operand {
    Id storage;
    Id node;  ///< that makes the storage
    Id type;  ///< as the node at hand sees it
    unsigned axes;
  };

  /// Collects what the questions below need to know about a node, and how its operands broadcast.
  constexpr void look(const Node& node) {
    const Value* const values = values_;
    const Id* const operands = operands_ + node.inputs.first;
    const Id output = values[node.outputs.first].type;
    const Id result = output == none ? values[operands[0]].type : output;
    const TypeInfo* const types = types_;
    unsigned width = types[result].width;
    const int count = node.inputs.count;
    for (int k = 0; k < count; ++k) {
      const Id value = operands[k];
      const Id storage = storage_[value];
      const Id type = values[value].type;
      const Id from = values[storage].node;
      // As operand_axes, of which this is the usual case.
      const bool alike = type == result && nodes_[from].op->builtin != Builtin::index_along;
      look_[k] =
          Operand{storage, from, type, alike ? all(types[type].rank) : operand_axes(value, result)};
      width |= types[type].width;
    }
    count_ = count;
    width_ = width;
    type_ = output;
    result_ = result;
  }

  // Clusters.

  constexpr Cluster empty_cluster(Id id, const Node& node, ClusterKind kind, Id space) const {
    Cluster c{};
    c.kind = kind;
    c.closed = kind == ClusterKind::single || !fuse_;
    c.phases = 1;
    c.space = space == none ? none : types_[space].space;
    c.rank = space == none ? 0 : types_[space].rank;
    c.rows = none;
    c.first = none;
    c.last = none;
    c.needed_by = kept_needs(id);
    c.device = node.device;
    c.region = node.region;
    return c;
  }

  constexpr Cluster& start(Id id, const Node& node, ClusterKind kind, Id space) {
    const Id cluster = out_.clusters.push(empty_cluster(id, node, kind, space));
    clusters_ = out_.clusters.data();
    add(cluster, id, node, false, 0);
    return clusters_[cluster];
  }

  /// Adds the current node to a cluster.
  constexpr void add(Id cluster, Id id, const Node& node, bool is_row, int phase) {
    Cluster& c = clusters_[cluster];
    if (c.last == none) {
      c.first = id;
    } else {
      next_[c.last] = id;
    }
    c.last = id;
    ++c.members;
    c.width |= width_;
    next_[id] = none;
    cluster_of_[id] = cluster;
    is_row_[id] = is_row ? 1 : 0;
    phase_[id] = static_cast<char>(phase);
    if (phase + 1 > c.phases) c.phases = phase + 1;
    const int from = node.op->kind == Kind::write ? 1 : 0;  // the variable itself is not read
    for (int k = from; k < count_; ++k) {
      const Id producer = cluster_of_[look_[k].node];
      if (producer == cluster) continue;
      const Operand o = look_[k];
      // A fold reads its operand all over the space, whatever its result's shape is.
      const unsigned axes = node.op->kind == Kind::reduction ? all(c.rank)
                            : is_row ? spread_axes(o.axes, c.reduced, c.rank)
                                     : o.axes;
      add_input(c, o.storage, axes, producer);
    }
  }

  constexpr void add_input(Cluster& c, Id storage, unsigned axes, Id producer) {
    const int count = c.inputs;
    for (int i = 0; i < count; ++i) {
      if (c.input[i] == storage && c.input_axes[i] == axes) return;
    }
    c.input[count] = storage;
    c.input_axes[count] = static_cast<std::uint16_t>(axes);
    c.inputs = count + 1;
    if (types_[values_[storage].type].rank > 0) ++c.tensors;
    if (producer != none) follow(c, producer);
  }
  constexpr void follow(Cluster& c, Id producer) {
    Cluster& from = clusters_[producer];
    from.consumed = true;
    if (from.depth >= c.depth) c.depth = from.depth + 1;
  }

  /// Called when the node is in a cluster: puts it after those of the effects before it.
  constexpr void follow_effects(Id id, const Node& node) {
    if (!effects_.concerns(node)) return;
    const Id cluster = cluster_of_[id];
    if (node.controls.count != 0) add_controlled(cluster);
    effects_.place(id, [&](Id before) {
      if (cluster_of_[before] != cluster) follow(clusters_[cluster], cluster_of_[before]);
    });
  }

  constexpr void add_controlled(Id cluster) {
    if (out_.first_controlled == none || cluster < out_.first_controlled) {
      out_.first_controlled = cluster;
    }
  }

  // Merging.

  /// Whether cluster `from` may be emptied into `into`.
  constexpr bool can_merge(Id from, Id into) {
    const Cluster& a = clusters_[from];
    const Cluster& b = clusters_[into];
    if (a.closed || b.closed || a.consumed || from < out_.first_late || into < out_.first_late ||
        a.kind != ClusterKind::loop || a.needed_by != b.needed_by || a.space != b.space ||
        !(a.device == b.device) || a.region != b.region || (a.width | b.width) == 3u ||
        a.members + b.members > limits_.members || !can_take_inputs(a, b) ||
        (a.depth > b.depth && b.consumed)) {
      return false;
    }
    if (a.reduced != 0 && b.reduced != 0) return a.reduced == b.reduced && a.rows == b.rows;
    if (b.kind == ClusterKind::contraction) return a.reduced == 0 && inputs_fit(from, b);
    return (a.reduced == 0 || inputs_fit(into, a.reduced)) &&
           (b.reduced == 0 || inputs_fit(from, b.reduced));
  }

  /// Whether the limits allow the inputs of both; those that they share count once.
  constexpr bool can_take_inputs(const Cluster& a, const Cluster& b) const {
    int inputs = a.inputs + b.inputs;
    int tensors = a.tensors + b.tensors;
    if (inputs <= limits_.inputs && tensors <= limits_.tensors) return true;
    for (int i = 0; i < a.inputs; ++i) {
      for (int k = 0; k < b.inputs; ++k) {
        if (a.input[i] != b.input[k]) continue;
        --inputs;
        if (types_[values_[a.input[i]].type].rank > 0) --tensors;
      }
    }
    return inputs <= limits_.inputs && tensors <= limits_.tensors;
  }

  /// Whether all operands of a cluster fit another.
  constexpr bool inputs_fit(Id cluster, const Cluster& other) const {
    const Cluster& c = clusters_[cluster];
    for (int i = 0; i < c.inputs; ++i) {
      if (!fits_cluster(c.input_axes[i], other)) return false;
    }
    return true;
  }
  /// Whether all operands fit a geometry.
  constexpr bool inputs_fit(Id cluster, unsigned reduced) const {
    const Cluster& c = clusters_[cluster];
    for (int i = 0; i < c.inputs; ++i) {
      if (!fits_geometry(c.input_axes[i], reduced, c.rank)) return false;
    }
    return true;
  }

  constexpr void merge(Id from, Id into) {
    Cluster& a = clusters_[from];
    Cluster& b = clusters_[into];
    for (Id id = a.first; id != none; id = next_[id]) {
      cluster_of_[id] = into;
      if (nodes_[id].controls.count != 0) add_controlled(into);
    }
    // The members of a, then those of b. Neither reads the other: they were apart, and a was
    // unread.
    if (b.kind == ClusterKind::contraction) {  // the product stays first
      next_[a.last] = next_[b.first];
      next_[b.first] = a.first;
      if (b.last == b.first) b.last = a.last;
    } else {
      next_[a.last] = b.first;
      b.first = a.first;
    }
    b.members += a.members;
    b.width |= a.width;
    if (a.phases > b.phases) b.phases = a.phases;
    if (a.reduced != 0) {
      b.reduced = a.reduced;
      b.rows = a.rows;
    }
    if (a.depth > b.depth) b.depth = a.depth;
    // The operands of both, without those that are now values of the cluster.
    const Cluster old = b;
    b.inputs = 0;
    b.tensors = 0;
    add_outer_inputs(b, into, old);
    add_outer_inputs(b, into, a);
    a.merged = true;
    a.first = none;
    a.members = 0;
    a.inputs = 0;
  }
  constexpr void add_outer_inputs(Cluster& c, Id cluster, const Cluster& from) {
    for (int i = 0; i < from.inputs; ++i) {
      const Id producer = cluster_of_[values_[from.input[i]].node];
      if (producer != cluster) add_input(c, from.input[i], from.input_axes[i], producer);
    }
  }

  Graph& graph_;
  const FusionLimits limits_;
  bool fuse_;
  EffectOrder effects_;
  Fused out_;
  Pool<Id> kept_pool_;  // by set of names: of these, those that are kept
  Pool<TypeInfo> type_info_;
  Pool<std::uint16_t> axes_;  // by pair of types, plus one; 0: not yet known
  int type_count_ = 0;

  // The arrays of the above: plain pointers, since these run while the compiler evaluates.
  const Node* nodes_ = nullptr;
  const Value* values_ = nullptr;
  const Id* operands_ = nullptr;
  const TypeInfo* types_ = nullptr;
  const Id* needs_ = nullptr;
  const Id* kept_ = nullptr;
  Id* storage_ = nullptr;
  Id* cluster_of_ = nullptr;
  Id* next_ = nullptr;
  char* is_row_ = nullptr;
  char* phase_ = nullptr;
  Cluster* clusters_ = nullptr;

  // Of the node at hand.
  Id type_ = none;    // of its output; none for a token
  Id result_ = none;  // the same, of an assignment that of the variable
  Id node_needs_ = NeedSets::nobody;
  unsigned width_ = 0;
  int count_ = 0;
  Operand look_[max_arity] = {};
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
