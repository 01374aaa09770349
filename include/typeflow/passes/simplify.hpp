// SPDX-License-Identifier: Apache-2.0
#pragma once

// Simplification: one walk over what the roots need, in place.
//
// It drops dead code, expands composite operations, folds constants, applies algebraic identities
// and makes equal nodes one. Then it contracts products into sums (fma), before clusters are
// chosen, so that a value is rounded alike whichever kernel computes it. Identities keep every bit
// but the sign of a zero; nothing is reassociated.
//
// New nodes go to the end of the graph's arrays, so afterwards it is `order`, not the node's
// number, in which values stand before their uses.

#include <utility>

#include "typeflow/front/sources.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// A simplified graph.
struct Simplified {
  Graph graph;
  Pool<Id> order;  ///< its nodes, values before their uses; none that the roots do not need
  Pool<Id> map;    ///< value of the original -> the value that stands for it now
};

namespace detail {

class Simplifier {
 public:
  constexpr Simplifier(Graph&& graph, const Pool<Id>& roots, const Pool<Id>& cuts)
      : graph_(std::move(graph)),
        roots_(roots),
        map_(Pool<Id>::uninitialized(graph_.values.size())) {
    graph_.share_values();
    graph_.constants.clear();  // later ones in the order can't be used by earlier nodes
    Id* const map = map_.data();
    const int count = map_.size();
    for (Id i = 0; i < count; ++i) map[i] = i;
    traced_ = graph_.nodes.size();
    if (!cuts.empty()) cut_ = Pool<char>(count, 0);
    for (const Id value : cuts) {
      if (builtin(value) == Builtin::placeholder) continue;
      const AnyExpr fed =
          add_node(graph_, ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, graph_.values[value].type);
      cut_[value] = 1;
      map_[value] = fed.id;
      order_.push(graph_.values[fed.id].node);
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
      const Node node = graph_.nodes.data()[id];
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
        // Rewritten before it is shared: what others are replaced by must be in the order.
        result = rewrite(node);
        result = result == value ? graph_.share(value) : replaced(result);
      }
      if (writes_variable(node.op->kind)) mark_written(input(node, 0));
      if (result == value) {
        order_.push(id);
      } else {
        map[value] = result;
      }
    }
    drop_dead();
    compute_positions();
    contract_products();
    return {std::move(graph_), std::move(order_), std::move(map_)};
  }

 private:
  /// Marks the nodes that the roots need, going back from the last: users come after.
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
  /// Takes what rewriting has left without a use out of the order, going back from the last. Counts
  /// the uses of what stays, and notes what the next passes ask for.
  constexpr void drop_dead() {
    uses_ = Pool<Id>(graph_.values.size(), 0);
    Id* const uses = uses_.data();
    const Value* const values = graph_.values.data();
    const Id* const operands = graph_.operands.data();
    const Node* const nodes = graph_.nodes.data();
    const int count = order_.size();
    Pool<Id> kept = Pool<Id>::uninitialized(count);
    int first = count;
    for (const Id root : roots_) ++uses[map_[root]];
    for (int i = count - 1; i >= 0; --i) {
      const Id id = order_.data()[i];
      const Node* const node = nodes + id;
      const Id output = node->outputs.first;
      bool used = uses[output] != 0;
      for (Id k = 1; k < node->outputs.count; ++k) used |= uses[output + k] != 0;
      if (!used) continue;
      kept.data()[--first] = id;
      bool of_product = false;
      const Id last = node->inputs.first + node->inputs.count;
      for (Id k = node->inputs.first; k < last; ++k) {
        const Id x = operands[k];
        ++uses[x];
        if (nodes[values[x].node].op->builtin == Builtin::mul) of_product = true;
      }
      const Id last_control = node->controls.first + node->controls.count;
      for (Id k = node->controls.first; k < last_control; ++k) ++uses[operands[k]];
      const Builtin builtin = node->op->builtin;
      if (builtin == Builtin::index_along) has_positions_ = true;
      if (of_product && (builtin == Builtin::add || builtin == Builtin::sub)) sums_.push(id);
    }
    for (int i = first; i < count; ++i) order_.data()[i - first] = kept.data()[i];
    order_.shrink(count - first);
  }

  /// A variable that no statement has changed yet is as it was when the run started.
  constexpr Id rewrite_read(const Node& node) const {
    const Id variable = input(node, 0);
    const bool written = !written_.empty() && written_[graph_.variable_index(variable)] != 0;
    return written ? node.outputs.first : variable;
  }
  constexpr void mark_written(Id variable) {
    if (written_.empty()) written_ = Pool<char>(graph_.variable_records.size(), 0);
    written_[graph_.variable_index(variable)] = 1;
  }

  /// The value that stands for the node's result: its own, or another's.
  constexpr Id rewrite(const Node& node) {
    switch (node.op->kind) {
      case Kind::elementwise:
        return rewrite_elementwise(node);
      case Kind::composite: {
        Id inputs[max_arity] = {};
        for (Id k = 0; k < node.inputs.count; ++k) inputs[k] = input(node, k);
        return expand(node, inputs);
      }
      case Kind::view:
        return rewrite_view(node);
      case Kind::reduction:
        return rewrite_reduction(node);
      case Kind::contraction:
        return is<ops::MatMul>(*node.op) ? rewrite_product(node) : node.outputs.first;
      case Kind::custom:
        return rewrite_movement(node);
      default:
        return node.outputs.first;
    }
  }

  /// Nodes that are added from now on belong where this one does.
  constexpr void stand_at(const Node& node) {
    graph_.scope = node.scope;
    graph_.device = node.device;
    graph_.region = node.region;
    graph_.source = node.source;
  }

  /// While it lives, nodes that are added take the place of the given one; they join the order.
  class Building {
   public:
    constexpr Building(Simplifier& pass, const Node& node)
        : pass_(pass), first_(pass.graph_.nodes.size()) {
      pass.stand_at(node);
    }
    Building(const Building&) = delete;
    Building& operator=(const Building&) = delete;
    constexpr ~Building() { pass_.take_nodes(first_); }

   private:
    Simplifier& pass_;
    Id first_;
  };

  /// Appends nodes that were added, from `first` on, to the order.
  constexpr void take_nodes(Id first) {
    const Id end = graph_.nodes.size();
    for (Id id = first; id < end; ++id) {
      if (!replaced_.empty()) replace_operands(graph_.nodes[id]);
      const Node node = graph_.nodes[id];
      const Id value = node.outputs.first;
      Id result = value;
      if (node.op->kind == Kind::reduction) {
        result = rewrite_reduction(node);
      } else if (node.op->kind == Kind::composite) {
        Id inputs[max_arity] = {};
        for (Id k = 0; k < node.inputs.count; ++k) inputs[k] = input(node, k);
        result = expand(node, inputs);
      }
      if (result == value) {
        order_.push(id);
      } else {
        replaced_.push(Replaced{value, result});
      }
    }
  }

  /// A composite's result from other operations; composites among those are expanded, too.
  constexpr Id expand(const Node& node, const Id* inputs) {
    const Id first = graph_.nodes.size();
    stand_at(node);
    graph_.source.make_part_of(*node.op);
    const Id result = node.op->expand(graph_, graph_.words_of(node), inputs);
    take_nodes(first);
    return replaced(result);
  }
  /// What stands for a composite, or for a reduction of one element, that an expansion added.
  struct Replaced {
    Id value;
    Id result;
  };
  constexpr Id replaced(Id value) const {
    for (const Replaced& r : replaced_) {
      if (r.value == value) return r.result;
    }
    return value;
  }
  constexpr void replace_operands(const Node& node) {
    for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count; ++k) {
      graph_.operands[k] = replaced(graph_.operands[k]);
    }
  }

  constexpr Id input(const Node& node, int k) const {
    return graph_.operands.data()[node.inputs.first + k];
  }
  constexpr Builtin builtin(Id value) const {
    return graph_.nodes.data()[graph_.values.data()[value].node].op->builtin;
  }

  constexpr Id rewrite_elementwise(const Node& node) {
    const Op& op = *node.op;
    const Id value = node.outputs.first;
    const Value* const values = graph_.values.data();
    const Node* const nodes = graph_.nodes.data();
    const Id* const operands = graph_.operands.data();
    bool constants = node.inputs.count > 0;
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Builtin from = nodes[values[operands[node.inputs.first + k]].node].op->builtin;
      if (from == Builtin::broadcast_to) skip_broadcast(node, k);
      if (from != Builtin::constant) constants = false;
    }
    const Id type = values[value].type;
    if (constants && op.foldable) {
      const Id folded = fold(node, type);
      if (folded != value) return folded;
    }
    if (op.builtin == Builtin::other) return value;
    const Id x = input(node, 0);
    const bool x_fits = graph_.values[x].type == type;
    switch (op.builtin) {
      case Builtin::broadcast_to:
      case Builtin::cast:
        return x_fits ? x : value;
      case Builtin::neg:
        return builtin(x) == Builtin::neg ? input(graph_.node_of(x), 0) : value;
      case Builtin::add:
      case Builtin::sub:
      case Builtin::mul:
      case Builtin::div:
        break;
      default:
        return value;
    }
    const Id y = input(node, 1);
    const int neutral = op.builtin == Builtin::mul || op.builtin == Builtin::div ? 1 : 0;
    if (x_fits && is_number(y, neutral)) return x;
    const bool commutes = op.builtin == Builtin::add || op.builtin == Builtin::mul;
    if (commutes && graph_.values[y].type == type && is_number(x, neutral)) return y;
    return op.builtin == Builtin::add ? rewrite_sum_of_pads(node) : value;
  }

  /// Whether the value is a scalar constant of this number.
  constexpr bool is_number(Id value, int number) const {
    if (builtin(value) != Builtin::constant) return false;
    const ops::Constant constant = decode<ops::Constant>(graph_, graph_.node_of(value));
    const DType type = graph_.dtype_of(value);
    const Number n = constant.number(type);
    return constant.power == 0 &&
           (is_floating(type) || is_complex(type) ? n.real == number : n.integer == number);
  }

  /// Elementwise operations broadcast by themselves: an explicit broadcast in front of one goes,
  /// unless the result's shape comes from it.
  constexpr void skip_broadcast(const Node& node, Id k) {
    const Id source = input(graph_.node_of(input(node, k)), 0);
    if (node.op->builtin == Builtin::broadcast_to) {
      graph_.operands[node.inputs.first] = source;
      return;
    }
    Dims dims = graph_.dims_of(source);
    for (Id other = 0; other < node.inputs.count; ++other) {
      if (other != k) dims = broadcast(dims, graph_.dims_of(input(node, other)));
    }
    if (dims == graph_.dims_of(node.outputs.first)) {
      graph_.operands[node.inputs.first + k] = source;
    }
  }

  /// The node's result as a constant, if that is safe to compute in constant evaluation: numbers
  /// so small that nothing overflows.
  constexpr Id fold(const Node& node, Id type) {
    const Id value = node.outputs.first;
    Number numbers[4] = {};
    if (node.inputs.count > 4 || graph_.types[type].dims.rank != 0) return value;
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id x = input(node, k);
      const ops::Constant constant = decode<ops::Constant>(graph_, graph_.node_of(x));
      numbers[k] = constant.number(graph_.dtype_of(x));
      const Number& n = numbers[k];
      if (constant.power != 0 || !(n.real > -1e15 && n.real < 1e15) || n.integer < -10000 ||
          n.integer > 10000) {
        return value;
      }
    }
    const Number result = node.op->evaluate({graph_, node, numbers});
    const Building building(*this, node);
    return constant_node(graph_, graph_.types[type].dtype, result).id;
  }

  /// A view of a view is a view of what that views; one that changes nothing is nothing.
  constexpr Id rewrite_view(const Node& node) {
    const Id value = node.outputs.first;
    const Id before = input(node, 0);
    const Node& operand = graph_.node_of(before);
    const Id x = operand.op->kind == Kind::view ? input(operand, 0) : before;
    const Id type = graph_.values[value].type;
    if (graph_.values[x].type == type) return x;
    if (builtin(x) == Builtin::broadcast_to) {
      const Id source = input(graph_.node_of(x), 0);
      const Dims one = graph_.dims_of(source);
      if (squeezed(one).rank == 0 && one.rank <= graph_.types[type].dims.rank) {
        // One number everywhere, in any shape.
        const Building building(*this, node);
        return add_node(graph_, ops::BroadcastTo{}, &source, 1, type).id;
      }
    }
    if (x == before) return value;
    const Building building(*this, node);
    return add_node(graph_, ops::Reshape{}, &x, 1, type).id;
  }

  /// A reduction over axes of extent 1 only changes the shape.
  constexpr Id rewrite_reduction(const Node& node) {
    const unsigned axes = graph_.words_of(node)[0];
    const Id x = input(node, 0);
    const Type& type = graph_.type_of(x);
    const Id value = node.outputs.first;
    for (int i = 0; i < type.dims.rank; ++i) {
      if ((axes >> i & 1u) == 0 || type.dims.extent[i] == 1) continue;
      split_reduction(graph_.values[value].node);
      return value;
    }
    const Dims dims = graph_.dims_of(value);
    const Building building(*this, node);
    const AnyExpr operand{&graph_, x};
    if (is<ops::ArgMax>(*node.op) || is<ops::ArgMin>(*node.op)) {
      // The position is 0. No constant: effects that the operand follows are still to happen.
      return reshape_to(cast_to(less(operand, operand), DType::int32), dims).id;
    }
    return reshape_to(operand, dims).id;
  }

  /// Kernels reduce axes that lie together in memory. A reduction over several groups of such axes
  /// becomes one over the innermost group, one over the next, and so on.
  constexpr void split_reduction(Id id) {
    const Node node = graph_.nodes[id];
    const std::uint32_t all = graph_.words_of(node)[0];
    unsigned axes = all;
    Id x = input(node, 0);
    stand_at(node);
    for (;;) {
      const Type type = graph_.type_of(x);
      const unsigned group = innermost_group(axes, type.dims);
      if (group == axes) break;
      const std::uint32_t words[] = {group, 1};  // the axes stay, so that `all` still fits
      const Id known = graph_.values.size();
      x = graph_.add_value(*node.op, &x, 1,
                           graph_.intern(Type(type.dtype, reduced(type.dims, group, true))), words,
                           2);
      if (x == known) order_.push(graph_.values[x].node);
      axes &= ~group;
    }
    if (axes != all) graph_.nodes[id].inputs = graph_.append(&x, 1);
  }
  /// Of the axes to reduce, those after the last axis that is longer than 1 and stays; all of them
  /// if only the axes in front of it are left.
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

  /// matmul(transpose(a), b) reads a transposed; a product broadcasts by itself.
  constexpr Id rewrite_product(const Node& node) {
    const Id value = node.outputs.first;
    std::uint32_t transposed = graph_.words_of(node)[0];
    Id ids[] = {input(node, 0), input(node, 1)};
    bool changed = false;
    for (unsigned i = 0; i < 2; ++i) {
      const Builtin from = builtin(ids[i]);
      const Id x = from == Builtin::transpose || from == Builtin::broadcast_to
                       ? input(graph_.node_of(ids[i]), 0)
                       : none;
      if (x == none) continue;
      if (from == Builtin::transpose) {
        if (!swaps_last(graph_.words_of(graph_.node_of(ids[i])), graph_.dims_of(x).rank)) continue;
        transposed ^= 1u << i;
      } else {
        const Dims& a = graph_.dims_of(i == 0 ? x : ids[0]);
        const Dims& b = graph_.dims_of(i == 0 ? ids[1] : x);
        const Dims dims = matrix_product(a, (transposed & 1u) != 0, b, (transposed & 2u) != 0);
        if (!(dims == graph_.dims_of(value))) continue;
      }
      ids[i] = x;
      changed = true;
    }
    if (!changed) return value;
    const Id type = graph_.values[value].type;
    const Building building(*this, node);
    return graph_.add_value(*node.op, ids, 2, type, &transposed, 1);
  }

  /// Whether a permutation only transposes the matrices of the last two axes.
  static constexpr bool swaps_last(const std::uint32_t* permutation, int rank) {
    for (int i = 0; i < rank - 2; ++i) {
      if (permutation[i] != static_cast<std::uint32_t>(i)) return false;
    }
    return permutation[rank - 1] == static_cast<std::uint32_t>(rank - 2);
  }

  /// A transpose that moves nothing, or goes on from another.
  constexpr Id rewrite_transpose(const Node& node) {
    const std::uint32_t* const words = graph_.words_of(node);
    const Id before = input(node, 0);
    const bool twice = builtin(before) == Builtin::transpose;
    const std::uint32_t* const first = graph_.words_of(graph_.node_of(before));
    const Id x = twice ? input(graph_.node_of(before), 0) : before;
    const int rank = graph_.dims_of(node.outputs.first).rank;
    int permutation[max_rank] = {};
    bool moves = false;
    for (int i = 0; i < rank; ++i) {
      permutation[i] = static_cast<int>(twice ? first[words[i]] : words[i]);
      moves = moves || permutation[i] != i;
    }
    if (!moves) return x;
    if (!twice) return node.outputs.first;
    const Building building(*this, node);
    return transpose_to(AnyExpr{&graph_, x}, permutation).id;
  }

  constexpr Id rewrite_movement(const Node& node) {
    switch (node.op->builtin) {
      case Builtin::transpose:
        return rewrite_transpose(node);
      case Builtin::slice:
        return rewrite_slice(node);
      case Builtin::concat:
        return rewrite_concat(node);
      case Builtin::reverse: {
        const Id x = input(node, 0);
        const Node& before = graph_.node_of(x);
        const bool back = builtin(x) == Builtin::reverse &&
                          graph_.words_of(before)[0] == graph_.words_of(node)[0];
        return back ? input(before, 0) : node.outputs.first;
      }
      default:
        return node.outputs.first;
    }
  }

  /// A slice of a slice is one; a slice of a concatenation that lies in one part is of that part,
  /// so that what was put together is taken apart for nothing.
  constexpr Id rewrite_slice(const Node& node) {
    const Id value = node.outputs.first;
    const Dims size = graph_.dims_of(value);
    SliceWindow window = decode<ops::Slice>(graph_, node);
    const Id before = input(node, 0);
    Id x = before;
    for (Id next = x; next != none;) {
      x = next;
      next = none;
      const Node& from = graph_.node_of(x);
      if (builtin(x) == Builtin::slice) {
        if (join(decode<ops::Slice>(graph_, from), size.rank, &window)) next = input(from, 0);
      } else if (builtin(x) == Builtin::concat) {
        next = part_of(from, size, &window);
      }
    }
    if (x == before) return value;
    const Building building(*this, node);
    return slice_to(AnyExpr{&graph_, x}, window, size).id;
  }
  /// Whether a window of a window of a tensor is one of the tensor: it then takes *inner's place.
  static constexpr bool join(const SliceWindow& outer, int rank, SliceWindow* inner) {
    SliceWindow joined = *inner;
    for (int i = 0; i < rank; ++i) {
      const std::int32_t a = outer.begin[i];
      const std::int32_t b = inner->begin[i];
      if ((a < 0 && b > 0) || (b < 0 && (a > 0 || outer.step[i] != 1))) return false;
      joined.begin[i] = a + b * outer.step[i];
      joined.step[i] = outer.step[i] * inner->step[i];
    }
    *inner = joined;
    return true;
  }
  /// The part of a concatenation that a window lies in, which it then counts from; none if it
  /// reaches into several.
  constexpr Id part_of(const Node& concat, const Dims& size, SliceWindow* window) const {
    const int axis = static_cast<int>(graph_.words_of(concat)[0]);
    const bool batch = is_batch(graph_.dims_of(concat.outputs.first).extent[axis]);
    if (size.extent[axis] == 0 || batch != is_batch(size.extent[axis])) return none;
    const Extent sign = batch ? -1 : 1;
    const Extent begin = sign * window->begin[axis];
    const Extent end = begin + (sign * size.extent[axis] - 1) * window->step[axis] + 1;
    Extent first = 0;
    for (Id k = 0; k < concat.inputs.count; ++k) {
      const Id part = input(concat, k);
      const Extent last = first + sign * graph_.dims_of(part).extent[axis];
      if (begin >= first && end <= last) {
        window->begin[axis] = static_cast<std::int32_t>(sign * (begin - first));
        return part;
      }
      first = last;
    }
    return none;
  }

  /// A concatenation of concatenations along the same axis is one.
  constexpr Id rewrite_concat(const Node& node) {
    const std::uint32_t axis = graph_.words_of(node)[0];
    bool nested = false;
    for (Id k = 0; k < node.inputs.count; ++k) nested |= is_concat(input(node, k), axis);
    const Id value = node.outputs.first;
    if (!nested) return value;
    const Building building(*this, node);
    return concat_flat(graph_.operands.data() + node.inputs.first, node.inputs.count, axis,
                       graph_.values[value].type);
  }
  constexpr bool is_concat(Id value, std::uint32_t axis) const {
    return builtin(value) == Builtin::concat && graph_.words_of(graph_.node_of(value))[0] == axis;
  }
  /// Values put together, parts of concatenations among them one by one while there is room.
  constexpr Id concat_flat(const Id* values, int count, std::uint32_t axis, Id type) {
    Id parts[ops::Concat::max_inputs] = {};
    int size = 0;
    for (int i = 0; i < count; ++i) {
      const Node& part = graph_.node_of(values[i]);
      const int room = ops::Concat::max_inputs - size - (count - i - 1);
      if (is_concat(values[i], axis) && part.inputs.count <= room) {
        for (Id k = 0; k < part.inputs.count; ++k) parts[size++] = input(part, k);
      } else {
        parts[size++] = values[i];
      }
    }
    return add_node(graph_, ops::Concat{{}, static_cast<std::int32_t>(axis)}, parts, size,
                    graph_.types[type])
        .id;
  }

  /// The sum of two tensors that are zero but in windows that lie side by side has both in one
  /// window. This is what gradients of slices are: it makes those of split a concatenation, and
  /// keeps those of a loop over an axis from being as many tensors of full size.
  constexpr Id rewrite_sum_of_pads(const Node& node) {
    const Id value = node.outputs.first;
    const Id sides[] = {input(node, 0), input(node, 1)};
    for (int i = 0; i < 2; ++i) {
      const Id pad = sides[1 - i];
      if (!is_zero_pad(pad, node)) continue;
      const Id joined = join_pads(sides[i], pad, node);
      if (joined != none) return joined;
      // (y + a) + b is y + (a + b): where a is not zero, b is.
      if (builtin(sides[i]) != Builtin::add) continue;
      const Node sum = graph_.node_of(sides[i]);
      for (int k = 0; k < 2; ++k) {
        const Id both = join_pads(input(sum, k), pad, node);
        if (both == none) continue;
        const Building building(*this, node);
        return (AnyExpr{&graph_, input(sum, 1 - k)} + AnyExpr{&graph_, both}).id;
      }
    }
    return value;
  }
  /// Whether the value is zero but in a window, and stands where the sum does.
  constexpr bool is_zero_pad(Id value, const Node& sum) const {
    return builtin(value) == Builtin::pad && is_number(input(graph_.node_of(value), 1), 0) &&
           graph_.values[value].type == graph_.values[sum.outputs.first].type &&
           graph_.node_of(value).device == sum.device;
  }
  /// One pad in place of the sum of two; none if there is none.
  constexpr Id join_pads(Id a, Id b, const Node& sum) {
    if (!is_zero_pad(a, sum)) return none;
    const Node first = graph_.node_of(a);
    const Node second = graph_.node_of(b);
    const SliceWindow window_a = decode<ops::Pad>(graph_, first);
    const SliceWindow window_b = decode<ops::Pad>(graph_, second);
    const Dims size_a = graph_.dims_of(input(first, 0));
    const Dims size_b = graph_.dims_of(input(second, 0));
    int axis = none;  // along which they differ
    for (int i = 0; i < size_a.rank; ++i) {
      if (window_a.step[i] != window_b.step[i]) return none;
      if (window_a.begin[i] == window_b.begin[i] && size_a.extent[i] == size_b.extent[i]) continue;
      if (axis != none || window_a.step[i] != 1) return none;
      axis = i;
    }
    if (axis == none) return none;
    const bool a_first = window_a.begin[axis] + size_a.extent[axis] == window_b.begin[axis];
    if (!a_first && window_b.begin[axis] + size_b.extent[axis] != window_a.begin[axis]) return none;
    const Id parts[] = {input(a_first ? first : second, 0), input(a_first ? second : first, 0)};
    const Dims shapes[] = {graph_.dims_of(parts[0]), graph_.dims_of(parts[1])};
    const Dims size = concatenated(shapes, 2, axis);
    if (!size.valid()) return none;
    SliceWindow window = window_at_start(size);
    for (int i = 0; i < size.rank; ++i) {
      window.begin[i] = (a_first ? window_a : window_b).begin[i];
      window.step[i] = window_a.step[i];
    }
    const Building building(*this, sum);
    const Id type = graph_.intern(Type(graph_.dtype_of(a), size));
    const Id both = concat_flat(parts, 2, static_cast<std::uint32_t>(axis), type);
    return pad_to(AnyExpr{&graph_, both}, window, graph_.dims_of(a),
                  AnyExpr{&graph_, input(first, 1)})
        .id;
  }

  /// Positions along an axis have no memory: elementwise operations make them up. Where others read
  /// them, or a run does, they are computed: by a broadcast to their own shape.
  constexpr void compute_positions() {
    if (!has_positions_) return;
    Pool<Id> copies(graph_.values.size(), none);  // by value: what computes it, if it is positions
    Pool<Id> order;
    order.reserve(order_.size());
    const auto computed = [&](Id value) {
      if (!is_positions(graph_.values[value].node)) return value;
      if (copies[value] == none) {
        stand_at(graph_.node_of(value));
        copies[value] =
            add_node(graph_, ops::BroadcastTo{}, &value, 1, graph_.values[value].type).id;
        order.push(graph_.values[copies[value]].node);
      }
      return copies[value];
    };
    for (const Id id : order_) {
      const Node node = graph_.nodes[id];
      const bool makes_up = node.op->kind == Kind::elementwise;
      for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count && !makes_up; ++k) {
        const Id read = computed(graph_.operands[k]);
        graph_.operands[k] = read;
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
    return graph_.nodes[node].op->builtin == Builtin::index_along;
  }

  /// a * b + c becomes fma(a, b, c) where nothing else uses the product.
  constexpr void contract_products() {
    (void)sizeof(BindOp<ops::Fma>);
    (void)sizeof(BindOp<ops::Fms>);
    (void)sizeof(BindOp<ops::Fnma>);
    for (const Id id : sums_) contract(graph_.nodes[id]);
  }

  constexpr void contract(Node& sum) {
    const Id type = graph_.values[sum.outputs.first].type;
    if (!is_floating(graph_.types[type].dtype)) return;
    const bool add = sum.op->builtin == Builtin::add;
    for (int side = 0; side < 2; ++side) {
      const Id product = input(sum, side);
      const Node& factor = graph_.node_of(product);
      if (factor.op->builtin != Builtin::mul || uses_[product] != 1 ||
          graph_.values[product].type != type || !(factor.device == sum.device)) {
        continue;
      }
      const Id ids[] = {input(factor, 0), input(factor, 1), input(sum, 1 - side)};
      sum.inputs = graph_.append(ids, 3);
      sum.source.make_part_of(*sum.op);
      sum.op = add ? &record<ops::Fma> : side == 0 ? &record<ops::Fms> : &record<ops::Fnma>;
      return;
    }
  }

  Graph graph_;
  const Pool<Id>& roots_;
  Pool<Id> map_;
  Pool<Id> order_;
  Pool<Replaced> replaced_;
  Pool<char> cut_;  // by value: fed, what it was computed from is not needed for it
  Pool<Id> uses_;   // by value, once dead nodes are gone
  Pool<Id> sums_;   // nodes: sums and differences of products
  bool has_positions_ = false;
  Pool<char> written_;  // by variable: a statement so far changes it; empty before the first
  int traced_ = 0;      // nodes of the model
};

}  // namespace detail

/// The part of the graph that the roots (values and tokens) need, simplified. `cuts` are values
/// that will be fed: placeholders take their places.
constexpr Simplified simplify(Graph&& graph, const Pool<Id>& roots, const Pool<Id>& cuts = {}) {
  return detail::Simplifier(std::move(graph), roots, cuts).run();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
