// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names for the nodes of a graph, for programs that show it as a tree of scopes. Only .ipp files
// read it.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "typeflow/core/text.hpp"
#include "typeflow/graph/describer.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// A name of TensorFlow's characters.
TYPEFLOW_COLD inline std::string node_name_of(std::string_view text) {
  constexpr std::string_view others = "_.-/>\\";
  std::string out;
  for (const char c : text) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool separates = c == '/' && (out.empty() || out.back() == '/');
    if (!separates) out += alphanumeric || others.find(c) != others.npos ? c : '_';
  }
  while (out.ends_with('/')) out.pop_back();
  if (out.empty() || out[0] == '_' || out[0] == '-' || out[0] == '>' || out[0] == '\\') {
    out.insert(0, 1, '.');
  }
  return out;
}

/// A name for each node of a graph: the name of its result, or its scope and operation with a
/// number if several have it.
///
///   fc1/W            a variable, a placeholder, a named result
///   fc1/MatMul_1     an operation without a name
///   parts/1          the result parts:1 of an operation that is made of several nodes
///   rnn/Loop/body/x  x of the body of rnn/Loop; also condition, then, else, branch_2
///   update/fc1/W/Mul what only an assignment to fc1/W needs
///   fc1/Const        a constant, beside the first node that reads it
class GraphNames {
 public:
  TYPEFLOW_COLD explicit GraphNames(const ir::Graph& graph)
      : graph_(graph), describer_(graph), names_(static_cast<std::size_t>(graph.nodes.size())) {
    find_consumers();
    find_updates();
    for (Id id = 0; id < graph.nodes.size(); ++id) {
      if (graph.nodes[id].regions.count > 0) owners_.push_back(id);
    }
    // Results of regions need the names of their owners, and owners may be inside of regions.
    for (const Id owner : owners_) name(owner);
    for (Id id = 0; id < graph.nodes.size(); ++id) {
      if (named_output(id) != none) name(id);
    }
    for (Id id = 0; id < graph.nodes.size();) {
      const Id last = describer_.last_part(id);
      if (last > id) name_parts(id, last);
      id = last + 1;
    }
    for (Id id = 0; id < graph.nodes.size(); ++id) name(id);
  }

  const std::string& operator[](Id node) const { return names_[static_cast<std::size_t>(node)]; }

  /// The operation of a node without the number of a generated type: Host of Host#1f2e...
  std::string_view operation(Id node) const {
    const std::string_view name = graph_.nodes[node].op->name;
    return name.substr(0, name.find('#'));
  }

 private:
  static inline const std::string update_path = "update/";

  TYPEFLOW_COLD void find_consumers() {
    consumers_.resize(names_.size());
    const auto add = [&](Id value, Id user) {
      if (value == none) return;
      consumers_[static_cast<std::size_t>(graph_.values[value].node)].push_back(user);
    };
    for (Id id = 0; id < graph_.nodes.size(); ++id) {
      const ir::Node& node = graph_.nodes[id];
      for (Id k = 0; k < node.inputs.count; ++k) add(graph_.input(node, k), id);
      for (Id k = 0; k < node.controls.count; ++k) {
        add(graph_.operands[node.controls.first + k], id);
      }
    }
    for (const ir::Region& region : graph_.regions) {
      for (Id k = 0; k < region.results.count && region.owner != none; ++k) {
        add(graph_.lists[region.results.first + k], region.owner);
      }
    }
  }

  /// Finds the nodes that only an assignment needs. An optimiser makes many of them, which would
  /// fill the model's own scopes.
  TYPEFLOW_COLD void find_updates() {
    updates_.resize(names_.size());
    for (Id id = graph_.nodes.size() - 1; id >= 0; --id) {
      const ir::Node& node = graph_.nodes[id];
      std::string& own = updates_[static_cast<std::size_t>(id)];
      if (named_output(id) != none || node.source.gradient || node.regions.count > 0 ||
          node.op->kind == Kind::result || node.op->builtin == Builtin::variable) {
        continue;
      }
      if (writes_variable(node.op->kind)) {
        const Id target = graph_.input(node, 0);
        if (graph_.values[target].name == none) continue;
        own = update_path + text_of(graph_.names[graph_.values[target].name]);
        continue;
      }
      bool is_first = true;
      for (const Id user : consumers_[static_cast<std::size_t>(id)]) {
        const std::string& its = updates_[static_cast<std::size_t>(user)];
        const ir::Node& other = graph_.nodes[user];
        if (its.empty() || other.region != node.region) {
          own.clear();
          break;
        }
        own = is_first ? its : common_path(own, its);
        is_first = false;
      }
    }
    for (Id id = 0; id < graph_.nodes.size(); ++id) {  // joined assignments
      const ir::Node& node = graph_.nodes[id];
      if (node.op->kind != Kind::group || named_output(id) != none) continue;
      std::string& own = updates_[static_cast<std::size_t>(id)];
      for (Id k = 0; k < node.inputs.count; ++k) {
        const Id input = graph_.values[graph_.input(node, k)].node;
        const std::string& its = updates_[static_cast<std::size_t>(input)];
        own = k == 0 ? its : common_path(own, its);
      }
    }
  }
  /// "update/fc1" of "update/fc1/W" and "update/fc1/b"; empty if one of them is.
  static std::string common_path(const std::string& a, const std::string& b) {
    std::size_t end = 0;
    for (std::size_t i = 0;; ++i) {
      const bool a_ends = i >= a.size() || a[i] == '/';
      const bool b_ends = i >= b.size() || b[i] == '/';
      if (a_ends && b_ends) end = i;
      if (i >= a.size() || i >= b.size() || a[i] != b[i]) break;
    }
    return a.substr(0, end);
  }

  Id named_output(Id id) const {
    const ir::Range outputs = graph_.nodes[id].outputs;
    for (Id k = 0; k < outputs.count; ++k) {
      if (graph_.values[outputs.first + k].name != none) return outputs.first + k;
    }
    return none;
  }
  std::string text_of(const ir::Name& name) const {
    return std::string(graph_.text_of(name).view());
  }
  std::string scope_of(const ir::Node& node) const {
    Message out{};
    graph_.print_scope(out, node.scope, false);
    return std::string(out.view());
  }

  /// The path of a region's nodes: "rnn/Loop/body/".
  TYPEFLOW_COLD std::string region_path(Id region) {
    const ir::Node& owner = graph_.nodes[graph_.regions[region].owner];
    Id position = 0;
    while (graph_.lists[owner.regions.first + position] != region) ++position;
    const bool is_loop = owner.op->name == "Loop";
    std::string part = "branch_" + std::to_string(position);
    if (is_loop || owner.regions.count == 1) {
      part = position + 1 == owner.regions.count ? "body" : "condition";
    } else if (owner.regions.count == 2) {
      part = position == 0 ? "then" : "else";
    }
    return name(graph_.regions[region].owner) + '/' + part + '/';
  }

  /// The path of a node without its region: what its name begins with, or all of it.
  TYPEFLOW_COLD std::string path_of(Id id) {
    const ir::Node& node = graph_.nodes[id];
    if (const Id value = named_output(id); value != none) {
      const ir::Name& own = graph_.names[graph_.values[value].name];
      const bool is_part = own.output != none && node.outputs.count == 1;
      return text_of(ir::operation_name(own)) +
             (is_part ? '/' + std::to_string(own.output) : std::string());
    }
    if (node.op->builtin == Builtin::constant) {  // beside its first user
      const std::vector<Id>& users = consumers_[static_cast<std::size_t>(id)];
      if (!users.empty()) {
        const std::string user = name(users[0]);
        return user.substr(0, user.rfind('/') + 1) + std::string(operation(id));
      }
    }
    const std::string scope = scope_of(node);
    std::string update = updates_[static_cast<std::size_t>(id)];
    if (!update.empty()) {  // update/fc1/W is fc1/update/W in the scope fc1
      update += '/';
      const std::string below = update_path + scope;
      if (update.starts_with(below)) update.erase(update_path.size(), scope.size());
    }
    return scope + update + std::string(operation(id));
  }
  /// A node's path with its region's.
  TYPEFLOW_COLD std::string full_path(Id id, std::string path) {
    const ir::Node& node = graph_.nodes[id];
    const ir::Region& region = graph_.regions[node.region];
    if (region.owner == none) return path;
    const std::string outer = scope_of(graph_.nodes[region.owner]);
    if (path.starts_with(outer)) path.erase(0, outer.size());
    return region_path(node.region) + path;
  }

  TYPEFLOW_COLD const std::string& name(Id id) {
    std::string& own = names_[static_cast<std::size_t>(id)];
    if (own.empty()) own = unique(full_path(id, path_of(id)));
    return own;
  }
  TYPEFLOW_COLD void name_parts(Id first, Id last) {
    const ir::Node& node = graph_.nodes[first];
    const std::string path =
        unique(full_path(first, scope_of(node) + std::string(node.source.op->name)));
    for (Id id = first; id <= last; ++id) {
      std::string& own = names_[static_cast<std::size_t>(id)];
      if (own.empty()) own = unique(path + '/' + std::string(operation(id)));
    }
  }
  TYPEFLOW_COLD std::string unique(const std::string& path) {
    const std::string name = node_name_of(path);
    std::string now = name;
    while (!taken_.insert(now).second) now = name + '_' + std::to_string(++repeats_[name]);
    return now;
  }

  const ir::Graph& graph_;
  ir::Describer describer_;
  std::vector<std::string> names_;          // by node
  std::vector<std::string> updates_;        // by node: "update/fc1/W", or empty
  std::vector<std::vector<Id>> consumers_;  // by node
  std::vector<Id> owners_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> repeats_;
};

/// The nodes of a traced graph that a program's steps compute: for each step the node that it is
/// called after, or none. A step and its node have the same name. If they have none, they have the
/// same scope, operation and line, and if possible the same type; the k-th of equal steps is taken
/// for the k-th of equal nodes.
class StepNodes {
 public:
  TYPEFLOW_COLD StepNodes(const ir::Graph& graph, const ir::ProgramView& program)
      : nodes_(static_cast<std::size_t>(program.steps.size), none) {
    add_nodes(graph);
    for (Id s = 0; s < program.steps.size; ++s) {
      nodes_[static_cast<std::size_t>(s)] = find(program, program.steps[s]);
    }
  }

  Id operator[](Id step) const { return nodes_[static_cast<std::size_t>(step)]; }

 private:
  TYPEFLOW_COLD void add_nodes(const ir::Graph& graph) {
    for (Id id = 0; id < graph.nodes.size(); ++id) {
      const ir::Node& node = graph.nodes[id];
      std::string type;
      for (Id k = 0; k < node.outputs.count; ++k) {
        const Id value = node.outputs.first + k;
        if (k == 0 && !graph.is_token(value)) type = text_of(graph.type_of(value));
        const Id name = graph.values[value].name;
        if (name == none) continue;
        named_.emplace(graph.text_of(ir::operation_name(graph.names[name])).view(), id);
      }
      if (writes_variable(node.op->kind)) type = text_of(graph.type_of(graph.input(node, 0)));
      const auto add = [&](std::string_view operation) {
        const std::string own =
            key(graph.scopes, node.scope, operation, node.source.file, node.source.line);
        alike_[own].push_back(id);
        alike_[own + type].push_back(id);
      };
      add(node.op->name);
      if (node.source.within && node.source.op->name != node.op->name) add(node.source.op->name);
    }
  }

  TYPEFLOW_COLD Id find(const ir::ProgramView& program, const ir::Step& step) {
    const ir::StepLabel& label = step.label;
    if (label.name != none) {
      Message text{};
      print_name(text, program.scopes, ir::operation_name(program.names[label.name].name));
      if (const auto found = named_.find(std::string(text.view())); found != named_.end()) {
        return found->second;
      }
    }
    std::vector<std::string> types;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      types.push_back(text_of(program.type_of(program.operands[step.operands.first + i])));
    }
    types.emplace_back();  // any
    for (const std::string& type : types) {
      for (const std::string_view operation : {label.operation.view(), label.called.view()}) {
        const std::string own =
            key(program.scopes, label.scope, operation, label.file, label.line) + type;
        const auto found = alike_.find(own);
        if (found == alike_.end()) continue;
        return found->second[std::min(used_[own]++, found->second.size() - 1)];
      }
    }
    return none;
  }

  static std::string text_of(const Type& type) {
    Message text{};
    text << ' ' << type.dtype << ' ' << type.dims;
    return std::string(text.view());
  }
  template <class Scopes>
  static std::string key(const Scopes& scopes, Id scope, std::string_view operation,
                         const char* file, int line) {
    Message path{};
    print_scope(path, scopes, scope, false);
    return std::string(path.view()) + std::string(operation) + ' ' + std::string(file_name(file)) +
           ':' + std::to_string(line);
  }

  std::vector<Id> nodes_;                                   // by step
  std::unordered_map<std::string, Id> named_;               // by name
  std::unordered_map<std::string, std::vector<Id>> alike_;  // by key, with and without the type
  std::unordered_map<std::string, std::size_t> used_;       // how many steps a key has had
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
