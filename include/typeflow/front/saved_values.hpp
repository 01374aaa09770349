// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of a forward branch or loop that its gradient needs.

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Makes values of forward regions available to the regions of a backward branch or loop.
class SavedValues {
 public:
  /// `owner`: the forward node.
  constexpr SavedValues(ir::Graph& graph, Id owner) : graph_(graph), owner_(owner) {}

  /// Finds each value of region `from` that nodes of region `in`, of the regions inside of it, and
  /// its results use, and replaces it by replacement(value).
  template <class F>
  constexpr void replace(Id in, Id from, Pool<Id>& results, const F& replacement) {
    Pool<Id> known(graph_.values.size(), none);
    const auto replaced = [&](Id value) {
      if (value == none || value >= known.size() || graph_.is_token(value)) return value;
      if (known[value] == none) {
        if (ir::region_of(graph_, value) != from) return value;
        known[value] = replacement(value);
      }
      return known[value];
    };
    const auto replace_in = [&](Pool<Id>& pool, Range list) {
      for (Id k = 0; k < list.count; ++k) {
        const Id value = replaced(pool[list.first + k]);
        pool[list.first + k] = value;
      }
    };
    const int region_count = graph_.regions.size();
    Pool<char> inside(region_count, 0);
    inside[in] = 1;
    for (Id id = in + 1; id < region_count; ++id) {
      if (inside[graph_.regions[id].parent] == 0) continue;
      inside[id] = 1;
      replace_in(graph_.lists, graph_.regions[id].results);
      replace_in(graph_.lists, graph_.regions[id].captures);
    }
    const int count = graph_.nodes.size();
    for (Id id = graph_.regions[in].first_node; id < count; ++id) {
      const ir::Node node = graph_.nodes[id];
      if (inside[node.region] != 0) replace_in(graph_.operands, node.inputs);
    }
    for (Id& result : results) result = replaced(result);
    for (Id id = region_count - 1; id > in; --id) {
      if (inside[id] != 0) capture_once(id);
    }
  }

  /// The tensor that the forward node gives for a value of its region number `region`: an existing
  /// result or a new one. `type` is a number in Graph::types.
  constexpr Id result_of(Id value, int region, int first, Id type) {
    const ir::Node node = graph_.nodes[owner_];
    const Id id = graph_.lists[node.regions.first + region];
    const Range results = graph_.regions[id].results;
    int index = first;
    while (index < results.count && graph_.lists[results.first + index] != value) ++index;
    if (index == results.count) {
      const bool is_loop = is<ops::Loop>(*node.op);
      for (int r = 0; r < node.regions.count; ++r) {
        if (!is_loop || r == region) add_result(node, r, r == region ? value : none);
      }
    }
    return ir::control_result(graph_, node.outputs.first, index, type);
  }

 private:
  using Range = ir::Range;

  /// A value that replaces another may be captured already. Each is captured once, so that its
  /// gradient is added up once.
  constexpr void capture_once(Id region) {
    const ir::Region& record = graph_.regions[region];
    const Range captures = record.captures;
    const Id owner = record.owner;
    for (Id k = 1; k < captures.count; ++k) {
      for (Id i = 0; i < k; ++i) {
        if (graph_.lists[captures.first + i] != graph_.lists[captures.first + k]) continue;
        return ir::renew_captures(graph_, owner, ir::first_inputs(graph_, owner));
      }
    }
  }
  constexpr void add_result(const ir::Node& node, int region, Id value) {
    const Id id = graph_.lists[node.regions.first + region];
    const Range results = graph_.regions[id].results;
    Pool<Id> longer;
    for (Id k = 0; k < results.count; ++k) longer.push(graph_.lists[results.first + k]);
    longer.push(value);
    const Range list = graph_.append_list(longer);
    graph_.regions[id].results = list;
  }

  ir::Graph& graph_;
  const Id owner_;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
