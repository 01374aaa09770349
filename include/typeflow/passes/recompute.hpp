// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computing a value again where that is cheaper than memory.
//
// A value that leaves its cluster is written to memory, and each cluster that uses it reads it. If
// a few elementwise operations make it from what the cluster itself reads from memory, or from its
// row values, all its readers can do these operations, too. Then it is not written at all, if their
// flops cost less than the bytes (recompute_cost.hpp). So its gradient computes a softmax's
// exponentials again from the logits. Values keep their bits, because the operations are the same.

#include <cstdint>
#include <type_traits>

#include "typeflow/graph/graph.hpp"
#include "typeflow/passes/fuse.hpp"
#include "typeflow/passes/recompute_cost.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class Recomputer {
 public:
  constexpr Recomputer(Simplified& simplified, Fused& fused, const Roots& roots,
                       const FusionLimits& limits)
      : graph_(simplified.graph), fused_(fused), limits_(limits) {
    pinned_ = Pool<char>(graph_.values.size(), 0);
    for (const Id root : roots.values) pin(simplified.map[root]);
    readers_ = Pool<Id>(graph_.values.size(), none);
  }

  constexpr void run() {
    const int count = fused_.clusters.size();
    find_readers();
    // Producers come first, because their inputs must be settled when their readers are visited.
    Id deepest = 0;
    const Cluster* const clusters = fused_.clusters.items;
    for (Id c = 0; c < count; ++c) {
      if (clusters[c].depth > deepest) deepest = clusters[c].depth;
    }
    Pool<Id> by_depth(deepest + 1, none);
    Pool<Id> next = Pool<Id>::uninitialized(count);
    for (Id c = count - 1; c >= 0; --c) {
      if (clusters[c].merged) continue;
      const Id depth = clusters[c].depth;
      next.items[c] = by_depth.items[depth];
      by_depth.items[depth] = c;
    }
    for (Id depth = 0; depth <= deepest; ++depth) {
      for (Id c = by_depth.items[depth]; c != none; c = next.items[c]) visit(c);
    }
  }

 private:
  static constexpr int most_operations = 6;
  static constexpr int most_flops = 32;
  static constexpr int most_words = 8;
  static constexpr int most_leaves = 8;

  struct Reader {
    Id cluster;
    Id next;
  };

  constexpr void pin(Id value) {
    if (fused_.needs.items[graph_.values.items[value].node] != NeedSets::nobody) {
      pinned_.items[fused_.storage.items[value]] = 1;
    }
  }

  /// Finds the values that must be in memory for readers that can't compute them, and the readers
  /// of the other values that loops make. (Runs for every cluster while the compiler evaluates, so
  /// it is plain.)
  constexpr void find_readers() {
    const Cluster* const clusters = fused_.clusters.data();
    const Node* const nodes = graph_.nodes.data();
    const Value* const values = graph_.values.data();
    const Id* const operands = graph_.operands.data();
    const Id* const storage = fused_.storage.data();
    const Id* const cluster_of = fused_.cluster_of.data();
    char* const pinned = pinned_.data();
    const Id count = fused_.clusters.size();
    for (Id c = 0; c < count; ++c) {
      const Cluster* const cluster = clusters + c;
      if (cluster->merged || cluster->kind == ClusterKind::loop) continue;
      const Node* const node = nodes + cluster->first;
      const Id last = node->inputs.first + node->inputs.count;
      for (Id k = node->inputs.first; k < last; ++k) pinned[storage[operands[k]]] = 1;
    }
    for (Id c = 0; c < count; ++c) {
      const Cluster* const cluster = clusters + c;
      if (cluster->merged) continue;
      const int inputs = cluster->inputs;
      for (int i = 0; i < inputs; ++i) {
        const Id value = cluster->input[i];
        if (pinned[value] != 0) continue;
        const Id maker = cluster_of[values[value].node];
        if (maker == none || maker >= fused_.first_late) continue;
        if (clusters[maker].kind == ClusterKind::loop) add_reader(value, c);
      }
    }
  }
  constexpr void add_reader(Id value, Id cluster) {
    readers_.items[value] = reader_pool_.push(Reader{cluster, readers_.items[value]});
  }

  /// Visits the values that leave a cluster.
  constexpr void visit(Id id) {
    const Cluster& cluster = fused_.clusters.items[id];
    if (cluster.kind != ClusterKind::loop || id >= fused_.first_late) return;
    if (graph_.nodes.items[cluster.first].controls.count != 0) return;  // its readers would run it
    bool changed = false;
    const Id* next = fused_.next.data();
    for (Id m = cluster.first; m != none; m = next[m]) {
      const Id value = graph_.nodes.items[m].outputs.first;
      if (readers_.items[value] == none || pinned_.items[value] != 0) continue;
      if (graph_.is_token(value)) continue;
      parts_ = 0;
      leaves_ = 0;
      leaf_reads_ = 0;
      flops_ = 0;
      more_bytes_ = 0;
      if (!collect(id, m)) continue;
      bool all = true;
      int readers = 0;
      for (Id r = readers_.items[value]; r != none && all; r = reader_pool_.items[r].next) {
        all = can_compute(reader_pool_.items[r].cluster, value);
        ++readers;
      }
      if (!all || fused_.next.size() + readers * parts_ > fused_.next.capacity()) continue;
      const RecomputeCost cost = cost_of(fused_.clusters.items[id], value, readers);
      if (!std::is_constant_evaluated()) fused_.recompute_costs.push(cost);
      if (!cost.pays) continue;
      for (Id r = readers_.items[value]; r != none; r = reader_pool_.items[r].next) {
        compute_in(reader_pool_.items[r].cluster, value);
      }
      readers_.items[value] = none;
      changed = true;
    }
    if (changed) drop_unused(id);
  }

  /// Removes members of a cluster that only others used, and operands that only these members read.
  constexpr void drop_unused(Id id) {
    Cluster& c = fused_.clusters.items[id];
    // As long as there can be values, and written for the cluster's own before they are read.
    if (used_by_.empty()) {
      used_by_ = Pool<Id>::uninitialized(graph_.values.size() + fused_.next.capacity());
    }
    Pool<Id> members;
    for (Id m = c.first; m != none; m = fused_.next.items[m]) {
      members.push(m);
      used_by_.items[graph_.nodes.items[m].outputs.first] = none;
    }
    c.first = none;
    c.last = none;
    c.members = 0;
    c.inputs = 0;
    c.tensors = 0;
    const unsigned whole = (1u << c.rank) - 1u;
    for (int i = members.size() - 1; i >= 0; --i) {
      const Id m = members.items[i];
      const Node node = graph_.nodes.items[m];
      const Id value = node.outputs.first;
      const bool writes = node.op->kind == Kind::write;
      if (!writes && used_by_.items[value] != id && readers_.items[value] == none &&
          pinned_.items[value] == 0) {
        fused_.cluster_of.items[m] = none;
        fused_.needs.items[m] = NeedSets::nobody;
        continue;
      }
      fused_.next.items[m] = c.first;
      if (c.first == none) c.last = m;
      c.first = m;
      ++c.members;
      for (Id k = writes ? 1 : 0; k < node.inputs.count; ++k) {
        const Id storage = fused_.storage.items[graph_.input(node, k)];
        used_by_.items[storage] = id;
        if (fused_.cluster_of.items[graph_.values.items[storage].node] == id) continue;
        const unsigned axes = axes_of(node, graph_.input(node, k));
        const bool row = fused_.is_row.items[m] != 0;
        add_input(c, storage,
                  writes || node.op->kind == Kind::reduction ? whole
                  : row                                      ? spread_axes(axes, c.reduced, c.rank)
                                                             : axes);
      }
    }
    if (c.first == none) c.merged = true;
  }

  /// The operations, in order, that make a node from what its cluster has in memory, and those
  /// values. False if there are too many, or other kinds among them.
  constexpr bool collect(Id cluster, Id node) {
    const Node& n = graph_.nodes.items[node];
    for (int i = 0; i < parts_; ++i) {
      if (part_[i] == node) return true;
    }
    if (n.op->kind != Kind::elementwise || n.attributes.count > most_words ||
        n.op->effect != SideEffect::pure || fused_.is_row.items[node] != 0 ||
        n.controls.count != 0 || parts_ == most_operations || flops_ + n.op->flops > most_flops) {
      return false;
    }
    flops_ += n.op->flops;
    for (Id k = 0; k < n.inputs.count; ++k) {
      const Id storage = fused_.storage.items[graph_.input(n, k)];
      const Id from = graph_.values.items[storage].node;
      const bool inside = fused_.cluster_of.items[from] == cluster;
      if (inside && fused_.is_row.items[from] == 0) {
        if (!collect(cluster, from)) return false;
      } else {
        ++leaf_reads_;
        if (!add_leaf(storage)) return false;
      }
    }
    if (parts_ == most_operations) return false;
    part_[parts_++] = node;
    return true;
  }
  constexpr bool add_leaf(Id storage) {
    for (int i = 0; i < leaves_; ++i) {
      if (leaf_[i] == storage) return true;
    }
    // A value that a run overwrites may have changed when it is read again.
    const Node& node = graph_.node_of(storage);
    if (leaves_ == most_leaves || (node.op->builtin == Builtin::variable && is_written(node))) {
      return false;
    }
    leaf_[leaves_++] = storage;
    return true;
  }
  constexpr bool is_written(const Node& variable) {
    if (written_.empty()) {
      written_ = Pool<char>(graph_.variable_records.size() + 1, 0);
      for (const Id id : fused_.order) {
        each_written_variable(graph_, graph_.nodes.items[id],
                              [&](Id written) { written_.items[written] = 1; });
      }
    }
    return written_.items[static_cast<Id>(graph_.words_of(variable)[0])] != 0;
  }

  /// The cost of computing the current value in all its readers, by what `collect` and
  /// `can_compute` have found.
  constexpr RecomputeCost cost_of(const Cluster& maker, Id value, int readers) const {
    const int size = size_of(graph_.dtype_of(value));
    // A write takes a line of memory from where it was, and puts it back.
    RecomputeCost cost{value, readers, readers * flops_, (2 + readers) * size - more_bytes_, false};
    if (maker.members == parts_) {  // nothing else is left to do there
      cost.flops -= flops_;
      for (int i = 0; i < leaves_; ++i) cost.bytes += bytes_of_leaf(leaf_[i], value);
    }
    cost.pays = pays_to_recompute(cost, bytes_of(value));
    return cost;
  }
  /// The bytes of a leaf that an element of the value needs. A scalar or a row's value counts 0.
  constexpr int bytes_of_leaf(Id leaf, Id value) const {
    if (graph_.dims_of(leaf).rank == 0 || bytes_of(leaf) * 8 < bytes_of(value)) return 0;
    return size_of(graph_.dtype_of(leaf));
  }

  constexpr Id type_of(Id value) const { return graph_.values.items[value].type; }
  constexpr std::int64_t bytes_of(Id value) const {
    return typical_bytes(graph_.types.items[type_of(value)]);
  }

  /// Whether a cluster that reads the value can compute it without reading more.
  constexpr bool can_compute(Id id, Id value) {
    const Cluster& c = fused_.clusters.items[id];
    if (c.kind == ClusterKind::single || c.closed || id >= fused_.first_late) return false;
    if (!(c.device == graph_.node_of(value).device)) return false;
    const Dims space = squeezed(graph_.dims_of(value));
    if (!(space == graph_.types.items[c.space].dims) || c.members + parts_ > limits_.members)
      return false;
    const unsigned whole = (1u << c.rank) - 1u;
    for (int i = 0; i < c.inputs; ++i) {  // everywhere as itself
      if (c.input[i] == value && c.input_axes[i] != whole) return false;
    }
    for (Id m = c.first; m != none; m = fused_.next.items[m]) {
      const Node& node = graph_.nodes.items[m];
      if (node.op->kind == Kind::contraction) continue;
      const int first = node.op->kind == Kind::write ? 1 : 0;
      for (Id k = first; k < node.inputs.count; ++k) {
        const Id operand = graph_.input(node, k);
        if (fused_.storage.items[operand] != value) continue;
        if (operand != value || node.op->kind == Kind::write) return false;
      }
    }
    unsigned width = c.width;
    for (int i = 0; i < parts_; ++i) width |= width_of(graph_.nodes.items[part_[i]]);
    if (width == 3u) return false;
    // A value goes, leaves come: at most one more tensor than before, and no larger one.
    int inputs = c.inputs - 1;
    int tensors = c.tensors - 1;
    int larger = 0;
    for (int i = 0; i < leaves_; ++i) {
      if (reads(c, leaf_[i])) continue;
      ++inputs;
      if (graph_.dims_of(leaf_[i]).rank == 0) continue;
      ++tensors;
      const int bytes = bytes_of_leaf(leaf_[i], value);
      if (bytes == 0) continue;
      more_bytes_ += bytes;
      larger += bytes_of(leaf_[i]) > bytes_of(value) ? 2 : 1;
    }
    if (inputs > limits_.inputs || tensors > limits_.tensors || larger > 1) return false;
    // A leaf that is read along different axes takes several operands.
    if (c.inputs - 1 + leaf_reads_ > FusionLimits::most_inputs) return false;
    for (int i = 0; i < parts_; ++i) {
      const Node& node = graph_.nodes.items[part_[i]];
      for (Id k = 0; k < node.inputs.count; ++k) {
        if (!fits_cluster(axes_of(node, graph_.input(node, k)), c)) return false;
      }
    }
    return true;
  }
  constexpr unsigned width_of(const Node& node) const {
    unsigned width = 0;
    const auto add = [&](Id value) {
      const int size = lane_size(graph_.dtype_of(value));
      width |= size == 4 ? 1u : size == 8 ? 2u : 0u;
    };
    add(node.outputs.first);
    for (Id k = 0; k < node.inputs.count; ++k) add(graph_.input(node, k));
    return width;
  }
  static constexpr bool reads(const Cluster& c, Id storage) {
    for (int i = 0; i < c.inputs; ++i) {
      if (c.input[i] == storage) return true;
    }
    return false;
  }
  constexpr unsigned axes_of(const Node& node, Id operand) const {
    const Node& from = graph_.node_of(fused_.storage.items[operand]);
    const Dims& in = graph_.dims_of(operand);
    const Dims& out = graph_.dims_of(node.outputs.first);
    return from.op->builtin == Builtin::index_along
               ? position_axes(in, static_cast<int>(graph_.words_of(from)[0]), out)
               : broadcast_axes(in, out);
  }

  /// Puts copies of the operations into a cluster, in front of its own, and uses them there.
  constexpr void compute_in(Id id, Id value) {
    forget_input(id, value);
    Id copies[most_operations] = {};  // values
    Id last = fused_.clusters.items[id].kind == ClusterKind::contraction
                  ? fused_.clusters.items[id].first
                  : none;
    for (int i = 0; i < parts_; ++i) {
      const Node original = graph_.nodes.items[part_[i]];
      const Id copy = copy_node(id, original, copies, i);
      copies[i] = graph_.nodes.items[copy].outputs.first;
      Cluster& c = fused_.clusters.items[id];
      Id& link = last == none ? c.first : fused_.next.items[last];
      fused_.next.items[copy] = link;
      link = copy;
      if (fused_.next.items[copy] == none) c.last = copy;
      last = copy;
      ++c.members;
      c.width |= width_of(original);
    }
    const Id result = copies[parts_ - 1];
    Id needs = NeedSets::nobody;
    for (Id m = fused_.next.items[last]; m != none; m = fused_.next.items[m]) {
      const Node node = graph_.nodes.items[m];
      bool uses = false;
      for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count; ++k) {
        if (graph_.operands.items[k] != value) continue;
        graph_.operands.items[k] = result;
        uses = true;
      }
      if (uses) needs = fused_.need_sets.unite(needs, fused_.needs.items[m]);
    }
    for (int i = 0; i < parts_; ++i)
      fused_.needs.items[graph_.values.items[copies[i]].node] = needs;
  }

  constexpr Id copy_node(Id cluster, const Node& original, const Id* copies, int copied) {
    Id inputs[max_arity] = {};
    for (Id k = 0; k < original.inputs.count; ++k) {
      const Id operand = graph_.operands.items[original.inputs.first + k];
      inputs[k] = operand;
      const Id from = graph_.values.items[fused_.storage.items[operand]].node;
      int part = 0;
      while (part < copied && part_[part] != from) ++part;
      if (part < copied) {
        inputs[k] = copies[part];
      } else {
        read(cluster, fused_.storage.items[operand], axes_of(original, operand));
      }
    }
    graph_.stand_at(original);
    std::uint32_t words[most_words] = {};  // adding a node may move the graph's
    for (int i = 0; i < original.attributes.count; ++i) words[i] = graph_.words_of(original)[i];
    const Id node = graph_.add_node(*original.op, inputs, original.inputs.count, 1, words,
                                    original.attributes.count);
    const Id value = graph_.values.push(Value{node, 0, type_of(original.outputs.first), none});
    fused_.cluster_of.push(cluster);
    fused_.next.push(none);
    fused_.is_row.push(0);
    fused_.phase.push(0);
    fused_.needs.push(NeedSets::nobody);
    fused_.storage.push(value);
    pinned_.push(0);
    readers_.push(none);
    return node;
  }
  constexpr void read(Id cluster, Id storage, unsigned axes) {
    if (add_input(fused_.clusters.items[cluster], storage, axes)) add_reader(storage, cluster);
  }
  constexpr bool add_input(Cluster& c, Id storage, unsigned axes) {
    for (int i = 0; i < c.inputs; ++i) {
      if (c.input[i] == storage && c.input_axes[i] == axes) return false;
    }
    c.input[c.inputs] = storage;
    c.input_axes[c.inputs++] = static_cast<std::uint16_t>(axes);
    if (graph_.dims_of(storage).rank > 0) ++c.tensors;
    return true;
  }
  constexpr void forget_input(Id cluster, Id storage) {
    Cluster& c = fused_.clusters.items[cluster];
    int kept = 0;
    for (int i = 0; i < c.inputs; ++i) {
      if (c.input[i] == storage) {
        if (graph_.dims_of(storage).rank > 0) --c.tensors;
        continue;
      }
      c.input[kept] = c.input[i];
      c.input_axes[kept++] = c.input_axes[i];
    }
    c.inputs = kept;
  }

  Graph& graph_;
  Fused& fused_;
  const FusionLimits limits_;
  Pool<char> pinned_;  // by value: stays in memory in any case
  Pool<Id> readers_;   // by value that a loop makes: the clusters that read it, in reader_pool_
  Pool<Reader> reader_pool_;
  Pool<Id> used_by_;    // by value: the last cluster that was found to use it
  Pool<char> written_;  // by variable; empty until it is asked for

  // The current value.
  Id part_[most_operations] = {};  // nodes
  int parts_ = 0;
  Id leaf_[most_leaves] = {};  // storage values
  int leaves_ = 0;
  int leaf_reads_ = 0;  // by the parts
  int flops_ = 0;
  int more_bytes_ = 0;  // of an element: of leaves that readers do not read now
};

/// Makes clusters compute values that others would have to write to memory for them.
constexpr void recompute(Simplified& simplified, Fused& fused, const Roots& roots,
                         const FusionLimits& limits = {}) {
  Recomputer(simplified, fused, roots, limits).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
