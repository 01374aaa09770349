// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reverse accumulation from values of a graph to others, node by node. control_gradient.hpp has the
// gradients of branches and loops.

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/reduce/reduce.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ir {

/// Tensors that gradients read from another device's memory (front/swapped.hpp).
struct SwappedTensors {
  Pool<Id> back;        ///< by value: the one that gradients read; none
  Pool<Id> arrival;     ///< by call of swapped: the token of its gradient's arrival; none
  Pool<Device> device;  ///< by node
};

}  // namespace ir

namespace detail {

constexpr void print_value(Message& out, const ir::Graph& graph, Id value) {
  const Id name = graph.values.items[value].name;
  if (name != none) {
    graph.print_name(out, graph.names.items[name]);
  } else {
    out << graph.op_of(value).name;
  }
}

/// Reverse accumulation between values of one graph. Its loops run once for each node while the
/// compiler evaluates, so they copy no records and call little.
class Backward {
 public:
  /// `within`: a region; everything outside of it is a constant. None: no limit.
  constexpr Backward(ir::Graph& graph, const Pool<Id>& xs, Id within)
      : graph_(graph),
        within_(within),
        needed_(graph.values.size(), 0),
        adjoint_(graph.values.size(), none) {
    for (const Type& type : graph.types) has_complex_ = has_complex_ || is_complex(type.dtype);
    for (const Id x : xs) needed_.items[graph.present(x)] = 1;
    const ir::Node* const nodes = graph.nodes.data();
    const ir::Value* const values = graph.values.data();
    const Id* const operands = graph.operands.data();
    char* const needed = needed_.data();
    const int count = graph.nodes.size();
    for (Id i = 0; i < count; ++i) {
      const ir::Node& node = nodes[i];
      const Id* const inputs = operands + node.inputs.first;
      bool found = false;
      for (Id k = 0; k < node.inputs.count && !found; ++k) found = needed[inputs[k]] != 0;
      if (!found || node.op->derivative == Derivative::zero || is_given(node)) continue;
      for (Id k = node.outputs.first; k < node.outputs.first + node.outputs.count; ++k) {
        const bool carries = values[k].type == none
                                 ? node.op->kind == Kind::control
                                 : is_differentiable(graph.types.items[values[k].type].dtype);
        if (carries) needed[k] = 1;
      }
    }
  }

  /// Whether a path leads to the value from one of the xs.
  constexpr bool reached(Id value) const { return needed_.items[value] != 0; }

  constexpr void add(Id value, Id gradient) {
    if (graph_.values.items[gradient].type != graph_.values.items[value].type) {
      const Dims dims = graph_.dims_of(value);  // no reference: nodes are added
      gradient = fit_to(AnyExpr{&graph_, gradient}, dims).id;
    }
    Id& sum = adjoint_.items[value];
    sum = sum == none ? gradient : (AnyExpr{&graph_, sum} + AnyExpr{&graph_, gradient}).id;
    if (graph_.values.items[value].node > last_) last_ = graph_.values.items[value].node;
  }

  constexpr void run() {
    const Id scope = graph_.scope;
    const ir::SourceLine source = graph_.source;
    const Device device = graph_.device;
    graph_.scope = graph_.add_scope("gradients", false, Reuse::inherit, {});
    Id* const adjoint = adjoint_.data();
    const char* const needed = needed_.data();
    Pool<Id> dx(max_inputs(), none);
    for (Id i = last_; i >= 0; --i) {
      const ir::Node* node = &graph_.nodes.items[i];
      const Id inputs = node->inputs.first;
      const Id input_count = node->inputs.count;
      const Id outputs = node->outputs.first;
      if (is_given(*node)) continue;
      if (node->op->kind == Kind::control) {
        run_control(i);
        continue;
      }
      bool arrived = false;
      for (Id k = 0; k < node->outputs.count; ++k) arrived |= adjoint[outputs + k] != none;
      if (!arrived || node->op->kind == Kind::result) continue;  // that is its branch's or loop's
      bool wanted = false;
      for (Id k = 0; k < input_count; ++k) wanted |= needed[graph_.operands.items[inputs + k]] != 0;
      const ir::Op& op = *node->op;
      if (!wanted || op.derivative == Derivative::zero) continue;
      graph_.source = node->source;
      graph_.source.gradient = true;
      graph_.source.make_part_of(*node->op);
      graph_.device = node->device;
      if (op.derivative == Derivative::missing) {
        Message message{};
        message << "no gradient is defined for " << op.name << ", used at ";
        print_place(message, node->source);
        graph_.fail(message);
        break;
      }
      if (has_complex_ && !op.complex_gradient && has_complex(*node)) {
        fail_of_complex(*node);
        break;
      }
      for (Id k = 0; k < input_count; ++k) dx.items[k] = none;
      if (graph_.swaps.count == 0) {
        op.gradient(graph_, i, adjoint + outputs, dx.data());  // may move the graph's pools
      } else {
        graph_.swapped_gradient(graph_, swapped_, i, adjoint + outputs, dx.data());
      }
      for (Id k = 0; k < input_count; ++k) {
        const Id input = graph_.operands.items[inputs + k];
        if (dx.items[k] != none && needed[input] != 0) add(input, dx.items[k]);
      }
    }
    graph_.scope = scope;
    graph_.source = source;
    graph_.device = device;
  }

  /// The gradient for a value; none if no path led to it.
  constexpr Id gradient(Id value) const { return adjoint_.items[value]; }

 private:
  static constexpr bool is_differentiable(DType type) {
    return is_floating(type) || is_complex(type);
  }
  constexpr bool is_complex_value(Id value) const {
    const Id type = graph_.values.items[value].type;
    return type != none && is_complex(graph_.types.items[type].dtype);
  }
  /// Whether a node has complex inputs or results. (A condition's first operand may be neither.)
  constexpr bool has_complex(const ir::Node& node) const {
    for (Id k = 0; k < node.inputs.count; ++k) {
      if (is_complex_value(graph_.input(node, k))) return true;
    }
    for (Id k = 0; k < node.outputs.count; ++k) {
      if (is_complex_value(node.outputs.first + k)) return true;
    }
    return false;
  }
  TYPEFLOW_COLD constexpr void fail_of_complex(const ir::Node& node) {
    Message message{};
    message << "no gradient of complex numbers is defined for " << node.op->name << ", used at ";
    print_place(message, node.source);
    graph_.fail(message);
  }
  constexpr bool is_given(const ir::Node& node) const {
    return within_ != none && node.region != within_;
  }
  /// A branch or a loop. Its results are nodes of their own.
  constexpr void run_control(Id id) {
    const ir::Node node = graph_.nodes.items[id];
    const Id token = node.outputs.first;
    if (needed_.items[token] == 0) return;
    Pool<Id> dy;
    bool arrived = false;
    const int known = adjoint_.size();
    const Id last = graph_.lists.items[node.regions.first + node.regions.count - 1];
    const ir::Range results = graph_.regions.items[last].given;
    for (Id k = 0; k < results.count; ++k) {
      const Id value = graph_.lists.items[results.first + k];
      if (value == none || value >= known || adjoint_.items[value] == none) continue;
      while (dy.size() <= k) dy.push(none);
      dy[k] = adjoint_.items[value];
      arrived = true;
    }
    if (!arrived) return;
    for (Id k = 0; has_complex_ && k < node.inputs.count; ++k) {
      const Id input = graph_.input(node, k);
      if (is_complex_value(input) && needed_.items[input] != 0) return fail_of_complex(node);
    }
    for (Id k = 0; has_complex_ && k < dy.size(); ++k) {
      if (dy[k] != none && is_complex_value(dy[k])) return fail_of_complex(node);
    }
    Pool<char> wanted;
    for (Id k = 0; k < node.inputs.count; ++k) wanted.push(needed_.items[graph_.input(node, k)]);
    graph_.source = node.source;
    graph_.source.gradient = true;
    graph_.source.make_part_of(*node.op);
    graph_.device = node.device;
    const Pool<Id> dx = graph_.control_gradient(graph_, id, dy, wanted);
    for (Id k = 0; k < node.inputs.count; ++k) {
      if (dx.items[k] != none && wanted[k] != 0) add(graph_.input(node, k), dx.items[k]);
    }
  }
  constexpr int max_inputs() const {
    Id most = 1;
    for (const ir::Node& node : graph_.nodes)
      most = node.inputs.count > most ? node.inputs.count : most;
    return most;
  }

  ir::Graph& graph_;
  const Id within_;
  Pool<char> needed_;
  Pool<Id> adjoint_;
  ir::SwappedTensors swapped_;
  bool has_complex_ = false;  // the graph has tensors of complex numbers
  Id last_ = none;            // the last node that a gradient has arrived at
};

/// The gradients, for each of xs, of the sum of ys, each weighted by its dy (none: ones). Only
/// nodes of the region `within` count, if one is named.
constexpr Pool<Id> gradients_of(ir::Graph& graph, const Pool<Id>& y, const Pool<Id>& dy,
                                const Pool<Id>& xs, Id within = none) {
  if (within == none && graph.has_primitives()) graph.recognize(graph);
  if (within == none && graph.loops) graph.rewrite_loops(graph);
  if (within == none && graph.controls) {
    Pool<Id> asked;
    for (const Id x : xs) asked.push(graph.present(x));
    graph.capture_reads(graph, asked);
  }
  Backward backward(graph, xs, within);
  for (int i = 0; i < y.size(); ++i) {
    const Id from = graph.present(y[i]);
    if (!backward.reached(from)) continue;
    const Type type = graph.type_of(from);
    backward.add(from, dy[i] != none ? graph.present(dy[i])
                                     : constant_node(graph, type.dtype, Number{1, 1}).id);
  }
  backward.run();
  Pool<Id> result;
  for (const Id x : xs) result.push(backward.gradient(graph.present(x)));
  return result;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
