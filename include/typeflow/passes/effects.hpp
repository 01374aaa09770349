// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of effects, for fusing, scheduling and lowering.
//
//   start    What reads a variable by its handle reads the value at the start of the run: it comes
//            before all that write the variable. Nodes that follow an effect can't: they read a
//            copy that was made before (put_effects_last).
//   present  Writes of a variable, and reads of its present value, stay in the model's order:
//            a write comes after the last write and all reads since, a read after the last write.
//   after    A node with control inputs comes after all effects that these tokens stand for.
//   outside  Effects that are no write of a variable stay in the model's order.
//   resource Each resource is a place of its own: operations on one stay in the model's order, and
//            those on two are not ordered. A resource has no start value. Operations on an
//            unordered resource, such as a queue, are ordered by control inputs alone.
//   locks    Operations on resources that runs hold are all in the model's order: else a run could
//            hold two locks that the model never holds at once, and two runs wait for each other.
//
// AccessOrder is the second rule, for anything that is read and written. EffectOrder is all rules
// but the first, for nodes. Passes that put nodes into kernels, or kernels into an order, ask it
// which nodes come before another.

#include <utility>

#include "typeflow/core/pool.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Reads and writes of places by accessors. Places and accessors are numbers.
class AccessOrder {
 public:
  constexpr AccessOrder() = default;
  constexpr explicit AccessOrder(int places) : places_(places, Place{none, none}) {}

  /// Calls f for the accessor before a read of the place: the last one to write it.
  template <class F>
  constexpr void before_read(Id place, const F& f) const {
    const Id write = places_.items[place].write;
    if (write != none) f(write);
  }
  /// Calls f for all accessors before a write of the place: the last one to write it, then those
  /// that have read it since, the last first.
  template <class F>
  constexpr void before_write(Id place, const F& f) const {
    before_read(place, f);
    for (Id r = places_.items[place].readers; r != none; r = readers_.items[r].next)
      f(readers_.items[r].who);
  }

  constexpr void add_read(Id place, Id who) {
    places_.items[place].readers = readers_.push(Reader{who, places_.items[place].readers});
  }
  constexpr void add_write(Id place, Id who) { places_.items[place] = Place{who, none}; }

 private:
  struct Place {
    Id write;
    Id readers;  // in readers_
  };
  struct Reader {
    Id who;
    Id next;
  };
  Pool<Place> places_;
  Pool<Reader> readers_;
};

/// Calls f for the nodes of the effects that a token stands for, in order, and for a node as often
/// as it is named. (No recursion, because `step += ...` in a loop nests groups as deep as the loop
/// is long.)
template <class F>
constexpr void each_effect(const Graph& graph, Id token, const F& f) {
  const Node* const nodes = graph.nodes.data();
  const Value* const values = graph.values.data();
  if (nodes[values[token].node].op->kind != Kind::group) {
    f(values[token].node);
    return;
  }
  Pool<Id> pending;
  pending.push(token);
  while (!pending.empty()) {
    const Id id = values[pending.back()].node;
    pending.pop();
    if (nodes[id].op->kind != Kind::group) {
      f(id);
      continue;
    }
    const Range inputs = nodes[id].inputs;
    for (Id k = inputs.count - 1; k >= 0; --k) pending.push(graph.operands.items[inputs.first + k]);
  }
}

/// Calls f(Access) for the reads and writes of the regions of a branch or a loop.
template <class F>
constexpr void each_access(const Graph& graph, const Node& node, const F& f) {
  const Range accesses = graph.regions.items[graph.lists.items[node.regions.first]].accesses;
  for (Id k = 0; k < accesses.count; ++k) f(Access::decode(graph.lists.items[accesses.first + k]));
}

/// Calls f(variable) for the variables that a node writes, itself or in its regions.
template <class F>
constexpr void each_written_variable(const Graph& graph, const Node& node, const F& f) {
  if (writes_variable(node.op->kind)) {
    f(graph.variable_index(graph.input(node, 0)));
  } else if (node.op->kind == Kind::control) {
    each_access(graph, node, [&](Access access) {
      if (access.writes && access.variable != Access::outside) f(access.variable);
    });
  }
}

/// Whether a node is an operation on a resource.
constexpr bool uses_resource(const Graph& graph, const Node& node) {
  return node.op->kind == Kind::update &&
         graph.variable_records.items[graph.variable_index(graph.input(node, 0))].is_resource();
}
/// Whether a region's access concerns a variable: neither a resource nor what is outside.
constexpr bool concerns_variable(const Graph& graph, Access access) {
  return access.variable != Access::outside &&
         !graph.variable_records.items[access.variable].is_resource();
}

/// Whether a node writes a variable, or reads one's present value.
constexpr bool is_present_access(const Graph& graph, const Node& node) {
  if (node.op->kind != Kind::control) {
    return node.op->effect == SideEffect::reads_state ||
           (writes_variable(node.op->kind) && !uses_resource(graph, node));
  }
  bool found = false;
  each_access(graph, node, [&](Access a) { found = found || concerns_variable(graph, a); });
  return found;
}

/// Whether a node has an effect outside of variables: on a resource, or on the outside world.
constexpr bool is_effect_outside(const Graph& graph, const Node& node) {
  if (node.op->kind != Kind::control) {
    return node.op->effect == SideEffect::writes &&
           (!writes_variable(node.op->kind) || uses_resource(graph, node));
  }
  bool found = false;
  each_access(graph, node, [&](Access a) { found = found || !concerns_variable(graph, a); });
  return found;
}

/// The nodes of a graph in the order of their effects.
class EffectOrder {
 public:
  constexpr explicit EffectOrder(const Graph& graph)
      : graph_(&graph), accesses_(graph.variable_records.size() + 2) {}

  /// Whether a node takes part in this order.
  constexpr bool concerns(const Node& node) const {
    return node.controls.count != 0 || is_present_access(*graph_, node) ||
           is_effect_outside(*graph_, node);
  }

  /// Calls before(n) for the nodes n that come before this one, and records it for those that are
  /// placed later. Nodes are placed in the model's order.
  template <class F>
  constexpr void place(Id id, const F& before) {
    const Node& node = graph_->nodes.items[id];
    for (Id k = 0; k < node.controls.count; ++k) {
      each_effect(*graph_, graph_->operands.items[node.controls.first + k], before);
    }
    if (writes_variable(node.op->kind)) {
      const Id variable = variable_of(node);
      if (is_unordered(variable)) return;
      write(variable, id, before);
      if (is_lock(variable)) write(locks(), id, before);
    } else if (node.op->effect == SideEffect::reads_state) {
      read(variable_of(node), id, before);
    } else if (node.op->kind == Kind::control) {
      bool locked = false;
      each_access(*graph_, node, [&](Access access) {
        const Id place = access.variable == Access::outside ? outside() : access.variable;
        if (place != outside() && is_unordered(place)) return;
        access.writes ? write(place, id, before) : read(place, id, before);
        locked = locked || (place != outside() && is_lock(place));
      });
      if (locked) write(locks(), id, before);
    } else if (is_effect_outside(*graph_, node)) {
      write(outside(), id, before);
    }
  }

  /// Calls before(n) for the nodes n that come before a write because of its variable, without
  /// placing the write.
  template <class F>
  constexpr void before_write(const Node& node, const F& before) const {
    accesses_.before_write(variable_of(node), before);
  }

  /// Records that a node reads a variable's start value, before any node is placed.
  constexpr void read_start(Id variable, Id node) { accesses_.add_read(variable, node); }

 private:
  /// One place for everything outside.
  constexpr Id outside() const { return graph_->variable_records.size(); }
  /// One place for all resources that runs hold.
  constexpr Id locks() const { return graph_->variable_records.size() + 1; }
  constexpr bool is_lock(Id variable) const {
    return graph_->variable_records.items[variable].is_held();
  }
  constexpr bool is_unordered(Id variable) const {
    return graph_->variable_records.items[variable].is_unordered();
  }
  constexpr Id variable_of(const Node& node) const {
    return graph_->variable_index(graph_->input(node, 0));
  }
  template <class F>
  constexpr void read(Id place, Id id, const F& before) {
    accesses_.before_read(place, before);
    accesses_.add_read(place, id);
  }
  template <class F>
  constexpr void write(Id place, Id id, const F& before) {
    accesses_.before_write(place, before);
    accesses_.add_write(place, id);
  }

  const Graph* graph_;
  AccessOrder accesses_;  // by variable, and of what is outside
};

/// An order of nodes in which those that follow an effect come last.
struct EffectsLast {
  Pool<Id> order;
  int first_effect = 0;  ///< where they begin in the order
};

class EffectSplitter {
 public:
  constexpr explicit EffectSplitter(Graph& graph) : graph_(graph) {}

  constexpr EffectsLast run(const Pool<Id>& nodes_in_order) {
    const Node* const nodes = graph_.nodes.data();
    const Id* const order = nodes_in_order.data();
    const int count = nodes_in_order.size();
    out_.order.reserve(2 * count);
    int first = 0;  // the first node that has or follows an effect
    for (; first < count && !is_present_access(graph_, nodes[order[first]]); ++first) {
      out_.order.push(order[first]);
    }
    out_.first_effect = first;
    if (first == count) return std::move(out_);
    const Value* const values = graph_.values.data();
    const Id* const operands = graph_.operands.data();
    Pool<char> follows_effect(graph_.nodes.size(), 0);
    char* const follows = follows_effect.data();
    Pool<Id> late;
    bool outside_late = false;  // an effect outside is late, so those behind it are, too
    for (int i = first; i < count; ++i) {
      const Id id = order[i];
      const Node node = nodes[id];
      const bool outside = is_effect_outside(graph_, node);
      bool after = is_present_access(graph_, node) || (outside && outside_late);
      const Id last = node.inputs.first + node.inputs.count;
      for (Id k = node.inputs.first; k < last && !after; ++k) {
        if (follows[values[operands[k]].node] != 0) after = true;
      }
      for (Id k = 0; k < node.controls.count && !after; ++k) {
        if (follows[values[operands[node.controls.first + k]].node] != 0) after = true;
      }
      if (after) {
        follows[id] = 1;
        outside_late |= outside;
        late.push(id);
      } else {
        out_.order.push(id);
      }
    }
    copy_old_values(late);
    out_.first_effect = out_.order.size();
    for (const Id id : late) out_.order.push(id);
    return std::move(out_);
  }

 private:
  /// Makes nodes that follow effects read copies of the variables that are written.
  constexpr void copy_old_values(const Pool<Id>& late) {
    Pool<char> written(graph_.values.size(), 0);
    for (const Id id : late) {
      each_written_variable(graph_, graph_.nodes.items[id], [&](Id variable) {
        written[graph_.variable_records.items[variable].value] = 1;
      });
    }
    for (const Id id : late) {
      const Node node = graph_.nodes.items[id];
      if (node.op->effect == SideEffect::reads_state || node.op->kind == Kind::group) continue;
      for (Id k = writes_variable(node.op->kind) ? 1 : 0; k < node.inputs.count; ++k) {
        const Id value = graph_.operands.items[node.inputs.first + k];
        const Id shown = viewed(value);
        if (shown < written.size() && written[shown] != 0) {
          const Id copy = snapshot(value, node);  // may move the operands
          graph_.operands.items[node.inputs.first + k] = copy;
        }
      }
    }
  }

  /// The value that views of views show.
  constexpr Id viewed(Id value) const {
    const Node* node = &graph_.node_of(value);
    while (node->op->kind == Kind::view) {
      value = graph_.input(*node, 0);
      node = &graph_.node_of(value);
    }
    return value;
  }

  /// A copy, made at the start of the run, of a variable's value or of a view of it.
  constexpr Id snapshot(Id variable, const Node& node) {
    graph_.scope = node.scope;
    graph_.source = node.source;
    graph_.device = node.device;
    if (writes_variable(node.op->kind)) {  // is never open, but where its variable is
      graph_.device = graph_.node_of(graph_.input(node, 0)).device;
    }
    const Id known = graph_.values.size();
    const Id copy =
        add_node(graph_, ops::After{}, &variable, 1, graph_.values.items[variable].type).id;
    if (copy == known) out_.order.push(graph_.values.items[copy].node);  // one for all that need it
    return copy;
  }

  Graph& graph_;
  EffectsLast out_;
};

/// Puts nodes that follow an effect last. Their reads of variables mean the start of the run, so a
/// variable that is written is copied for them first.
constexpr EffectsLast put_effects_last(Graph& graph, const Pool<Id>& order) {
  return EffectSplitter(graph).run(order);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
