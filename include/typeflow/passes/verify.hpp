// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verifier, to which every pass hands its graph at the end. It checks what later stages rely
// on. It returns a sentence about the first thing that is wrong, or an empty message. In a
// simplified graph that is a mistake of a pass or of an operation's rule. In a traced graph it may
// be the model's mistake: operands of untyped functions that do not fit.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/passes/place.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

constexpr Message complaint(const Node& node, std::string_view what) {
  Message out{};
  out << node.op->name << ": " << what << " (" << file_name(node.source.file) << ':'
      << node.source.line << ')';
  return out;
}

/// Operands of types that the operation's rule does not take. Functions of typed tensors refuse
/// them with sentences of their own; untyped functions, as in gradient rules, leave it to this.
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

/// Passes would mistake two operation types of one name in a graph for each other.
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

/// Remembers which nodes look alike, so that equal layers are checked once. Two nodes of one
/// operation are alike if a hash of 64 bits is equal. A comparison of their types and attributes
/// costs the compiler more.
class Seen {
 public:
  /// Whether a node of this operation, types and attributes came before, and was the last of its
  /// place.
  constexpr bool before(const Graph& graph, const Node& node) {
    const Value* const values = graph.values.items;
    const Id* const operands = graph.operands.items;
    std::uint64_t look = node.op->id + static_cast<std::uint64_t>(node.inputs.count) +
                         (static_cast<std::uint64_t>(node.outputs.count) << 16) +
                         (static_cast<std::uint64_t>(node.attributes.count) << 32);
    const Id last_output = node.outputs.first + node.outputs.count;
    for (Id k = node.outputs.first; k < last_output; ++k) look = mixed(look, values[k].type);
    const Id last_input = node.inputs.first + node.inputs.count;
    for (Id k = node.inputs.first; k < last_input; ++k) {
      look = mixed(look, values[operands[k]].type);
    }
    const Id last_word = node.attributes.first + node.attributes.count;
    for (Id k = node.attributes.first; k < last_word; ++k) {
      look = mixed(look, static_cast<Id>(graph.attributes.items[k]));
    }
    const int place = static_cast<int>(look >> 56);
    // In this order: for the undefined-behaviour sanitizer of g++ 12 it is no constant whether a
    // record is at address 0.
    if (look_[place] == look && op_[place] == node.op) return true;
    op_[place] = node.op;
    look_[place] = look;
    return false;
  }

 private:
  static constexpr std::uint64_t mixed(std::uint64_t look, Id number) {
    return (look ^ static_cast<std::uint32_t>(number)) * 0x9E3779B97F4A7C15ull;
  }

  const Op* op_[256] = {};
  std::uint64_t look_[256] = {};
};

/// The properties of a node by itself, if its inputs are right.
constexpr Message verify_node(const Graph& graph, const Node& node, OperationNames& names) {
  const Op& op = *node.op;
  if (!names.agree(op)) return complaint(node, "two operations have this name");
  if (writes_variable(op.kind) &&
      (node.inputs.count < (op.kind == Kind::write ? 2 : 1) ||
       graph.op_of(graph.input(node, 0)).builtin != Builtin::variable)) {
    return complaint(node, "its first input is no variable");
  }
  if (!op.inferable) return {};
  Type types[max_outputs];
  if (node.outputs.count > max_outputs) return misfit(graph, node);
  for (Id k = 0; k < node.outputs.count; ++k)
    types[k] = Type{};  // those that `infer` may leave out
  if (!op.infer(graph, node, types)) return misfit(graph, node);
  for (Id k = 0; k < node.outputs.count; ++k) {
    if (!(types[k] == graph.type_of(node.outputs.first + k))) {
      return complaint(node, "the result has another type than its rule says");
    }
  }
  return {};
}

/// Whether a node uses a value of a region in which it does not lie.
constexpr bool leaks(const Graph& graph, const Node& node) {
  const auto is_seen = [&](Id value) {
    return lies_in(graph, node.region, graph.node_of(value).region);
  };
  for (Id k = 0; k < node.inputs.count; ++k) {
    if (!is_seen(graph.input(node, k))) return true;
  }
  for (Id k = 0; k < node.controls.count; ++k) {
    if (!is_seen(graph.operands.items[node.controls.first + k])) return true;
  }
  return false;
}

/// Whether the owner of a result lists it.
constexpr bool is_listed(const Graph& graph, const Node& result) {
  const Node& owner = graph.node_of(graph.input(result, 0));
  const ops::Result op = typeflow::decode<ops::Result>(graph, result);
  return owner.op->kind == Kind::control &&
         known_result(graph, owner, op.index) == result.outputs.first;
}

/// Checks a graph as traced: nodes in the order of their numbers.
constexpr Message verify(const Graph& graph) {
  const Node* const nodes = graph.nodes.data();
  const Value* const values = graph.values.data();
  const Id* const operands = graph.operands.data();
  const int count = graph.nodes.size();
  OperationNames names;
  Seen seen;
  const int value_count = graph.values.size();
  for (Id id = 0; id < count; ++id) {
    const Node& node = nodes[id];
    for (Id k = 0; k < node.outputs.count; ++k) {
      if (values[node.outputs.first + k].node != id) {
        return complaint(node, "its outputs are not its own");
      }
    }
    const Id last = node.inputs.first + node.inputs.count;
    for (Id k = node.inputs.first; k < last; ++k) {
      if (operands[k] < 0 || operands[k] >= value_count)
        return complaint(node, "an input is no value");
      const Id from = values[operands[k]].node;
      // What a region is given may stand behind its uses there.
      if (from >= id && nodes[from].region == node.region &&
          nodes[from].op->builtin != Builtin::block_input) {
        return complaint(node, "an input does not stand before the node");
      }
    }
    for (Id k = 0; k < node.controls.count; ++k) {
      const Id control = operands[node.controls.first + k];
      const bool is_effect =
          control >= 0 && control < graph.values.size() &&
          (values[control].type == none || graph.op_of(control).effect != SideEffect::pure);
      if (!is_effect) {
        return complaint(node, "a control input is no effect");
      }
    }
    if (graph.regions.size() > 1 && leaks(graph, node)) {
      return complaint(node,
                       "it uses what is computed inside of a branch or a loop; have the branch "
                       "or the body give it as a result");
    }
    if (node.device.kind == DeviceKind::gpu && is_host_only(graph, node)) {
      Message what{};
      what << "it runs on a CPU alone, and is pinned to " << node.device;
      return complaint(node, what.view());
    }
    if (node.op->kind == Kind::result && !is_listed(graph, node)) {
      return complaint(node, "its branch or loop does not list it");
    }
    if (node.op->kind == Kind::source || seen.before(graph, node)) continue;
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
    const Node& node = graph.nodes.items[id];
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id input = graph.input(node, k);
      if (input < 0 || input >= graph.values.size() || defined[input] == 0) {
        return complaint(node, "an input does not stand before the node");
      }
    }
    for (Id k = 0; k < node.controls.count; ++k) {
      if (defined[graph.operands.items[node.controls.first + k]] == 0) {
        return complaint(node, "a control input does not stand before the node");
      }
    }
    for (Id k = 0; k < node.outputs.count; ++k) {
      if (graph.values.items[node.outputs.first + k].node != id) {
        return complaint(node, "its outputs are not its own");
      }
      defined[node.outputs.first + k] = 1;
    }
    const Message wrong = verify_node(graph, node, names);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
