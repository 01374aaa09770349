// SPDX-License-Identifier: Apache-2.0
#pragma once

// A region as a graph of its own, which passes treat like any other. Its parameters and its
// captures are sources of the graph (ops::BlockInput).

#include <type_traits>

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

struct RegionGraph {
  Graph graph;
  Pool<Id> inputs;   ///< parameters, captures
  Pool<Id> results;  ///< none for those that were not wanted, or that the region leaves open
  Pool<Id> effects;  ///< values of nodes that it runs for their effects
};

class RegionCopier {
 public:
  constexpr RegionCopier(const Graph& from, Id region)
      : from_(from),
        region_(region),
        out_{Graph(from.mode()), {}, {}, {}},
        to_(out_.graph),
        value_of_(from.values.size(), none),
        type_of_(from.types.size(), none),
        region_of_(from.regions.size(), none) {}

  /// `wanted`, by result: whether the result is wanted.
  constexpr RegionGraph run(const Pool<char>& wanted) {
    to_.skipped = from_.skipped;
    to_.observer = from_.observer;
    // Values keep the numbers of their names, by which only observers print them.
    if (!std::is_constant_evaluated() && from_.observer != nullptr) to_.names = from_.names;
    to_.scopes = from_.scopes;
    to_.variable_records = from_.variable_records;
    for (VariableRecord& variable : to_.variable_records) variable.value = none;
    copy_regions();
    const Region& region = from_.regions[region_];
    add_inputs(region.parameters);
    add_inputs(region.captures);
    for (Id id = region.first_node; id < from_.nodes.size(); ++id) {
      const Node& node = from_.nodes[id];
      if (region_of_[node.region] == none) continue;
      if (value_of_[node.outputs.first] == none) copy(node);
      if (node.region == region_ && is_effect(node)) {
        out_.effects.push(value_of_[node.outputs.first]);
      }
    }
    fill_regions();
    for (Id k = 0; k < region.results.count; ++k) {
      const Id result = from_.lists[region.results.first + k];
      out_.results.push(result == none || wanted[k] == 0 ? none : value(result));
    }
    return std::move(out_);
  }

 private:
  constexpr bool is_effect(const Node& node) const {
    if (node.op->kind != Kind::control) return node.op->effect == SideEffect::writes;
    return from_.regions[from_.lists[node.regions.first]].accesses.count != 0;
  }

  /// Adds the regions inside; their numbers are greater than their parents'.
  constexpr void copy_regions() {
    region_of_[region_] = 0;
    for (Id id = region_ + 1; id < from_.regions.size(); ++id) {
      const Id parent = region_of_[from_.regions[id].parent];
      if (parent == none) continue;
      region_of_[id] = to_.regions.push(Region{parent, none, 0, {}, {}, {}, {}});
    }
  }
  /// Sets the regions' values, when all exist.
  constexpr void fill_regions() {
    for (Id id = region_ + 1; id < from_.regions.size(); ++id) {
      if (region_of_[id] == none) continue;
      const Region& original = from_.regions[id];
      Region copy = to_.regions[region_of_[id]];
      copy.parameters = copy_values(original.parameters);
      copy.results = copy_values(original.results);
      copy.captures = copy_values(original.captures);
      to_.regions[region_of_[id]] = copy;
    }
  }
  constexpr Range copy_values(const Range& list) {
    Pool<Id> ids;
    for (Id k = 0; k < list.count; ++k) {
      const Id original = from_.lists[list.first + k];
      ids.push(original == none ? none : value(original));
    }
    return to_.append_list(ids);
  }

  constexpr void add_inputs(const Range& values) {
    for (Id k = 0; k < values.count; ++k) {
      const Id original = from_.lists[values.first + k];
      stand_at(from_.node_of(original), 0);
      const Id input =
          add_node(to_, ops::BlockInput{{}, out_.inputs.size()}, nullptr, 0, type(original)).id;
      value_of_[original] = input;
      out_.inputs.push(input);
    }
  }

  constexpr Id type(Id original) {
    const Id number = from_.values[original].type;
    if (number == none) return none;
    if (type_of_[number] == none) type_of_[number] = to_.intern(from_.types[number]);
    return type_of_[number];
  }
  /// The value that replaces this one. Outer values that are no inputs are constants.
  constexpr Id value(Id original) {
    if (value_of_[original] == none) {
      const Node& node = from_.node_of(original);
      if (node.op->kind != Kind::source && region_of_[node.region] == none) {
        Message message{};
        to_.fail(message << "internal error: a region uses " << node.op->name
                         << " from outside without capturing it");
        return 0;
      }
      copy(node);
    }
    return value_of_[original];
  }
  /// The variable that a node writes, or whose present value it reads. A read by the handle has the
  /// value at the start of the run, which is a capture.
  constexpr Id variable(Id original) {
    const Id index = from_.variable_index(original);
    if (to_.variable_records[index].value == none) {
      stand_at(from_.node_of(original), 0);
      const Op& op = from_.op_of(original);
      const Id node = to_.add_node(op, nullptr, 0, 1, from_.words_of(from_.node_of(original)),
                                   from_.node_of(original).attributes.count);
      to_.variable_records[index].value = to_.values.size();
      to_.values.push(Value{node, 0, type(original), from_.values[original].name});
    }
    return to_.variable_records[index].value;
  }

  constexpr void stand_at(const Node& node, Id region) {
    to_.scope = node.scope;
    to_.device = node.device;
    to_.source = node.source;
    to_.region = region;
  }
  constexpr void copy(const Node& node) {
    Pool<Id> inputs;
    const bool present =
        writes_variable(node.op->kind) || node.op->effect == SideEffect::reads_state;
    if (present) inputs.push(variable(from_.input(node, 0)));
    for (Id k = inputs.size(); k < node.inputs.count; ++k) {
      inputs.push(value(from_.input(node, k)));
    }
    stand_at(node, region_of_[node.region] == none ? 0 : region_of_[node.region]);
    const Id id = to_.add_node(*node.op, inputs.data(), inputs.size(), node.outputs.count,
                               from_.words_of(node), node.attributes.count);
    for (Id k = 0; k < node.outputs.count; ++k) {
      const Id original = node.outputs.first + k;
      value_of_[original] =
          to_.values.push(Value{id, k, type(original), from_.values[original].name});
    }
    Pool<Id> controls;
    for (Id k = 0; k < node.controls.count; ++k) {
      const Id token = value_of_[from_.operands[node.controls.first + k]];
      if (token != none) controls.push(token);  // the owner waits for the others
    }
    to_.nodes[id].controls = to_.append(controls.data(), controls.size());
    if (node.op->kind == Kind::control) copy_owned(node, id);
  }
  constexpr void copy_owned(const Node& node, Id id) {
    Pool<Id> regions;
    for (Id k = 0; k < node.regions.count; ++k) {
      const Id original = from_.lists[node.regions.first + k];
      const Id region = region_of_[original];
      regions.push(region);
      to_.regions[region].owner = id;
      const Range accesses = from_.regions[original].accesses;
      Pool<Id> codes;
      for (Id c = 0; c < accesses.count; ++c) codes.push(from_.lists[accesses.first + c]);
      const Range copied = to_.append_list(codes);
      to_.regions[region].accesses = copied;
    }
    const Range owned = to_.append_list(regions);
    to_.nodes[id].regions = owned;
  }

  const Graph& from_;
  const Id region_;
  RegionGraph out_;
  Graph& to_;
  Pool<Id> value_of_;   // by value of the original
  Pool<Id> type_of_;    // by type
  Pool<Id> region_of_;  // by region; none for those outside
};

/// The graph of a region.
constexpr RegionGraph graph_of_region(const Graph& graph, Id region, const Pool<char>& wanted) {
  return RegionCopier(graph, region).run(wanted);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
