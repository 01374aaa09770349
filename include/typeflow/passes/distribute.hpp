// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise operations in front of slices, and behind concatenations, are done to the parts.
//
// concat(a, b) * c becomes concat(a * c[:n], b * c[n:]): each part is computed where its operands
// are read, and stored in the result (parts.hpp), so the tensors are not joined first. Where all
// that reads x * c are slices of it, they are products of slices of x. Slices are strided views
// (strided_views.hpp). So what turns halves of rows, as rotary positions do, is one loop.
//
// Every element is computed as before, and no more elements are computed. What other tensors the
// operation reads is in memory anyway, or repeats along the axis: so no operand has to be stored
// for it, and nothing leaves the kernel of a product or of a fold.

#include <cstdint>
#include <utility>

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/passes/fusion_limits.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Works on a graph without dead code, its nodes in order, whose equal values are shared.
class Distributor {
  static constexpr int most_parts = 4;   ///< so many kernels in place of one
  static constexpr int most_words = 16;  ///< attributes of an operation

 public:
  /// `uses` counts the uses of each value; `written` says which variables the graph writes.
  constexpr Distributor(Graph& graph, Pool<Id>& order, const Pool<Id>& uses,
                        const Pool<char>& written, const FusionLimits& limits)
      : graph_(graph),
        order_(order),
        written_(written),
        limits_(limits),
        uses_(uses),
        slices_(graph.values.size(), {0, 0, true}),
        reads_(graph.values.size(), 0),
        replacements_(graph.values.size(), none),
        placed_(graph.nodes.size(), 0) {
    for (const Id id : order) count_reads(graph.nodes.items[id]);
  }

  static constexpr bool has_parts(const Node& node) { return is_concat(node) || is_slice(node); }

  /// Whether it has changed the order. Then nodes that nothing needs may be left in it, and values
  /// of `map` are replaced.
  constexpr bool run(Pool<Id>& map) {
    bool changed = false;
    const Pool<Id> old = std::exchange(order_, Pool<Id>{});
    order_.reserve(2 * old.size());
    for (const Id id : old) {
      if (placed_[id] != 0) continue;
      const Node node = graph_.nodes.items[id];
      for (Id k = node.inputs.first; k < node.inputs.first + node.inputs.count; ++k) {
        graph_.operands.items[k] = replaced(graph_.operands.items[k]);
      }
      for (Id k = node.controls.first; k < node.controls.first + node.controls.count; ++k) {
        graph_.operands.items[k] = replaced(graph_.operands.items[k]);
      }
      const Id value = node.outputs.first;
      const Id same = is_concat(node)  ? none
                      : is_slice(node) ? slice_operands(node)
                      : is_plain(node) ? join_results(node)
                                       : none;
      if (same == none) {
        place(id);
        continue;
      }
      changed = true;
      place(graph_.values.items[same].node);
      replacements_[value] = same;
      while (uses_.size() < graph_.values.size()) uses_.push(0);
      uses_[same] += uses_[value];
    }
    for (Id& value : map) value = value == none ? none : replaced(value);
    return changed;
  }

 private:
  /// The slices of a value.
  struct Slices {
    int count;
    Extent elements;  ///< of all, times its symbols
    bool alike;       ///< whether all have the value's symbols
  };

  static constexpr bool is_concat(const Node& node) {
    return node.op->id == record<ops::Concat>.id;
  }
  static constexpr bool is_slice(const Node& node) { return node.op->id == record<ops::Slice>.id; }
  /// Whether a node's elements depend on those of its operands at their places, and on nothing
  /// else.
  static constexpr bool is_plain(const Node& node) {
    const Op& op = *node.op;
    return op.kind == Kind::elementwise && op.effect == SideEffect::pure && op.inferable &&
           node.inputs.count > 0 && node.outputs.count == 1 && node.controls.count == 0 &&
           node.attributes.count <= most_words;
  }
  constexpr const Node& maker(Id value) const {
    return graph_.nodes.items[graph_.values.items[value].node];
  }
  constexpr Id replaced(Id value) const {
    const bool known = value < replacements_.size() && replacements_.items[value] != none;
    return known ? replacements_.items[value] : value;
  }
  constexpr int uses(Id value) const { return value < uses_.size() ? uses_.items[value] : 0; }

  constexpr void count_reads(const Node& node) {
    const Kind kind = node.op->kind;
    if (is_slice(node)) {
      const Id x = graph_.input(node, 0);
      Slices& slices = slices_.items[x];
      const Count part = count_of(graph_.dims_of(node.outputs.first));
      ++slices.count;
      slices.elements += part.coefficient;
      slices.alike &= part.powers == count_of(graph_.dims_of(x)).powers;
    }
    if (kind == Kind::elementwise || kind == Kind::reduction || kind == Kind::view ||
        node.op->holds_inputs) {
      return;
    }
    for (Id k = 0; k < node.inputs.count; ++k) reads_.items[graph_.input(node, k)] = 1;
  }
  /// Whether a value is in memory anyway, and stays there while the graph runs.
  constexpr bool is_stored(Id value) const {
    const Node& node = maker(value);
    if (value < reads_.size() && reads_.items[value] != 0 && node.op->kind == Kind::elementwise) {
      return true;
    }
    switch (node.op->kind) {
      case Kind::source:
        return node.op->builtin != Builtin::index_along &&
               (node.op->builtin != Builtin::variable || written_.empty() ||
                written_[graph_.variable_index(value)] == 0);
      case Kind::view:
        return is_stored(graph_.input(node, 0));
      case Kind::contraction:
        return uses(value) > 1;
      case Kind::custom:
        return !node.op->holds_inputs || uses(value) > 1;
      case Kind::result:
        return true;
      default:
        return false;
    }
  }
  /// Whether an operand of an elementwise operation whose result has this shape is one number along
  /// an axis.
  constexpr bool repeats(Id operand, const Dims& dims, int axis) const {
    const Dims& own = graph_.dims_of(operand);
    const int at = axis - (dims.rank - own.rank);
    return at < 0 || own.extent[at] == 1;
  }

  /// What replaces the result of an operation on a concatenation; none: nothing does.
  constexpr Id join_results(const Node& node) {
    const Dims dims = graph_.dims_of(node.outputs.first);
    Id concat = none;
    for (Id k = 0; k < node.inputs.count && concat == none; ++k) {
      const Id x = graph_.input(node, k);
      if (is_concat(maker(x)) && uses(x) == 1) concat = x;
    }
    if (concat == none || !(graph_.dims_of(concat) == dims)) return none;
    const Node joined = maker(concat);
    const int axis = static_cast<int>(graph_.words_of(joined)[0]);
    if (!(joined.device == node.device) || joined.region != node.region ||
        !has_long_parts(joined, dims, axis)) {
      return none;
    }
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id x = graph_.input(node, k);
      if (x != concat && !repeats(x, dims, axis) && !is_split_alike(x, joined, axis) &&
          !is_stored(x)) {
        return none;
      }
    }
    graph_.stand_at(node);
    Id parts[most_parts] = {};
    Extent begin = 0;
    for (int p = 0; p < joined.inputs.count; ++p) {
      Dims size = dims;
      size.extent[axis] = graph_.dims_of(graph_.input(joined, p)).extent[axis];
      SliceWindow window = window_at_start(size);
      window.begin[axis] = static_cast<std::int32_t>(begin);
      begin += size.extent[axis];
      Id operands[max_arity] = {};
      for (Id k = 0; k < node.inputs.count; ++k) {
        const Id x = graph_.input(node, k);
        const bool whole = repeats(x, dims, axis);
        operands[k] = x == concat || (!whole && is_split_alike(x, joined, axis))
                          ? graph_.input(maker(x), p)
                          : sliced(x, window, size, dims);
      }
      parts[p] = copied(node, operands, size);
    }
    return add_node(graph_, ops::Concat{{}, axis}, parts, joined.inputs.count,
                    graph_.type_of(node.outputs.first))
        .id;
  }
  constexpr bool has_long_parts(const Node& concat, const Dims& dims, int axis) const {
    const Count all = count_of(dims);
    if (concat.inputs.count > most_parts || is_symbolic(dims.extent[axis]) ||
        (all.powers == 0 && all.coefficient < limits_.joined)) {
      return false;
    }
    Extent inner = 1;
    for (int i = axis + 1; i < dims.rank; ++i) {
      if (is_symbolic(dims.extent[i])) return false;
      inner *= dims.extent[i];
    }
    for (int p = 0; p < concat.inputs.count; ++p) {
      const Extent part = graph_.dims_of(graph_.input(concat, p)).extent[axis];
      if (part * inner < limits_.part) return false;
    }
    return true;
  }
  /// Whether x is another concatenation of parts as large, which nothing else reads.
  constexpr bool is_split_alike(Id x, const Node& other, int axis) const {
    const Node& node = maker(x);
    if (!is_concat(node) || uses(x) != 1 || node.inputs.count != other.inputs.count ||
        static_cast<int>(graph_.words_of(node)[0]) != axis ||
        graph_.dims_of(x).rank != graph_.dims_of(other.outputs.first).rank) {
      return false;
    }
    for (int p = 0; p < node.inputs.count; ++p) {
      if (graph_.dims_of(graph_.input(node, p)).extent[axis] !=
          graph_.dims_of(graph_.input(other, p)).extent[axis]) {
        return false;
      }
    }
    return true;
  }

  /// What replaces a slice of the result of an operation that only slices read; none: nothing does.
  constexpr Id slice_operands(const Node& slice) {
    const Id x = graph_.input(slice, 0);
    const Node node = maker(x);
    const Dims whole = graph_.dims_of(x);
    const Dims size = graph_.dims_of(slice.outputs.first);
    const Count all = count_of(whole);
    if (x >= slices_.size() || !is_plain(node) || !(node.device == slice.device) ||
        node.region != slice.region || uses(x) != slices_[x].count || !slices_[x].alike ||
        slices_[x].elements > all.coefficient) {
      return none;
    }
    bool reads_any = false;
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id operand = graph_.input(node, k);
      if (!(graph_.dims_of(operand) == whole)) continue;
      reads_any = true;
      if (!is_stored(operand) || (maker(operand).op->kind != Kind::source && uses(operand) < 2)) {
        return none;
      }
    }
    if (!reads_any) return none;
    const SliceWindow window = operation_of<ops::Slice>(AnyExpr{&graph_, slice.outputs.first});
    graph_.stand_at(node);
    Id operands[max_arity] = {};
    for (Id k = 0; k < node.inputs.count; ++k) {
      operands[k] = sliced(graph_.input(node, k), window, size, whole);
    }
    return copied(node, operands, size);
  }

  /// The part of an operand that a window of the result, of shape `whole`, reads.
  constexpr Id sliced(Id operand, const SliceWindow& window, const Dims& size, const Dims& whole) {
    Dims own = graph_.dims_of(operand);
    SliceWindow of_operand{};
    const int shift = whole.rank - own.rank;
    for (int i = 0; i < own.rank; ++i) {
      const bool one = own.extent[i] == 1 && whole.extent[i + shift] != 1;
      of_operand.begin[i] = one ? 0 : window.begin[i + shift];
      of_operand.step[i] = one ? 1 : window.step[i + shift];
      of_operand.factor[i] = one ? 0 : window.factor[i + shift];
      if (!one) own.extent[i] = size.extent[i + shift];
    }
    for (int i = own.rank; i < max_rank; ++i) of_operand.step[i] = 1;
    const AnyExpr x{&graph_, operand};
    if (own == x.dims()) return operand;
    return slice_through(x, of_operand, slice_to(x, of_operand, own)).id;
  }
  /// The node's operation on other operands; the result's shape is `size`.
  constexpr Id copied(const Node& node, const Id* operands, const Dims& size) {
    std::uint32_t words[most_words] = {};
    for (Id k = 0; k < node.attributes.count; ++k) words[k] = graph_.words_of(node)[k];
    const Type type(graph_.type_of(node.outputs.first).dtype, size);
    return graph_.add_value(*node.op, operands, node.inputs.count, graph_.intern(type), words,
                            node.attributes.count);
  }

  /// Appends a node to the order, after those that it needs: new ones, or equal ones that were dead
  /// or stand later.
  constexpr void place(Id id) {
    while (placed_.size() < graph_.nodes.size()) placed_.push(0);
    if (placed_[id] != 0) return;
    placed_[id] = 1;
    const Node node = graph_.nodes.items[id];
    for (Id k = 0; k < node.inputs.count; ++k) {
      place(graph_.values.items[graph_.input(node, k)].node);
    }
    order_.push(id);
  }

  Graph& graph_;
  Pool<Id>& order_;
  const Pool<char>& written_;
  const FusionLimits& limits_;
  Pool<Id> uses_;          // by value
  Pool<Slices> slices_;    // by value
  Pool<char> reads_;       // by value: whether a kernel of its own reads it from memory
  Pool<Id> replacements_;  // by value
  Pool<char> placed_;      // by node
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
