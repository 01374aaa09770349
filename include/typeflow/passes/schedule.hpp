// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of the kernels.
//
// Any order is right that computes values before their uses and keeps the order of effects
// (effects.hpp). This one takes, from the first few clusters that are ready, one that frees more
// memory than it needs, otherwise the earliest. So an update runs as soon as its gradient is there,
// and activations die early.

#include "typeflow/graph/graph.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/fuse.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class Scheduler {
 public:
  constexpr Scheduler(const Graph& graph, Fused& fused) : graph_(graph), fused_(fused) {}

  constexpr Pool<Id> run() {
    measure_types();
    for (;;) {
      collect_edges();
      Pool<Id> order = sort();
      if (order.size() == count_) return order;
      if (!separate_writes(order)) return {};  // a cycle: there is none, by the fusion's depths
    }
  }

 private:
  struct Edge {
    Id from;
    Id to;
  };

  constexpr void add_edge(Id from, Id to) {
    if (from != none && from != to) edges_.push(Edge{from, to});
  }

  constexpr void collect_edges() {
    edges_.clear();
    count_ = 0;
    EffectOrder effects(graph_);
    const Cluster* const clusters = fused_.clusters.data();
    const int cluster_count = fused_.clusters.size();
    for (Id c = 0; c < cluster_count; ++c) {
      const Cluster& cluster = clusters[c];
      if (cluster.merged) continue;
      ++count_;
      if (cluster.kind == ClusterKind::single) {
        const Node& node = graph_.nodes.items[cluster.first];
        for (Id k = writes_variable(node.op->kind) ? 1 : 0; k < node.inputs.count; ++k) {
          add_input_edge(fused_.storage.items[graph_.input(node, k)], c, effects);
        }
      } else {
        const int inputs = cluster.inputs;
        for (int i = 0; i < inputs; ++i) add_input_edge(cluster.input[i], c, effects);
      }
    }
    const Node* const nodes = graph_.nodes.data();
    const int node_count = fused_.order.size();
    for (int i = 0; i < node_count; ++i) {
      const Id id = fused_.order.items[i];
      if (!effects.concerns(nodes[id]) || fused_.needs.items[id] == NeedSets::nobody) continue;
      const Id cluster = fused_.cluster_of.items[id];
      if (cluster == none) continue;
      effects.place(id, [&](Id before) { add_edge(fused_.cluster_of.items[before], cluster); });
    }
  }

  /// The cluster reads the storage, so it comes after its producer, or before a write of the
  /// variable.
  constexpr void add_input_edge(Id storage, Id cluster, EffectOrder& effects) {
    const Id node = graph_.values.items[storage].node;
    const Id producer = fused_.cluster_of.items[node];
    if (producer != none) {
      edges_.push(Edge{producer, cluster});
      return;
    }
    if (graph_.nodes.items[node].op->builtin != Builtin::variable) return;
    // Later clusters read variables that nothing writes, or present values, ordered below.
    if (cluster >= fused_.first_late) return;
    effects.read_start(graph_.variable_index(storage), fused_.clusters.items[cluster].first);
  }

  constexpr Pool<Id> sort() {
    const int clusters = fused_.clusters.size();
    const int edge_count = edges_.size();
    const Edge* const edges = edges_.data();
    // Successors of cluster c: next_[begin[c]] up to begin[c + 1].
    Pool<Id> begins(clusters + 1, 0);
    Pool<Id> waits(clusters, 0);
    Id* const begin = begins.data();
    Id* const waiting = waits.data();
    for (int i = 0; i < edge_count; ++i) {
      ++begin[edges[i].from];
      ++waiting[edges[i].to];
    }
    Id total = 0;
    for (int i = 0; i < clusters; ++i) {
      total += begin[i];
      begin[i] = total;
    }
    begin[clusters] = total;
    Pool<Id> nexts(edge_count, 0);
    Id* const next = nexts.data();
    for (int i = edge_count - 1; i >= 0; --i) next[--begin[edges[i].from]] = edges[i].to;

    count_uses();
    Pool<Id> ready;
    Pool<Id> order;
    order.reserve(count_);
    for (Id c = clusters - 1; c >= 0; --c) {  // the earliest last, to be taken first
      if (waiting[c] == 0 && !fused_.clusters.items[c].merged) ready.push(c);
    }
    while (!ready.empty()) {
      const Id c = take(ready);
      order.push(c);
      release(c);
      for (Id i = begin[c]; i < begin[c + 1]; ++i) {
        if (--waiting[next[i]] == 0) ready.push(next[i]);
      }
    }
    return order;
  }

  // Memory. Only the order of sizes matters.

  constexpr std::int64_t bytes_of(Id value) const {
    return bytes_.items[graph_.values.items[value].type];
  }
  constexpr void measure_types() {
    for (const Type& type : graph_.types) bytes_.push(typical_bytes(type));
  }

  /// Counts the clusters that read each value.
  constexpr void count_uses() {
    uses_ = Pool<Id>(graph_.values.size(), 0);
    Id* const uses = uses_.data();
    const int clusters = fused_.clusters.size();
    for (Id id = 0; id < clusters; ++id) {
      const Cluster* const c = fused_.clusters.items + id;
      const int inputs = c->inputs;
      for (int i = 0; i < inputs; ++i) ++uses[c->input[i]];
    }
  }

  /// The bytes that a cluster takes, less those that it frees.
  constexpr std::int64_t balance(Id cluster) const {
    const Cluster& c = fused_.clusters.items[cluster];
    const Id* const uses = uses_.data();
    const Value* const values = graph_.values.data();
    const Node* const nodes = graph_.nodes.data();
    const Id* const next = fused_.next.data();
    std::int64_t bytes = 0;
    const int inputs = c.inputs;
    for (int i = 0; i < inputs; ++i) {
      const Id value = c.input[i];
      if (uses[value] == 1 && fused_.cluster_of.items[values[value].node] != none) {
        bytes -= bytes_of(value);
      }
    }
    for (Id id = c.first; id != none; id = next[id]) {
      const Range outputs = nodes[id].outputs;
      for (Id value = outputs.first; value < outputs.first + outputs.count; ++value) {
        if (uses[value] > 0) bytes += bytes_of(value);
      }
    }
    return bytes;
  }

  constexpr void release(Id cluster) {
    const Cluster& c = fused_.clusters.items[cluster];
    Id* const uses = uses_.data();
    const int inputs = c.inputs;
    for (int i = 0; i < inputs; ++i) --uses[c.input[i]];
  }

  /// Takes the best of the first few clusters that are ready.
  constexpr Id take(Pool<Id>& ready) {
    constexpr int window = 8;
    const int size = ready.size();
    int best = size - 1;
    if (size > 1) {
      std::int64_t least = 1;
      for (int i = size - 1; i >= 0 && i >= size - window; --i) {
        const std::int64_t bytes = balance(ready.items[i]);
        if (bytes < least || (least > 0 && ready.items[i] < ready.items[best])) {
          if (bytes <= 0) least = bytes;
          best = i;
        }
      }
    }
    const Id cluster = ready.items[best];
    for (int i = best + 1; i < size; ++i) ready.items[i - 1] = ready.items[i];
    ready.pop();
    return cluster;
  }

  /// Gives assignments in clusters that could not be ordered clusters of their own.
  constexpr bool separate_writes(const Pool<Id>& ordered) {
    Pool<char> done(fused_.clusters.size(), 0);
    for (const Id c : ordered) done[c] = 1;
    bool changed = false;
    for (Id c = 0; c < done.size(); ++c) {
      if (done[c] != 0 || fused_.clusters.items[c].merged) continue;
      Id before = none;
      for (Id id = fused_.clusters.items[c].first; id != none;) {
        const Id next = fused_.next.items[id];
        if (graph_.nodes.items[id].op->kind != Kind::write || before == none) {
          before = id;
        } else {
          fused_.next.items[before] = next;
          if (next == none) fused_.clusters.items[c].last = before;
          --fused_.clusters.items[c].members;
          separate(id);
          changed = true;
        }
        id = next;
      }
    }
    return changed;
  }
  constexpr void separate(Id id) {
    Cluster own = fused_.clusters.items[fused_.cluster_of.items[id]];
    own.kind = ClusterKind::loop;
    own.closed = true;
    own.first = id;
    own.last = id;
    own.members = 1;
    own.phases = 1;
    own.reduced = 0;
    if (fused_.is_row.items[id] != 0) {
      own.space = own.rows;
      own.rank = graph_.types.items[own.rows].dims.rank;
    }
    own.rows = none;
    own.inputs = 1;
    own.input[0] = fused_.storage.items[graph_.input(graph_.nodes.items[id], 1)];
    fused_.next.items[id] = none;
    fused_.is_row.items[id] = 0;
    fused_.phase.items[id] = 0;
    fused_.cluster_of.items[id] = fused_.clusters.push(own);
  }

  const Graph& graph_;
  Fused& fused_;
  Pool<Edge> edges_;
  Pool<Id> uses_;             // by value: clusters that are still to read it
  Pool<std::int64_t> bytes_;  // by type
  int count_ = 0;
};

/// The clusters in the order in which their kernels run. May take assignments out of clusters.
constexpr Pool<Id> schedule(const Graph& graph, Fused& fused) {
  return Scheduler(graph, fused).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
