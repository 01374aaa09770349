// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verifier: every pass ends by handing its graph to it. It checks what all later stages rely
// on and returns a sentence about the first thing that is wrong, an empty message if nothing is.
// Of a simplified graph such a sentence is a mistake in a pass or in an operation's rule; of a
// traced one it may be the model's: operands of untyped functions that do not fit.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

constexpr Message complaint(const Node& node, std::string_view what) {
  Message out{};
  out << node.op->name << ": " << what << " (" << file_name(node.source.file) << ':'
      << node.source.line << ')';
  return out;
}

/// Operands of types that the operation's rule does not take. Functions of typed tensors refuse
/// them by sentences of their own; untyped ones, as in gradient rules, leave it to this.
constexpr Message misfit(const Graph& graph, const Node& node) {
  Message out{};
  out << node.op->name << ": the inputs do not fit:";
  for (Id k = 0; k < node.inputs.count; ++k) {
    const Type& type = graph.type_of(graph.input(node, k));
    out << (k > 0 ? ", " : " ") << type.dtype << ' ' << type.dims;
  }
  out << " (" << file_name(node.source.file) << ':' << node.source.line << ')';
  return out;
}

/// Two operation types of one name in a graph would be taken for one another by passes.
class OperationNames {
 public:
  constexpr bool agree(const Op& op) {
    const int place = static_cast<int>(op.id % 64);
    if (filled_[place] && table_[place]->id == op.id) return table_[place] == &op;
    filled_[place] = true;
    table_[place] = &op;
    return true;
  }

 private:
  const Op* table_[64] = {};
  bool filled_[64] = {};
};

/// Remembers which nodes look alike: equal layers need to be checked once.
class Seen {
 public:
  /// Whether a node of this operation, types and attributes came before, and was the last of its
  /// key.
  constexpr bool before(const Graph& graph, const Node& node, Id id) {
    const Value* const values = graph.values.data();
    const Id* const inputs = graph.operands.data() + node.inputs.first;
    unsigned key = node.op->key + static_cast<unsigned>(values[node.outputs.first].type);
    for (Id k = 0; k < node.inputs.count; ++k) {
      key = key * 5u + static_cast<unsigned>(values[inputs[k]].type);
    }
    Id& place = last_[key % 256u];
    const bool same = place != none && alike(graph, graph.nodes.data()[place], node);
    place = id;
    return same;
  }

  constexpr Seen() {
    for (Id& place : last_) place = none;
  }

 private:
  static constexpr bool alike(const Graph& graph, const Node& a, const Node& b) {
    const Value* const values = graph.values.data();
    if (a.op->id != b.op->id || a.op != b.op || a.inputs.count != b.inputs.count ||
        a.attributes.count != b.attributes.count || a.outputs.count != b.outputs.count) {
      return false;
    }
    for (Id k = 0; k < a.outputs.count; ++k) {
      if (values[a.outputs.first + k].type != values[b.outputs.first + k].type) return false;
    }
    const Id* const operands = graph.operands.data();
    for (Id k = 0; k < a.inputs.count; ++k) {
      if (values[operands[a.inputs.first + k]].type != values[operands[b.inputs.first + k]].type) {
        return false;
      }
    }
    const std::uint32_t* const words = graph.attributes.data();
    for (Id k = 0; k < a.attributes.count; ++k) {
      if (words[a.attributes.first + k] != words[b.attributes.first + k]) return false;
    }
    return true;
  }

  Id last_[256];
};

/// What a node must be by itself, given that its inputs are defined.
constexpr Message verify_node(const Graph& graph, const Node& node, OperationNames& names) {
  const Op& op = *node.op;
  if (!names.agree(op)) return complaint(node, "two operations have this name");
  if (writes_variable(op.kind) &&
      (node.inputs.count < 2 || graph.op_of(graph.input(node, 0)).builtin != Builtin::variable)) {
    return complaint(node, "its first input is no variable");
  }
  if (!op.inferable) return {};
  Type types[max_outputs] = {};
  if (node.outputs.count > max_outputs || !op.infer(graph, node, types)) {
    return misfit(graph, node);
  }
  for (Id k = 0; k < node.outputs.count; ++k) {
    if (!(types[k] == graph.type_of(node.outputs.first + k))) {
      return complaint(node, "the result has another type than its rule says");
    }
  }
  return {};
}

/// Whether a node uses what a region computes that it does not lie in.
constexpr bool leaks(const Graph& graph, const Node& node) {
  const auto is_seen = [&](Id value) {
    if (lies_in(graph, node.region, graph.node_of(value).region)) return true;
    // A captured value is a name for what the region is given.
    const Range captures = graph.regions[node.region].captures;
    for (Id k = 0; k < captures.count; ++k) {
      if (graph.lists[captures.first + k] == value) return true;
    }
    return false;
  };
  for (Id k = 0; k < node.inputs.count; ++k) {
    if (!is_seen(graph.input(node, k))) return true;
  }
  for (Id k = 0; k < node.controls.count; ++k) {
    if (!is_seen(graph.operands[node.controls.first + k])) return true;
  }
  return false;
}

/// Checks a graph as traced: nodes in the order of their numbers.
constexpr Message verify(const Graph& graph) {
  const Node* const nodes = graph.nodes.data();
  const Value* const values = graph.values.data();
  const Id* const operands = graph.operands.data();
  const int count = graph.nodes.size();
  OperationNames names;
  Seen seen;
  Id values_so_far = 0;
  for (Id id = 0; id < count; ++id) {
    const Node& node = nodes[id];
    if (node.outputs.first != values_so_far || values[values_so_far].node != id) {
      return complaint(node, "its outputs are not its own");
    }
    const Id last = node.inputs.first + node.inputs.count;
    for (Id k = node.inputs.first; k < last; ++k) {
      // What a region is given may stand anywhere.
      const bool given = operands[k] >= values_so_far && operands[k] < graph.values.size() &&
                         (graph.node_of(operands[k]).region != node.region ||
                          graph.op_of(operands[k]).builtin == Builtin::block_input);
      if (operands[k] < 0 || (operands[k] >= values_so_far && !given)) {
        return complaint(node, "an input does not stand before the node");
      }
    }
    for (Id k = 0; k < node.controls.count; ++k) {
      const Id control = operands[node.controls.first + k];
      if (control < 0 || control >= graph.values.size() || values[control].type != none) {
        return complaint(node, "a control input is no effect");
      }
    }
    values_so_far += node.outputs.count;
    if (graph.regions.size() > 1 && leaks(graph, node)) {
      return complaint(node,
                       "it uses what is computed inside of a branch or a loop; have the branch "
                       "or the body give it as a result");
    }
    if (node.op->kind == Kind::source || seen.before(graph, node, id)) continue;
    const Message wrong = verify_node(graph, node, names);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

/// Checks a simplified graph: in its order values stand before their uses.
constexpr Message verify(const Simplified& simplified) {
  const Graph& graph = simplified.graph;
  Pool<char> defined(graph.values.size(), 0);
  OperationNames names;
  for (const Id id : simplified.order) {
    const Node& node = graph.nodes[id];
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id input = graph.input(node, k);
      if (input < 0 || input >= graph.values.size() || defined[input] == 0) {
        return complaint(node, "an input does not stand before the node");
      }
    }
    for (Id k = 0; k < node.controls.count; ++k) {
      if (defined[graph.operands[node.controls.first + k]] == 0) {
        return complaint(node, "a control input does not stand before the node");
      }
    }
    for (Id k = 0; k < node.outputs.count; ++k) {
      if (graph.values[node.outputs.first + k].node != id) {
        return complaint(node, "its outputs are not its own");
      }
      defined[node.outputs.first + k] = 1;
    }
    const Message wrong = verify_node(graph, node, names);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
