// SPDX-License-Identifier: Apache-2.0
#pragma once

// Branches and loops in the graph: nodes that own regions.
//
// A region is opened, its nodes are added like any others, and it is closed with its results. Then
// the node that owns it is added; its inputs include the outer values that its regions read. So
// passes see an ordinary node. Lowering makes a graph of each region, which passes treat by itself
// (passes/region_graph.hpp).
//
// Bodies are statements: all assignments and other effects in a region happen each time it runs.
// Passes move what needs to run only once out of loops (passes/loops.hpp).

#include <cstdint>
#include <string_view>
#include <utility>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Parameter `index` of a region: its input each time it runs. In the graph of a region, captures
/// are such nodes, too, numbered behind the parameters.
struct BlockInput : source {
  static constexpr Builtin builtin = Builtin::block_input;
  static constexpr std::string_view name = "BlockInput";
  static constexpr SideEffect effect = SideEffect::reads;  // never shared
  std::int32_t index;
};

struct control : operation_base {
  static constexpr Kind kind = Kind::control;
  static constexpr Derivative derivative = Derivative::rule;  // front/control_gradient.hpp
  static constexpr int flops = 0;
};

/// Runs one of its regions. Inputs: the predicate, a boolean (true for the first region, false for
/// the second) or an int32 (the last region if out of range); then captures. All regions give
/// results of the same types.
struct Branch : control {
  static constexpr std::string_view name = "Branch";
};

/// Runs its region. Inputs: captures. Its gradient runs the region again, instead of using saved
/// values.
struct Checkpoint : control {
  static constexpr std::string_view name = "Checkpoint";
};

/// Runs its last region repeatedly. Inputs: the initial states, the stacked inputs, captures. The
/// body's parameters: the number of the iteration, an int32; the states; a slice of each stacked
/// input. The body's results: the next states, then slices to stack along axis 0. The loop's
/// results: the last states, the stacked outputs.
///
/// With two regions, the first one is the condition; it has the same parameters without slices.
/// With one region that is not `limited`, an int32 scalar, the input before the captures, is the
/// trip count, at most `count`: this is the gradient of a loop with two regions. Stacked outputs of
/// both kinds have `count` rows. Rows that no iteration writes are zero in the second kind. In the
/// first they are undefined, and only slices that were written are read.
struct Loop : control {
  static constexpr std::string_view name = "Loop";
  Extent count;  ///< trip count; with two regions the most, if limited
  std::int32_t states;
  std::int32_t stacked_inputs;
  std::int32_t reversed;  ///< 1: from the last slice to the first
  std::int32_t limited;   ///< 0: the first region or an input gives the trip count
  std::int64_t parallel;  ///< the most iterations that may overlap; 0: the plan chooses
};

/// One of the results of a branch or loop, or the trip count of a loop with two regions, an int32
/// scalar. Its input is the owner's token.
struct Result : operation_base {
  static constexpr Kind kind = Kind::result;
  static constexpr Derivative derivative = Derivative::rule;
  static constexpr std::string_view name = "Result";
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  static constexpr std::int32_t iterations = -1;  ///< the index of the trip count
  std::int32_t index;
};

}  // namespace ops

namespace ir {

/// Gives a node, one of operation O, other attributes.
template <class O>
constexpr void set_attributes(Graph& graph, const Node& node, const O& op) {
  const auto words = encode(op);
  const Id first = node.attributes.first;
  for (Id k = 0; k < node.attributes.count; ++k) {
    graph.attributes[first + k] = words[static_cast<std::size_t>(k)];
  }
}

/// Opens a region inside the current one: new nodes belong to it.
constexpr Id open_region(Graph& graph) {
  const Id region =
      graph.regions.push(Region{graph.region, none, graph.nodes.size(), {}, {}, {}, {}, {}, none});
  graph.region = region;
  return region;
}
/// The region's parameters, with these types (numbers in Graph::types).
constexpr void add_parameters(Graph& graph, Id region, const Pool<Id>& types) {
  Pool<Id> values;
  for (int i = 0; i < types.size(); ++i) {
    values.push(add_node(graph, ops::BlockInput{{}, i}, nullptr, 0, types[i]).id);
  }
  graph.regions[region].parameters = graph.append_list(values);
}
constexpr void close_region(Graph& graph, Id region, const Pool<Id>& results) {
  graph.regions[region].results = graph.append_list(results);
  graph.region = graph.regions[region].parent;
}

constexpr Id region_of(const Graph& graph, Id value) { return graph.node_of(value).region; }

/// Whether a region is another one, or lies inside of it.
constexpr bool lies_in(const Graph& graph, Id region, Id outer) {
  while (region != none && region != outer) region = graph.regions[region].parent;
  return region == outer;
}

/// Constants and positions have no memory, so a region has its own.
constexpr bool is_made_anywhere(const Op& op) {
  return op.kind == Kind::source && op.builtin != Builtin::block_input &&
         op.builtin != Builtin::placeholder && op.builtin != Builtin::variable;
}

constexpr void capture_reads(Graph& graph, const Pool<Id>& xs);

/// Adds the node that owns regions.
class ControlBuilder {
 public:
  constexpr ControlBuilder(Graph& graph, const Pool<Id>& regions)
      : graph_(graph), regions_(regions) {}

  /// Adds the node and returns its token. `inputs`: those before the captures.
  template <class O>
  constexpr Id add(const O& op, Pool<Id> inputs) {
    graph_.capture_reads = &capture_reads;
    graph_.controls = true;
    collect(graph_.nodes.size());
    const Range captures = graph_.append_list(captures_);
    const Range accesses = graph_.append_list(accesses_);
    for (const Id capture : captures_) inputs.push(capture);
    (void)sizeof(typeflow::detail::BindOp<O>);
    const auto words = encode(op);
    const Id token = graph_.add_value(record<O>, inputs.data(), inputs.size(), none, words.data(),
                                      static_cast<int>(words.size()));
    const Id owner = graph_.values[token].node;
    graph_.nodes[owner].regions = graph_.append_list(regions_);
    if (!controls_.empty()) {
      graph_.nodes[owner].controls = graph_.append(controls_.data(), controls_.size());
    }
    for (const Id region : regions_) {
      graph_.regions[region].owner = owner;
      graph_.regions[region].captures = captures;
      graph_.regions[region].accesses = accesses;
    }
    return token;
  }

  /// Finds again what the regions of a node capture, when their nodes have changed. `inputs`: those
  /// before the captures.
  constexpr void renew(Id owner, Pool<Id> inputs) {
    collect(owner);
    const Range captures = graph_.append_list(captures_);
    for (const Id capture : captures_) inputs.push(capture);
    const Range operands = graph_.append(inputs.data(), inputs.size());
    graph_.nodes[owner].inputs = operands;
    for (const Id region : regions_) graph_.regions[region].captures = captures;
  }

 private:
  /// What the regions use and do. Their nodes stand before node `end`.
  constexpr void collect(Id end) {
    captured_ = Pool<Id>(graph_.values.size(), 0);
    for (const Id region : regions_) collect(region, end);
  }
  constexpr void collect(Id region, Id end) {
    const Region record = graph_.regions[region];
    for (Id id = record.first_node; id < end; ++id) {
      const Node node = graph_.nodes[id];
      if (node.region != region) continue;
      const bool present =
          writes_variable(node.op->kind) || node.op->effect == SideEffect::reads_state;
      if (present) {
        access({graph_.variable_index(graph_.input(node, 0)), writes_variable(node.op->kind)});
      } else if (node.op->effect == SideEffect::writes) {
        access({Access::outside, true});
      }
      const bool handle =
          present && (node.op->effect != SideEffect::reads_state ||
                      !graph_.variable_records[graph_.variable_index(graph_.input(node, 0))].leads);
      for (Id k = handle ? 1 : 0; k < node.inputs.count; ++k) {
        read(graph_.input(node, k), region);
      }
      for (Id k = 0; k < node.controls.count; ++k) {
        const Id token = graph_.operands[node.controls.first + k];
        if (region_of(graph_, token) != region) controls_.push(token);
      }
      if (node.op->kind != Kind::control) continue;
      const Range inner = graph_.regions[graph_.lists[node.regions.first]].accesses;
      for (Id k = 0; k < inner.count; ++k) {
        access(Access::decode(graph_.lists[inner.first + k]));
      }
    }
    for (Id k = 0; k < record.results.count; ++k) {
      const Id result = graph_.lists[record.results.first + k];
      if (result != none) read(result, region);
    }
  }
  constexpr void access(const Access& access) {
    const Id code = access.encode();
    for (Id& known : accesses_) {
      if (known == code) return;
      if (access.variable == Access::outside || Access::decode(known).variable != access.variable) {
        continue;
      }
      if (access.writes) known = code;  // a write includes reads
      return;
    }
    accesses_.push(code);
  }
  /// A value that a region uses: one of its own, or an outer one.
  constexpr void read(Id value, Id region) {
    const Node& from = graph_.node_of(value);
    if (from.region == region || graph_.is_token(value) || captured_[value] != 0) return;
    if (is_made_anywhere(*from.op)) return;
    captured_[value] = 1;
    captures_.push(value);
  }

  Graph& graph_;
  const Pool<Id>& regions_;
  Pool<Id> captured_;  // by value
  Pool<Id> captures_;
  Pool<Id> accesses_;
  Pool<Id> controls_;
};

/// The inputs of a branch or loop before its captures.
constexpr Pool<Id> first_inputs(const Graph& graph, Id owner) {
  const Node& node = graph.nodes[owner];
  const Id captures = graph.regions[graph.lists[node.regions.first]].captures.count;
  Pool<Id> inputs;
  for (Id k = 0; k < node.inputs.count - captures; ++k) inputs.push(graph.input(node, k));
  return inputs;
}
/// See ControlBuilder::renew.
constexpr void renew_captures(Graph& graph, Id owner, Pool<Id> inputs) {
  const Range owned = graph.nodes[owner].regions;
  Pool<Id> regions;
  for (Id k = 0; k < owned.count; ++k) regions.push(graph.lists[owned.first + k]);
  ControlBuilder(graph, regions).renew(owner, std::move(inputs));
}

/// Lets branches and loops capture those of the variables `xs` whose present values they read,
/// since gradients leave a region by its captures.
constexpr void capture_reads(Graph& graph, const Pool<Id>& xs) {
  bool found = false;
  for (const Node& node : graph.nodes) {
    if (node.region == 0 || node.op->effect != SideEffect::reads_state) continue;
    for (const Id x : xs) {
      if (x != graph.input(node, 0)) continue;
      bool& leads = graph.variable_records[graph.variable_index(x)].leads;
      found = found || !leads;
      leads = true;
    }
  }
  for (Id id = 0; found && id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].op->kind == Kind::control)
      renew_captures(graph, id, first_inputs(graph, id));
  }
}

/// The last region of a branch or loop, which lists its results.
constexpr Id last_region(const Graph& graph, const Node& owner) {
  return graph.lists.items[owner.regions.first + owner.regions.count - 1];
}

/// The value of a branch's or loop's result; none if it has none so far.
constexpr Id known_result(const Graph& graph, const Node& owner, int index) {
  const Region& last = graph.regions.items[last_region(graph, owner)];
  if (index == ops::Result::iterations) return last.iterations;
  return index < last.given.count ? graph.lists.items[last.given.first + index] : none;
}

/// Result `index` of a branch or loop, of this type (a number in Graph::types). It is made in the
/// owner's region if it does not exist.
constexpr Id control_result(Graph& graph, Id token, int index, Id type) {
  const Node owner = graph.node_of(token);
  if (const Id known = known_result(graph, owner, index); known != none) return known;
  (void)sizeof(typeflow::detail::BindOp<ops::Result>);
  const std::uint32_t word = static_cast<std::uint32_t>(index);
  const Id current = graph.region;
  graph.region = owner.region;
  const Id value = graph.add_value(record<ops::Result>, &token, 1, type, &word, 1);
  graph.region = current;
  Region& last = graph.regions[last_region(graph, owner)];
  if (index == ops::Result::iterations) {
    last.iterations = value;
    return value;
  }
  if (index >= last.given.count) {
    Pool<Id> longer;
    for (Id k = 0; k < last.given.count; ++k) longer.push(graph.lists[last.given.first + k]);
    // A loop has as many results as its body.
    while (longer.size() <= index || longer.size() < last.results.count) longer.push(none);
    const Range list = graph.append_list(longer);
    last.given = list;
  }
  graph.lists[last.given.first + index] = value;
  return value;
}

}  // namespace ir

}  // namespace typeflow::inline TYPEFLOW_ISA
