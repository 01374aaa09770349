// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of a region's nodes, in the current region of the same graph.

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// Copies nodes, and the regions inside of them. Random numbers stay the same, because their keys
/// are attributes.
class RegionCopy {
 public:
  constexpr RegionCopy(ir::Graph& graph, Id region)
      : graph_(graph),
        region_(region),
        nodes_(graph.nodes.size()),
        copy_of_(graph.values.size(), none),
        region_of_(graph.regions.size(), none) {}

  constexpr void run() {
    const ir::SourceLine source = graph_.source;
    const Id scope = graph_.scope;
    const Device device = graph_.device;
    const Id current = graph_.region;
    add_regions();
    for (Id id = graph_.regions[region_].first_node; id < nodes_; ++id) {
      const ir::Node node = graph_.nodes[id];
      if (is_inside(node) && copy_of_[node.outputs.first] == none) copy(node);
    }
    fill_regions();
    graph_.source = source;
    graph_.scope = scope;
    graph_.device = device;
    graph_.region = current;
  }

  /// The copy of a value of the region; an outer value itself.
  constexpr Id operator()(Id value) {
    if (value == none || value >= copy_of_.size()) return value;
    if (copy_of_[value] == none) {
      const ir::Node node = graph_.node_of(value);
      if (!is_inside(node)) return value;
      copy(node);  // a parameter, which may stand behind its uses
    }
    return copy_of_[value];
  }

 private:
  using Range = ir::Range;

  constexpr bool is_inside(const ir::Node& node) const {
    return node.region < region_of_.size() && region_of_[node.region] != none;
  }
  /// Makes the regions inside; their numbers are greater than their parents'.
  constexpr void add_regions() {
    region_of_[region_] = graph_.region;
    for (Id id = region_ + 1; id < region_of_.size(); ++id) {
      const Id parent = region_of_[graph_.regions[id].parent];
      if (parent == none) continue;
      region_of_[id] =
          graph_.regions.push(ir::Region{parent, none, graph_.nodes.size(), {}, {}, {}, {}});
    }
  }
  /// Sets the regions' values, when all exist.
  constexpr void fill_regions() {
    for (Id id = region_ + 1; id < region_of_.size(); ++id) {
      if (region_of_[id] == none) continue;
      const ir::Region original = graph_.regions[id];
      ir::Region copy = graph_.regions[region_of_[id]];
      copy.parameters = values(original.parameters);
      copy.results = values(original.results);
      copy.captures = values(original.captures);
      copy.accesses = graph_.append_list(listed(original.accesses));
      graph_.regions[region_of_[id]] = copy;
    }
  }
  constexpr Pool<Id> listed(const Range& list) const {
    Pool<Id> ids;
    for (Id k = 0; k < list.count; ++k) ids.push(graph_.lists[list.first + k]);
    return ids;
  }
  constexpr Range values(const Range& list) {
    Pool<Id> ids = listed(list);
    for (Id& id : ids) id = (*this)(id);
    return graph_.append_list(ids);
  }

  constexpr void copy(const ir::Node& node) {
    Pool<Id> inputs;
    for (Id k = 0; k < node.inputs.count; ++k) inputs.push((*this)(graph_.input(node, k)));
    Pool<Id> controls;
    for (Id k = 0; k < node.controls.count; ++k) {
      controls.push((*this)(graph_.operands[node.controls.first + k]));
    }
    Pool<std::uint32_t> words;  // the graph's may move
    for (Id k = 0; k < node.attributes.count; ++k) words.push(graph_.words_of(node)[k]);
    graph_.source = node.source;
    graph_.scope = node.scope;
    graph_.device = node.device;
    graph_.region = region_of_[node.region];
    const Id id = graph_.add_node(*node.op, inputs.data(), inputs.size(), node.outputs.count,
                                  words.data(), words.size());
    for (Id k = 0; k < node.outputs.count; ++k) {
      const Id original = node.outputs.first + k;
      const Id type = graph_.values[original].type;
      copy_of_[original] = graph_.values.push(ir::Value{id, k, type, none});
    }
    if (!controls.empty()) {
      graph_.nodes[id].controls = graph_.append(controls.data(), controls.size());
    }
    if (node.op->kind == Kind::control) own_regions(node, id);
  }
  constexpr void own_regions(const ir::Node& node, Id id) {
    Pool<Id> regions = listed(node.regions);
    for (Id& region : regions) {
      region = region_of_[region];
      graph_.regions[region].owner = id;
    }
    const Range owned = graph_.append_list(regions);
    graph_.nodes[id].regions = owned;
  }

  ir::Graph& graph_;
  const Id region_;
  const Id nodes_;      // so many there were
  Pool<Id> copy_of_;    // by value; none for what is not copied
  Pool<Id> region_of_;  // by region; none for those outside
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
