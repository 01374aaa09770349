// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of nodes and of whole regions, within a graph or into another one. Random numbers stay the
// same, because their keys are attributes.

#include <cstdint>

#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Adds a copy of a node to the current region of `to`, with these inputs and control inputs. The
/// caller adds the values of its outputs. `from` and `to` may be one graph; `node` is no reference
/// into it.
constexpr Id clone_node(const Graph& from, Graph& to, const Node& node, const Pool<Id>& inputs,
                        const Pool<Id>& controls) {
  Pool<std::uint32_t> words;  // the graph's may move
  for (Id k = 0; k < node.attributes.count; ++k) words.push(from.words_of(node)[k]);
  to.scope = node.scope;
  to.device = node.device;
  to.source = node.source;
  const Id id = to.add_node(*node.op, inputs.data(), inputs.size(), node.outputs.count,
                            words.data(), words.size());
  if (!controls.empty()) {
    const Range range = to.append(controls.data(), controls.size());
    to.nodes[id].controls = range;
  }
  return id;
}

/// Copies a region's nodes, and the regions inside of it, into a region of the same graph or of
/// another one, say an empty graph with the scopes and variables of the first.
///
/// Within a graph the copy reads the outer values that the region reads. Into another graph only
/// sources that have no memory are copied from outside: all that the region captures must be given.
class RegionClone {
 public:
  /// The copy goes to the current region of `to`.
  constexpr RegionClone(const Graph& from, Id region, Graph& to)
      : from_(from),
        to_(to),
        region_(region),
        nodes_(from.nodes.size()),
        within_(&from == &to),
        value_of_(from.values.size(), none),
        region_of_(from.regions.size(), none) {
    if (!within_) type_of_ = Pool<Id>(from.types.size(), none);
    add_regions();
  }

  /// The copy reads `value` in place of `original`.
  constexpr void give(Id original, Id value) { value_of_[original] = value; }

  /// Copies all nodes that are not given, and calls seen(node) with each node of the region itself.
  template <class F>
  constexpr void run(const F& seen) {
    const SourceLine source = to_.source;
    const Id scope = to_.scope;
    const Device device = to_.device;
    const Id current = to_.region;
    for (Id id = from_.regions[region_].first_node; id < nodes_; ++id) {
      const Node node = from_.nodes[id];
      if (!is_inside(node)) continue;
      if (value_of_[node.outputs.first] == none) copy(node);
      if (node.region == region_) seen(node);
    }
    fill_regions();
    to_.source = source;
    to_.scope = scope;
    to_.device = device;
    to_.region = current;
  }
  constexpr void run() {
    run([](const Node&) {});
  }

  /// The copy of a value. Parameters may stand behind their uses, so it may be made now.
  constexpr Id operator()(Id original) {
    if (original == none || original >= value_of_.size()) return original;
    if (value_of_[original] == none) {
      const Node node = from_.node_of(original);
      if (!is_inside(node)) {
        if (within_) return original;
        if (node.op->kind != Kind::source) return fail_open(node);
      }
      copy(node);
    }
    return value_of_[original];
  }
  /// The number of a value's type in the other graph.
  constexpr Id type(Id original) {
    const Id number = from_.values[original].type;
    if (within_ || number == none) return number;
    if (type_of_[number] == none) {
      const Id interned = to_.intern(from_.types[number]);
      type_of_[number] = interned;
    }
    return type_of_[number];
  }

 private:
  constexpr bool is_inside(const Node& node) const {
    return node.region < region_of_.size() && region_of_[node.region] != none;
  }
  constexpr Id fail_open(const Node& node) {
    Message message{};
    to_.fail(message << "internal error: a region uses " << node.op->name
                     << " from outside without capturing it");
    return 0;
  }

  /// Adds the regions inside; their numbers are greater than their parents'.
  constexpr void add_regions() {
    region_of_[region_] = to_.region;
    for (Id id = region_ + 1; id < region_of_.size(); ++id) {
      const Id parent = region_of_[from_.regions[id].parent];
      if (parent == none) continue;
      const Id added =
          to_.regions.push(Region{parent, none, to_.nodes.size(), {}, {}, {}, {}, {}, none});
      region_of_[id] = added;
    }
  }
  /// Sets the regions' values, when all exist.
  constexpr void fill_regions() {
    for (Id id = region_ + 1; id < region_of_.size(); ++id) {
      if (region_of_[id] == none) continue;
      const Region original = from_.regions[id];
      Region copy = to_.regions[region_of_[id]];
      copy.parameters = values(original.parameters);
      copy.results = values(original.results);
      copy.captures = values(original.captures);
      copy.given = values(original.given);
      copy.iterations = (*this)(original.iterations);
      to_.regions[region_of_[id]] = copy;
    }
  }
  constexpr Pool<Id> listed(const Range& list) const {
    Pool<Id> ids;
    for (Id k = 0; k < list.count; ++k) ids.push(from_.lists[list.first + k]);
    return ids;
  }
  constexpr Range values(const Range& list) {
    Pool<Id> ids = listed(list);
    for (Id& id : ids) id = (*this)(id);
    return to_.append_list(ids);
  }

  constexpr void copy(const Node& node) {
    Pool<Id> inputs;
    const bool present =
        writes_variable(node.op->kind) || node.op->effect == SideEffect::reads_state;
    if (present && !within_) inputs.push(variable(from_.input(node, 0)));
    for (Id k = inputs.size(); k < node.inputs.count; ++k) {
      inputs.push((*this)(from_.input(node, k)));
    }
    Pool<Id> controls;
    for (Id k = 0; k < node.controls.count; ++k) {
      const Id token = from_.operands[node.controls.first + k];
      if (within_) {
        controls.push((*this)(token));
      } else if (value_of_[token] != none) {  // the owner waits for the others
        controls.push(value_of_[token]);
      }
    }
    to_.region = is_inside(node) ? region_of_[node.region] : 0;
    const Id id = clone_node(from_, to_, node, inputs, controls);
    for (Id k = 0; k < node.outputs.count; ++k) {
      const Id original = node.outputs.first + k;
      const Id name = within_ ? none : from_.values[original].name;
      const Id made = to_.values.push(Value{id, k, type(original), name});
      value_of_[original] = made;
    }
    if (node.op->kind == Kind::control) own_regions(node, id);
  }
  constexpr void own_regions(const Node& node, Id id) {
    Pool<Id> regions = listed(node.regions);
    for (Id& region : regions) {
      region = region_of_[region];
      to_.regions[region].owner = id;
    }
    const Range owned = to_.append_list(regions);
    to_.nodes[id].regions = owned;
    const Range original = from_.regions[from_.lists[node.regions.first]].accesses;
    const Range accesses = to_.append_list(listed(original));  // one list for all
    for (const Id region : regions) to_.regions[region].accesses = accesses;
  }
  /// Another graph's variable that a node writes, or whose present value it reads. A read by the
  /// handle has the value at the start of the run, which is a capture.
  constexpr Id variable(Id original) {
    const Id index = from_.variable_index(original);
    if (to_.variable_records[index].value == none) {
      const Node node = from_.node_of(original);
      const Id id = clone_node(from_, to_, node, {}, {});
      const Id made = to_.values.push(Value{id, 0, type(original), from_.values[original].name});
      to_.variable_records[index].value = made;
    }
    return to_.variable_records[index].value;
  }

  const Graph& from_;
  Graph& to_;
  const Id region_;
  const Id nodes_;  // so many there were
  const bool within_;
  Pool<Id> value_of_;   // by value of the original
  Pool<Id> type_of_;    // by type; empty within a graph
  Pool<Id> region_of_;  // by region; none for those outside
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
