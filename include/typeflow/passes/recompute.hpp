// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computing a value again where that is cheaper than memory.
//
// A value that leaves its cluster is written to memory, and read by each cluster that uses it. If
// it follows by a few elementwise operations from what the cluster itself reads from memory, or
// from its row values, all its readers can do these operations, too; then it is not written at all.
// So a softmax's exponentials are made again from the logits by its gradient, and normalised
// activations from what was normalised. Values keep their bits: the operations are the same.

#include "typeflow/graph/graph.hpp"
#include "typeflow/passes/fuse.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

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
    // Upstream clusters first: what they read is settled when those that read them are looked at.
    Id deepest = 0;
    for (const Cluster& c : fused_.clusters) deepest = c.depth > deepest ? c.depth : deepest;
    Pool<Id> by_depth(deepest + 1, none);
    Pool<Id> next(count, none);
    for (Id c = count - 1; c >= 0; --c) {
      if (fused_.clusters[c].merged) continue;
      next[c] = by_depth[fused_.clusters[c].depth];
      by_depth[fused_.clusters[c].depth] = c;
    }
    for (const Id first : by_depth) {
      for (Id c = first; c != none; c = next[c]) visit(c);
    }
  }

 private:
  static constexpr int most_operations = 6;
  static constexpr int most_flops = 32;
  static constexpr int most_words = 8;

  struct Reader {
    Id cluster;
    Id next;
  };

  constexpr void pin(Id value) {
    if (fused_.needs[graph_.values[value].node] != NeedSets::nobody) {
      pinned_[fused_.storage[value]] = 1;
    }
  }

  /// What has to be in memory for those that can't compute it; and who reads the other values that
  /// loops make. (For every cluster while the compiler evaluates, hence the plainness.)
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
    readers_[value] = reader_pool_.push(Reader{cluster, readers_[value]});
  }

  /// Looks at the values that leave a cluster.
  constexpr void visit(Id id) {
    const Cluster& cluster = fused_.clusters[id];
    if (cluster.kind != ClusterKind::loop || id >= fused_.first_late) return;
    if (graph_.nodes.data()[cluster.first].controls.count != 0) return;  // its readers would run it
    bool changed = false;
    const Id* next = fused_.next.data();
    for (Id m = cluster.first; m != none; m = next[m]) {
      const Id value = graph_.nodes.data()[m].outputs.first;
      if (readers_.data()[value] == none || pinned_.data()[value] != 0) continue;
      if (graph_.is_token(value)) continue;
      parts_ = 0;
      leaves_ = 0;
      leaf_reads_ = 0;
      flops_ = 0;
      if (!collect(id, m)) continue;
      bool all = true;
      int copies = 0;
      for (Id r = readers_[value]; r != none && all; r = reader_pool_[r].next) {
        all = can_compute(reader_pool_[r].cluster, value);
        copies += parts_;
      }
      if (!all || fused_.next.size() + copies > fused_.next.capacity()) continue;
      for (Id r = readers_[value]; r != none; r = reader_pool_[r].next) {
        compute_in(reader_pool_[r].cluster, value);
      }
      readers_[value] = none;
      changed = true;
    }
    if (changed) drop_unused(id);
  }

  /// Takes out of a cluster what only others used, and what it read for that.
  constexpr void drop_unused(Id id) {
    Cluster& c = fused_.clusters[id];
    Pool<Id> members;
    for (Id m = c.first; m != none; m = fused_.next[m]) members.push(m);
    while (used_by_.size() < graph_.values.size()) used_by_.push(none);
    c.first = none;
    c.last = none;
    c.members = 0;
    c.inputs = 0;
    c.tensors = 0;
    const unsigned whole = (1u << c.rank) - 1u;
    for (int i = members.size() - 1; i >= 0; --i) {
      const Id m = members[i];
      const Node node = graph_.nodes[m];
      const Id value = node.outputs.first;
      const bool writes = node.op->kind == Kind::write;
      if (!writes && used_by_[value] != id && readers_[value] == none && pinned_[value] == 0) {
        fused_.cluster_of[m] = none;
        fused_.needs[m] = NeedSets::nobody;
        continue;
      }
      fused_.next[m] = c.first;
      if (c.first == none) c.last = m;
      c.first = m;
      ++c.members;
      for (Id k = writes ? 1 : 0; k < node.inputs.count; ++k) {
        const Id storage = fused_.storage[graph_.input(node, k)];
        used_by_[storage] = id;
        if (fused_.cluster_of[graph_.values[storage].node] == id) continue;
        const unsigned axes = axes_of(node, graph_.input(node, k));
        const bool row = fused_.is_row[m] != 0;
        add_input(c, storage,
                  writes || node.op->kind == Kind::reduction ? whole
                  : row                                      ? spread_axes(axes, c.reduced, c.rank)
                                                             : axes);
      }
    }
    if (c.first == none) c.merged = true;
  }

  /// The operations that lead to a node from what its cluster has in memory, in order, and those
  /// values. False if there are too many, or others are among them.
  constexpr bool collect(Id cluster, Id node) {
    const Node& n = graph_.nodes[node];
    for (int i = 0; i < parts_; ++i) {
      if (part_[i] == node) return true;
    }
    if (n.op->kind != Kind::elementwise || n.attributes.count > most_words ||
        n.op->effect != SideEffect::pure || fused_.is_row[node] != 0 || n.controls.count != 0 ||
        parts_ == most_operations || flops_ + n.op->flops > most_flops) {
      return false;
    }
    flops_ += n.op->flops;
    for (Id k = 0; k < n.inputs.count; ++k) {
      const Id storage = fused_.storage[graph_.input(n, k)];
      const Id from = graph_.values[storage].node;
      const bool inside = fused_.cluster_of[from] == cluster;
      if (inside && fused_.is_row[from] == 0) {
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
    // What a run overwrites may be another value by the time that it is read again.
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
        each_written_variable(graph_, graph_.nodes[id], [&](Id written) { written_[written] = 1; });
      }
    }
    return written_[static_cast<Id>(graph_.words_of(variable)[0])] != 0;
  }

  constexpr Id type_of(Id value) const { return graph_.values[value].type; }
  constexpr std::int64_t bytes_of(Id value) const {
    return typical_bytes(graph_.types[type_of(value)]);
  }

  /// Whether a cluster that reads the value can compute it, and reads no more then.
  constexpr bool can_compute(Id id, Id value) {
    const Cluster& c = fused_.clusters[id];
    if (c.kind == ClusterKind::single || c.closed || id >= fused_.first_late) return false;
    if (!(c.device == graph_.node_of(value).device)) return false;
    const Dims space = squeezed(graph_.dims_of(value));
    if (!(space == graph_.types[c.space].dims) || c.members + parts_ > limits_.members)
      return false;
    const unsigned whole = (1u << c.rank) - 1u;
    for (int i = 0; i < c.inputs; ++i) {  // everywhere as itself
      if (c.input[i] == value && c.input_axes[i] != whole) return false;
    }
    for (Id m = c.first; m != none; m = fused_.next[m]) {
      const Node& node = graph_.nodes[m];
      if (node.op->kind == Kind::contraction) continue;
      const int first = node.op->kind == Kind::write ? 1 : 0;
      for (Id k = first; k < node.inputs.count; ++k) {
        const Id operand = graph_.input(node, k);
        if (fused_.storage[operand] != value) continue;
        if (operand != value || node.op->kind == Kind::write) return false;
      }
    }
    unsigned width = c.width;
    for (int i = 0; i < parts_; ++i) width |= width_of(graph_.nodes[part_[i]]);
    if (width == 3u) return false;
    // A value goes, leaves come: of these one more tensor at most, and no larger one.
    int inputs = c.inputs - 1;
    int tensors = c.tensors - 1;
    int larger = 0;
    for (int i = 0; i < leaves_; ++i) {
      if (reads(c, leaf_[i])) continue;
      ++inputs;
      if (graph_.dims_of(leaf_[i]).rank == 0) continue;
      ++tensors;
      if (bytes_of(leaf_[i]) * 8 < bytes_of(value)) continue;  // a row's
      larger += bytes_of(leaf_[i]) > bytes_of(value) ? 2 : 1;
    }
    if (inputs > limits_.inputs || tensors > limits_.tensors || larger > 1) return false;
    // A leaf that is read along different axes takes several places.
    if (c.inputs - 1 + leaf_reads_ > FusionLimits::most_inputs) return false;
    for (int i = 0; i < parts_; ++i) {
      const Node& node = graph_.nodes[part_[i]];
      for (Id k = 0; k < node.inputs.count; ++k) {
        if (!fits_cluster(axes_of(node, graph_.input(node, k)), c)) return false;
      }
    }
    return true;
  }
  constexpr unsigned width_of(const Node& node) const {
    unsigned width = 0;
    const auto add = [&](Id value) {
      const DType type = graph_.dtype_of(value);
      const int size = is_complex(type) ? 0 : size_of(type);
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
    const Node& from = graph_.node_of(fused_.storage[operand]);
    const Dims& in = graph_.dims_of(operand);
    const Dims& out = graph_.dims_of(node.outputs.first);
    return from.op->builtin == Builtin::index_along
               ? position_axes(in, static_cast<int>(graph_.words_of(from)[0]), out)
               : broadcast_axes(in, out);
  }

  /// Puts copies of the operations into a cluster, in front of its own, and has them used.
  constexpr void compute_in(Id id, Id value) {
    forget_input(id, value);
    Id copies[most_operations] = {};  // values
    Id last =
        fused_.clusters[id].kind == ClusterKind::contraction ? fused_.clusters[id].first : none;
    for (int i = 0; i < parts_; ++i) {
      const Node original = graph_.nodes[part_[i]];
      const Id copy = copy_node(id, original, copies, i);
      copies[i] = graph_.nodes[copy].outputs.first;
      Cluster& c = fused_.clusters[id];
      Id& link = last == none ? c.first : fused_.next[last];
      fused_.next[copy] = link;
      link = copy;
      if (fused_.next[copy] == none) c.last = copy;
      last = copy;
      ++c.members;
      c.width |= width_of(original);
    }
    const Id result = copies[parts_ - 1];
    Id needs = NeedSets::nobody;
    for (Id m = fused_.next[last]; m != none; m = fused_.next[m]) {
      const Node node = graph_.nodes[m];
      bool uses = false;
      for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count; ++k) {
        if (graph_.operands[k] != value) continue;
        graph_.operands[k] = result;
        uses = true;
      }
      if (uses) needs = fused_.need_sets.unite(needs, fused_.needs[m]);
    }
    for (int i = 0; i < parts_; ++i) fused_.needs[graph_.values[copies[i]].node] = needs;
  }

  constexpr Id copy_node(Id cluster, const Node& original, const Id* copies, int copied) {
    Id inputs[max_arity] = {};
    for (Id k = 0; k < original.inputs.count; ++k) {
      const Id operand = graph_.operands[original.inputs.first + k];
      inputs[k] = operand;
      const Id from = graph_.values[fused_.storage[operand]].node;
      int part = 0;
      while (part < copied && part_[part] != from) ++part;
      if (part < copied) {
        inputs[k] = copies[part];
      } else {
        read(cluster, fused_.storage[operand], axes_of(original, operand));
      }
    }
    graph_.scope = original.scope;
    graph_.source = original.source;
    graph_.device = original.device;
    graph_.region = original.region;
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
    if (add_input(fused_.clusters[cluster], storage, axes)) add_reader(storage, cluster);
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
    Cluster& c = fused_.clusters[cluster];
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

  static constexpr int most_leaves = 8;

  Graph& graph_;
  Fused& fused_;
  const FusionLimits limits_;
  Pool<char> pinned_;  // by value: in memory whatever becomes of its readers
  Pool<Id> readers_;   // by value that a loop makes: the clusters that read it, in reader_pool_
  Pool<Reader> reader_pool_;
  Pool<Id> used_by_;    // by value: the last cluster that was found to use it; empty until then
  Pool<char> written_;  // by variable; empty until it is asked for

  // Of the value at hand.
  Id part_[most_operations] = {};  // nodes
  int parts_ = 0;
  Id leaf_[most_leaves] = {};  // storage values
  int leaves_ = 0;
  int leaf_reads_ = 0;  // by the parts
  int flops_ = 0;
};

/// Has clusters compute what others would have to write to memory for them.
constexpr void recompute(Simplified& simplified, Fused& fused, const Roots& roots,
                         const FusionLimits& limits = {}) {
  Recomputer(simplified, fused, roots, limits).run();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
