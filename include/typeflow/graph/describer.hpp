// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes graphs as text, a line for each node, or as a drawing for Graphviz. Only .ipp files read
// it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/number_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class Describer {
 public:
  explicit Describer(const Graph& graph) : graph_(graph) {}

  std::string lines() const {
    std::string out;
    for (Id id = 0; id < graph_.nodes.size();) {
      const Id last = last_part(id);
      out += last == id ? line(id) : line_of_parts(id, last);
      id = last + 1;
    }
    return out;
  }

  /// A node's line.
  std::string line(Id id) const {
    const Node& node = graph_.nodes[id];
    std::string out;
    for (Id k = 0; k < node.outputs.count; ++k) {
      out += (k > 0 ? ", " : "") + name(node.outputs.first + k);
    }
    if (node.outputs.count > 0) out += " = ";
    return out + scope(node.scope) + operation(node) + "  " + type(node) + place(node) + '\n';
  }

  /// fc1/W, or %12 for a value without a name.
  std::string name(Id value) const {
    const Id id = graph_.values[value].name;
    if (id == none) return '%' + std::to_string(value);
    return std::string(graph_.text_of(graph_.names[id]).view());
  }

  /// The last of the nodes from `first` on that are parts of one operation; mostly `first`. The
  /// operation has a name alone (split_record of ops/shape/split.hpp). It is another one if a node
  /// is like the first.
  Id last_part(Id first) const {
    const Node& begin = graph_.nodes[first];
    const auto is_part = [&](const Node& node) {
      return node.source.within && !node.source.gradient &&
             node.source.op->kind == Kind::composite && node.source.op->expand == nullptr &&
             node.source.op == begin.source.op && node.source.line == begin.source.line &&
             node.source.file == begin.source.file;
    };
    Id last = first;
    while (is_part(begin) && last + 1 < graph_.nodes.size()) {
      const Node& next = graph_.nodes[last + 1];
      if (!is_part(next) || is_like(next, begin)) break;
      ++last;
    }
    return last;
  }

  std::string dot() {
    std::string out = "digraph model {\n  node [shape=box, fontname=\"sans-serif\"];\n";
    leader_.clear();
    for (Id id = 0; id < graph_.nodes.size();) {
      const Id last = last_part(id);
      leader_.resize(static_cast<std::size_t>(last) + 1, id);
      id = last + 1;
    }
    clusters(out, 0, "  ");
    for (Id id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      for (Id k = 0; k < node.inputs.count; ++k) edge(out, graph_.input(node, k), id, "");
      for (Id k = 0; k < node.controls.count; ++k) {
        edge(out, graph_.operands[node.controls.first + k], id, " [style=dashed]");
      }
    }
    return out + "}\n";
  }

 private:
  /// Whether two nodes do the same.
  bool is_like(const Node& a, const Node& b) const {
    const auto input = [&](const Node& node, Id k) { return graph_.input(node, k); };
    if (a.op != b.op || a.inputs.count != b.inputs.count ||
        a.attributes.count != b.attributes.count) {
      return false;
    }
    for (Id k = 0; k < a.inputs.count; ++k) {
      if (input(a, k) != input(b, k)) return false;
    }
    return std::equal(graph_.words_of(a), graph_.words_of(a) + a.attributes.count,
                      graph_.words_of(b));
  }
  /// The results of these nodes that none of them uses.
  std::vector<Id> results_of_parts(Id first, Id last) const {
    std::vector<Id> results;
    for (Id id = first; id <= last; ++id) {
      const Range outputs = graph_.nodes[id].outputs;
      for (Id k = 0; k < outputs.count; ++k) results.push_back(outputs.first + k);
    }
    for (Id id = first; id <= last; ++id) {
      const Node& node = graph_.nodes[id];
      for (Id k = 0; k < node.inputs.count; ++k) std::erase(results, graph_.input(node, k));
    }
    return results;
  }
  std::string types(Id first, Id last) const {
    if (first == last) return type(graph_.nodes[first]);
    std::string out;
    for (const Id value : results_of_parts(first, last)) {
      out += (out.empty() ? "" : ", ") + type(graph_.node_of(value));
    }
    return out;
  }
  /// parts:0, parts:1 = Split(x)  float [2, 3], float [2, 3]  model.cpp:7
  std::string line_of_parts(Id first, Id last) const {
    const Node& node = graph_.nodes[first];
    std::string names;
    for (const Id value : results_of_parts(first, last)) {
      names += (names.empty() ? "" : ", ") + name(value);
    }
    return names + " = " + scope(node.scope) + std::string(node.source.op->name) + '(' +
           name(graph_.input(node, 0)) + ")  " + types(first, last) + place(node) + '\n';
  }

  std::string scope(Id id) const {
    Message out{};
    graph_.print_scope(out, id, false);
    return std::string(out.view());
  }

  /// "3 * batch^2", "1 / (10 * batch)"
  static std::string scaled(std::string number, int powers) {
    for (int i = 0; i < max_symbols; ++i) {
      const int power = detail::power_of(i, powers < 0 ? -powers : powers);
      if (power > 0) number += std::string(" * ") + symbol_names[i];
      if (power > 1) number += '^' + std::to_string(power);
    }
    return powers < 0 ? "1 / (" + number + ')' : number;
  }

  /// The operation with its parameters and inputs.
  std::string operation(const Node& node) const {
    std::string out(node.op->name);
    const std::uint32_t* const words = graph_.words_of(node);
    if (node.op->builtin == Builtin::constant) {
      out += ' ' + scaled(number(node), static_cast<std::int32_t>(words[2]));
    } else if (node.op->kind == Kind::reduction) {
      out += '<';
      for (int axis = 0, count = 0; axis < max_rank; ++axis) {
        if ((words[0] >> axis & 1u) != 0) {
          out += (count++ > 0 ? ", " : "") + std::to_string(axis);
        }
      }
      out += words[1] != 0 ? "; keep_dims>" : ">";
    } else if ((node.op->name == "MatMul" || node.op->name == "IntegerMatMul") && words[0] != 0) {
      constexpr std::string_view flags[] = {"", "<transpose_a>", "<transpose_b>",
                                            "<transpose_both>"};
      out += flags[words[0] & 3u];
    } else if (node.op->builtin == Builtin::transpose) {
      out += '<';
      for (int i = 0; i < graph_.dims_of(node.outputs.first).rank; ++i) {
        out += (i > 0 ? ", " : "") + std::to_string(words[i]);
      }
      out += '>';
    } else if (node.op->builtin == Builtin::index_along) {
      out += '<' + std::to_string(words[0]) + '>';
    }
    if (node.inputs.count == 0 && node.controls.count == 0) return out;
    out += '(';
    for (Id k = 0; k < node.inputs.count; ++k) {
      out += (k > 0 ? ", " : "") + name(graph_.input(node, k));
    }
    out += ')';
    for (Id k = 0; k < node.controls.count; ++k) {
      out += (k > 0 ? ", " : " after ") + name(graph_.operands[node.controls.first + k]);
    }
    return out;
  }

  /// A constant, with as few digits as its element type needs.
  std::string number(const Node& node) const {
    return text_of(graph_.dtype_of(node.outputs.first), node.op->evaluate({graph_, node, nullptr}));
  }

  /// The types of the outputs: "float [batch, 10], int32 []" or "effect".
  std::string type(const Node& node) const {
    std::string out;
    for (Id k = 0; k < node.outputs.count; ++k) {
      if (k > 0) out += ", ";
      const Id value = node.outputs.first + k;
      Message text{};
      if (graph_.is_token(value)) {
        text << "effect";
      } else {
        text << graph_.dtype_of(value) << ' ' << graph_.dims_of(value);
      }
      out += text.view();
    }
    return out;
  }

  std::string place(const Node& node) const {
    Message out{};
    if (node.device.kind != DeviceKind::any) out << "  " << node.device;
    if (node.source.line > 0) out << "  " << file_name(node.source.file) << ':' << node.source.line;
    return std::string(out.view());
  }

  /// The nodes of a scope in Graphviz's language, with inner scopes as nested clusters.
  void clusters(std::string& out, Id scope, const std::string& indent) const {
    for (Id id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      if (node.scope != scope || leader(id) != id) continue;
      const Id last = last_part(id);
      const std::vector<Id> results = results_of_parts(id, last);
      out += indent + 'n' + std::to_string(id) + " [label=\"";
      if (!results.empty() && graph_.values[results[0]].name != none) {
        const Name& named = graph_.names[graph_.values[results[0]].name];
        escape(out, std::string(graph_.text_of(operation_name(named)).view()));
        out += "\\n";
      }
      escape(out, std::string(last == id ? node.op->name : node.source.op->name));
      out += "\\n";
      escape(out, types(id, last));
      out += "\"];\n";
    }
    for (Id inner = 0; inner < graph_.scopes.size(); ++inner) {
      const ScopeRecord& record = graph_.scopes[inner];
      if (record.parent != scope) continue;
      out += indent + "subgraph cluster_" + std::to_string(inner) + " {\n" + indent + "  label=\"";
      escape(out, std::string(record.text, static_cast<std::size_t>(record.length)));
      if (record.index != none) out += '_' + std::to_string(record.index);
      if (record.suffix > 0) out += '_' + std::to_string(record.suffix);
      out += "\";\n";
      clusters(out, inner, indent + "  ");
      out += indent + "}\n";
    }
  }
  static void escape(std::string& out, const std::string& text) {
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  void edge(std::string& out, Id value, Id to, const char* style) const {
    const Id from = leader(graph_.values[value].node);
    if (from == leader(to)) return;
    const std::string line =
        "  n" + std::to_string(from) + " -> n" + std::to_string(leader(to)) + style + ";\n";
    if (leader(to) == to || !out.ends_with(line)) out += line;  // parts read one tensor
  }
  /// The first of the nodes that are drawn as one.
  Id leader(Id id) const { return leader_[static_cast<std::size_t>(id)]; }

  const Graph& graph_;
  std::vector<Id> leader_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
