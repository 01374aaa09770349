// SPDX-License-Identifier: Apache-2.0
#pragma once

// Simplification: one walk over what the roots need, in place.
//
// It drops dead code, folds constants, asks each operation which tensor its result equals (the rule
// `simplify`), expands composite operations and merges equal nodes. The operations' identities are
// in their rules, not here. They keep every bit but the sign of a zero, and reassociate nothing. At
// the end it joins products and sums (multiply_adds.hpp), and takes operations on concatenations
// apart (distribute.hpp).
//
// New nodes go to the end of the graph's arrays. So afterwards values stand before their uses in
// `order`, not by the nodes' numbers.

#include <utility>

#include "typeflow/front/sources.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/passes/distribute.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/multiply_adds.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// A simplified graph.
struct Simplified {
  Graph graph;
  Pool<Id> order;  ///< its nodes, values before their uses; none that the roots do not need
  Pool<Id> map;    ///< value of the original -> the value that replaces it
};

class Simplifier {
 public:
  constexpr Simplifier(Graph&& graph, const Pool<Id>& roots, const Pool<Id>& cuts,
                       const FusionLimits& limits)
      : graph_(std::move(graph)),
        roots_(roots),
        limits_(limits),
        map_(Pool<Id>::uninitialized(graph_.values.size())) {
    graph_.share_values();
    graph_.constants.clear();  // later ones in the order can't be used by earlier nodes
    Id* const map = map_.data();
    const int count = map_.size();
    for (Id i = 0; i < count; ++i) map[i] = i;
    traced_ = graph_.nodes.size();
    traced_values_ = count;
    if (!cuts.empty()) cut_ = Pool<char>(count, 0);
    for (const Id value : cuts) {
      if (builtin(value) == Builtin::placeholder) continue;
      const AnyExpr fed = add_node(graph_, ops::Placeholder{{}, 0, 0, 0}, nullptr, 0,
                                   graph_.values.items[value].type);
      cut_[value] = 1;
      map_[value] = fed.id;
      order_.push(graph_.values.items[fed.id].node);
    }
  }

  constexpr Simplified run() {
    const int count = traced_;
    const Pool<char> live = mark_live(count);
    const char* const alive = live.data();
    Id* const map = map_.data();
    order_.reserve(2 * count);
    for (Id id = 0; id < count; ++id) {
      if (alive[id] == 0) continue;
      const Node node = graph_.nodes.items[id];
      Id* const operands = graph_.operands.data();
      const Id last = node.inputs.first + node.inputs.count;
      for (Id k = node.inputs.first; k < last; ++k) operands[k] = map[operands[k]];
      const Id value = node.outputs.first;
      Id result = value;
      if (node.controls.count != 0) {
        for (Id k = 0; k < node.controls.count; ++k) {
          Id& control = operands[node.controls.first + k];
          control = map[control];
        }
      } else if (node.op->effect == SideEffect::reads_state) {
        result = rewrite_read(node);
      } else if (node.outputs.count == 1 && node.op->builtin != Builtin::variable) {
        // Rewritten before it is shared, because a replacement must be in the order.
        result = rewrite(id, node);
        if (result == value) result = graph_.share(value);
      }
      if (writes_variable(node.op->kind)) mark_written(graph_.variable_index(input(node, 0)));
      if (node.op->kind == Kind::control) mark_accesses(node);
      if (result == value) {
        order_.push(id);
      } else {
        map[value] = result;
      }
    }
    drop_dead();
    if (!graph_.skipped.has(Pass::find_multiply_adds)) find_multiply_adds(graph_, order_, uses_);
    if (has_parts_ && !graph_.skipped.has(Pass::distribute) && !has(graph_.mode(), Mode::debug)) {
      Distributor distributor(graph_, order_, uses_, written_, limits_);
      if (distributor.run(map_)) drop_dead();
    }
    compute_positions();
    return {std::move(graph_), std::move(order_), std::move(map_)};
  }

 private:
  /// Marks the nodes that the roots need, from the last to the first, because users come later.
  constexpr Pool<char> mark_live(int count) const {
    const Value* const values = graph_.values.data();
    const Id* const operands = graph_.operands.data();
    const Node* const nodes = graph_.nodes.data();
    Pool<char> live(count, 0);
    char* const alive = live.data();
    const bool cuts = !cut_.empty();
    const char* const cut = cut_.data();
    for (const Id root : roots_) {
      if (!cuts || cut[root] == 0) alive[values[root].node] = 1;
    }
    for (Id id = count - 1; id >= 0; --id) {
      if (alive[id] == 0) continue;
      const Node& node = nodes[id];
      const Id last = node.inputs.first + node.inputs.count;
      for (Id k = node.inputs.first; k < last; ++k) {
        if (!cuts || cut[operands[k]] == 0) alive[values[operands[k]].node] = 1;
      }
      for (Id k = 0; k < node.controls.count; ++k) {
        alive[values[operands[node.controls.first + k]].node] = 1;
      }
    }
    return live;
  }
  /// Removes nodes that rewriting left without a use from the order, from the last to the first.
  /// Counts the uses of the others.
  constexpr void drop_dead() {
    uses_ = Pool<Id>(graph_.values.size(), 0);
    Id* const uses = uses_.data();
    const Id* const operands = graph_.operands.data();
    const Node* const nodes = graph_.nodes.data();
    const int count = order_.size();
    Pool<Id> kept = Pool<Id>::uninitialized(count);
    int first = count;
    for (const Id root : roots_) ++uses[map_[root]];
    for (int i = count - 1; i >= 0; --i) {
      const Id id = order_.items[i];
      const Node* const node = nodes + id;
      const Id output = node->outputs.first;
      bool used = uses[output] != 0;
      for (Id k = 1; k < node->outputs.count; ++k) used |= uses[output + k] != 0;
      if (!used) continue;
      kept.items[--first] = id;
      const Id last = node->inputs.first + node->inputs.count;
      for (Id k = node->inputs.first; k < last; ++k) ++uses[operands[k]];
      const Id last_control = node->controls.first + node->controls.count;
      for (Id k = node->controls.first; k < last_control; ++k) ++uses[operands[k]];
      if (node->op->builtin == Builtin::index_along) has_positions_ = true;
      if (Distributor::has_parts(*node)) has_parts_ = true;
    }
    for (int i = first; i < count; ++i) order_.items[i - first] = kept.items[i];
    order_.shrink(count - first);
  }

  /// A read of a variable that no statement has changed yet becomes the variable's handle.
  constexpr Id rewrite_read(const Node& node) const {
    const Id variable = input(node, 0);
    const bool written = !written_.empty() && written_[graph_.variable_index(variable)] != 0;
    return written ? node.outputs.first : variable;
  }
  constexpr void mark_written(Id variable_index) {
    if (written_.empty()) written_ = Pool<char>(graph_.variable_records.size(), 0);
    written_[variable_index] = 1;
  }
  constexpr void mark_accesses(const Node& node) {
    each_access(graph_, node, [&](Access access) {
      if (access.writes && access.variable != Access::outside) mark_written(access.variable);
    });
  }

  /// The value that replaces the node's result: its own, or another one.
  constexpr Id rewrite(Id id, const Node& node) {
    const Op& op = *node.op;
    const Id value = node.outputs.first;
    if (op.kind == Kind::elementwise) {
      const Id folded = prepare_operands(node) ? fold(node) : value;
      if (folded != value) return folded;
    }
    if (op.simplifies) {
      const Id first = graph_.nodes.size();
      graph_.stand_at(node);
      const Id same = op.simplify(graph_, node);
      if (graph_.nodes.size() != first) take_nodes(first);
      if (same != value && has_type_of(value, same, op)) return replaced(same);
    }
    if (op.kind == Kind::composite) return expand(node);
    if (op.kind == Kind::reduction) split_reduction(id);
    return value;
  }

  /// Whether a rule's value may replace the node's; otherwise the rule is wrong.
  constexpr bool has_type_of(Id value, Id same, const Op& op) {
    if (graph_.values.items[same].type == graph_.values.items[value].type) return true;
    Message message{};
    graph_.fail(message << op.name << ": simplify must give a tensor of the result's type");
    return false;
  }

  /// Appends nodes that were added, from `first` on, to the order. Of these only what kernels can't
  /// do is rewritten: composites among them are expanded, too, and reductions split.
  constexpr void take_nodes(Id first) {
    const Id end = graph_.nodes.size();
    // Constants go first: equal ones are one node, which a nested expansion may find.
    for (Id id = first; id < end; ++id) {
      if (is_constant(id)) order_.push(id);
    }
    for (Id id = first; id < end; ++id) {
      if (is_constant(id)) continue;
      if (!replacements_.empty()) replace_operands(graph_.nodes.items[id]);
      const Node node = graph_.nodes.items[id];
      const Id value = node.outputs.first;
      Id result = value;
      if (node.op->kind == Kind::reduction || node.op->kind == Kind::composite) {
        result = rewrite(id, node);
      }
      if (result == value) {
        order_.push(id);
      } else {
        replace(value, result);
      }
    }
  }

  /// Expands a composite into other operations; composites among these are expanded, too.
  constexpr Id expand(const Node& node) {
    Id inputs[max_arity] = {};
    for (Id k = 0; k < node.inputs.count; ++k) inputs[k] = input(node, k);
    const Id first = graph_.nodes.size();
    graph_.stand_at(node);
    graph_.source.make_part_of(*node.op);
    const Id result = node.op->expand(graph_, graph_.words_of(node), inputs);
    take_nodes(first);
    return replaced(result);
  }
  /// The replacement of a value that a rule or an expansion added.
  constexpr Id replaced(Id value) const {
    const Id added = value - traced_values_;
    return added < 0 || added >= replacements_.size() ? value : replacements_.items[added];
  }
  constexpr void replace(Id value, Id result) {
    for (Id id = traced_values_ + replacements_.size(); id <= value; ++id) replacements_.push(id);
    replacements_[value - traced_values_] = result;
  }
  constexpr void replace_operands(const Node& node) {
    const Id last = node.inputs.first + node.inputs.count;
    for (Id k = node.inputs.first; k < last; ++k) {
      graph_.operands.items[k] = replaced(graph_.operands.items[k]);
    }
  }

  constexpr Id input(const Node& node, int k) const {
    return graph_.operands.items[node.inputs.first + k];
  }
  constexpr Builtin builtin(Id value) const {
    return graph_.nodes.items[graph_.values.items[value].node].op->builtin;
  }
  constexpr bool is_constant(Id node) const {
    return graph_.nodes.items[node].op->builtin == Builtin::constant;
  }

  /// Removes explicit broadcasts in front of an elementwise node. Returns whether its inputs are
  /// all constants.
  constexpr bool prepare_operands(const Node& node) {
    const Value* const values = graph_.values.data();
    const Node* const nodes = graph_.nodes.data();
    const Id* const operands = graph_.operands.data();
    bool constants = node.inputs.count > 0;
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Builtin from = nodes[values[operands[node.inputs.first + k]].node].op->builtin;
      if (from == Builtin::broadcast_to) skip_broadcast(node, k);
      if (from != Builtin::constant) constants = false;
    }
    return constants && node.op->foldable;
  }
  /// Elementwise operations broadcast by themselves, so an explicit broadcast in front of one is
  /// removed, unless it gives the result its shape.
  constexpr void skip_broadcast(const Node& node, Id k) {
    const Id source = input(graph_.node_of(input(node, k)), 0);
    if (!node.op->inferable) {  // the shape is the node's own
      graph_.operands.items[node.inputs.first] = source;
      return;
    }
    Dims dims = graph_.dims_of(source);
    for (Id other = 0; other < node.inputs.count; ++other) {
      if (other != k) dims = broadcast(dims, graph_.dims_of(input(node, other)));
    }
    if (dims == graph_.dims_of(node.outputs.first)) {
      graph_.operands.items[node.inputs.first + k] = source;
    }
  }

  /// The node's result as a constant, if constant evaluation can compute it safely: the numbers are
  /// so small that nothing overflows.
  constexpr Id fold(const Node& node) {
    const Id value = node.outputs.first;
    const Type type = graph_.type_of(value);
    Number numbers[max_arity] = {};
    if (type.dims.rank != 0 || node.inputs.count > max_arity) return value;
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id x = input(node, k);
      const ops::Constant constant = decode<ops::Constant>(graph_, graph_.node_of(x));
      numbers[k] = constant.number(graph_.dtype_of(x));
      const Number& n = numbers[k];
      if (constant.powers != 0 || !(n.real > -1e15 && n.real < 1e15) || n.integer < -10000 ||
          n.integer > 10000) {
        return value;
      }
    }
    const Number result = node.op->evaluate({graph_, node, numbers});
    const Id first = graph_.nodes.size();
    graph_.stand_at(node);
    const Id folded = detail::constant_node(graph_, type.dtype, result).id;
    take_nodes(first);
    return folded;
  }

  /// Kernels reduce axes that lie together in memory. A reduction over several groups of such axes
  /// becomes one reduction for each group, from the innermost on.
  constexpr void split_reduction(Id id) {
    const Node node = graph_.nodes.items[id];
    const std::uint32_t all = graph_.words_of(node)[0];
    unsigned axes = all;
    Id x = input(node, 0);
    graph_.stand_at(node);
    for (;;) {
      const Type type = graph_.type_of(x);
      const unsigned group = innermost_group(axes, type.dims);
      if (group == axes) break;
      const std::uint32_t words[] = {group, 1};  // the axes stay, so that `all` still fits
      const Id known = graph_.values.size();
      x = graph_.add_value(*node.op, &x, 1,
                           graph_.intern(Type(type.dtype, reduced(type.dims, group, true))), words,
                           2);
      if (x == known) order_.push(graph_.values.items[x].node);
      axes &= ~group;
    }
    if (axes != all) graph_.nodes.items[id].inputs = graph_.append(&x, 1);
  }
  /// The innermost group of the axes to reduce: those behind the last axis that is longer than 1
  /// and stays, or all if there are none there.
  static constexpr unsigned innermost_group(unsigned axes, const Dims& dims) {
    unsigned group = 0;
    for (int i = dims.rank - 1; i >= 0; --i) {
      if ((axes >> i & 1u) != 0) {
        group |= 1u << i;
      } else if (dims.extent[i] != 1 && has_long_axis(group, dims)) {
        break;
      }
    }
    return has_long_axis(axes & ~group, dims) ? group : axes;
  }
  static constexpr bool has_long_axis(unsigned axes, const Dims& dims) {
    for (int i = 0; i < dims.rank; ++i) {
      if ((axes >> i & 1u) != 0 && dims.extent[i] != 1) return true;
    }
    return false;
  }

  /// Positions along an axis have no memory, because elementwise operations compute them. If other
  /// operations or a run read them, a broadcast to their own shape computes them.
  constexpr void compute_positions() {
    if (!has_positions_) return;
    Pool<Id> copies(graph_.values.size(), none);  // by value: what computes it, if it is positions
    Pool<Id> order;
    order.reserve(order_.size());
    const auto computed = [&](Id value) {
      if (!is_positions(graph_.values.items[value].node)) return value;
      if (copies[value] == none) {
        graph_.stand_at(graph_.node_of(value));
        copies[value] =
            add_node(graph_, ops::BroadcastTo{}, &value, 1, graph_.values.items[value].type).id;
        order.push(graph_.values.items[copies[value]].node);
      }
      return copies[value];
    };
    for (const Id id : order_) {
      const Node node = graph_.nodes.items[id];
      const bool makes_up = node.op->kind == Kind::elementwise;
      for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count && !makes_up; ++k) {
        const Id read = computed(graph_.operands.items[k]);
        graph_.operands.items[k] = read;
      }
      order.push(id);
    }
    for (const Id root : roots_) {
      const Id read = computed(map_[root]);
      map_[root] = read;
    }
    order_ = std::move(order);
  }
  constexpr bool is_positions(Id node) const {
    return graph_.nodes.items[node].op->builtin == Builtin::index_along;
  }

  Graph graph_;
  const Pool<Id>& roots_;
  const FusionLimits& limits_;
  Pool<Id> map_;
  Pool<Id> order_;
  Pool<Id> replacements_;  // of values that were added, by number from traced_values_ on
  Pool<char> cut_;         // by value: fed, what it was computed from is not needed for it
  Pool<Id> uses_;          // by value, once dead nodes are gone
  bool has_positions_ = false;
  bool has_parts_ = false;
  Pool<char> written_;  // by variable: a statement so far changes it; empty before the first
  int traced_ = 0;      // nodes of the model
  int traced_values_ = 0;
};

/// The part of the graph that the roots (values and tokens) need, simplified. `cuts` are values
/// that will be fed: placeholders take their places.
constexpr Simplified simplify(Graph&& graph, const Pool<Id>& roots, const Pool<Id>& cuts = {},
                              const FusionLimits& limits = {}) {
  // A variable, since nvcc 13 does not destroy all of a temporary's members in constants.
  Simplifier simplifier(std::move(graph), roots, cuts, limits);
  return simplifier.run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
