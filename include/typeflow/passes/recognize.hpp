// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces primitives of control flow by branches and loops with regions, the same nodes that cond
// and while_loop make. So no later stage knows dead values or frames.
//
// A Merge of two sides is a result of a Branch by the Switches' predicate; Merges that do not
// depend on one another share one Branch. An Exit is a result of its frame's Loop: the frame's
// Merges are the states, LoopCond's input is the condition, and the values of the back edges are
// the body. Computations of an iteration on values that enter as constants are done in front of the
// loop.
//
// Only names, the model's lists and the records of recognized values change. Everything that
// depends on primitives is made a second time, behind all nodes, and Graph::recognized maps each
// replaced value to the new one. Nothing uses the old nodes, but the model's handles stay valid.

#include <cstdint>
#include <string_view>
#include <utility>

#include "typeflow/front/control_gradient.hpp"
#include "typeflow/graph/clone.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/primitives.hpp"
#include "typeflow/passes/control_structure.hpp"
#include "typeflow/passes/dataflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class Recognizer {
 public:
  constexpr explicit Recognizer(Graph& graph)
      : graph_(graph),
        dataflow_(graph),
        structure_(graph, dataflow_),
        value_count_(graph.values.size()),
        node_count_(graph.nodes.size()),
        copy_(graph.values.size(), none) {}

  constexpr void run() {
    if (!dataflow_.error().empty()) return graph_.fail(dataflow_.error());
    const Node stood = standing();
    Scope whole{ContextTree::of_region(0), none, 0, nullptr, Pool<Id>(value_count_, none)};
    for (Id value = 0; value < graph_.recognized.count; ++value) {
      whole.map[value] = graph_.lists[graph_.recognized.first + value];
    }
    make_region(whole, 0);
    graph_.recognized = graph_.append_list(whole.map);
    stand_at(stood, 0);
    move_names();
  }

 private:
  /// A region that is being filled, and the values that replace those of the graph in it.
  struct Scope {
    Id context;
    Id frame;  ///< of a loop's body: the context of the frame around it; else none
    Id region;
    Scope* outer;
    Pool<Id> map;  ///< by value
  };

  // The sources of values.

  /// The value that replaces this one; none if there is none yet.
  constexpr Id find(Id value, const Scope& scope) const {
    if (is_made_anywhere(*graph_.node_of(value).op)) return value;
    for (const Scope* s = &scope; s != nullptr; s = s->outer) {
      if (s->map[value] != none) return s->map[value];
    }
    const bool as_it_is =
        dataflow_.context_of(value) == ContextTree::of_region(0) && dataflow_.level(value) == 0;
    return as_it_is ? value : none;
  }
  constexpr Id resolve(Id value, const Scope& scope) {
    const Id found = find(structure_.origin(value), scope);
    if (found != none) return found;
    Message message{};
    message << "internal error: a branch or a loop made of primitives misses ";
    print_node(message, graph_.node_of(value));
    graph_.fail(message);
    return value;
  }
  constexpr bool owns(const Scope& scope, Id value) const {
    const Id at = structure_.home(value);
    return at == scope.context || (scope.frame != none && at == scope.frame);
  }

  // The nodes that a scope has to make.

  /// Makes everything in a scope that these values need.
  constexpr void make(Scope& scope, const Pool<Id>& targets) {
    Pool<Id> nodes;
    Pool<char> visited(value_count_, 0);
    Pool<Id> open;
    const auto need = [&](Id value) {
      const Id from = structure_.origin(value);
      if (visited[from] != 0 || find(from, scope) != none) return;
      visited[from] = 1;
      open.push(from);
    };
    for (const Id target : targets) need(target);
    while (!open.empty()) {
      const Id value = open.back();
      open.pop();
      const Id id = graph_.values[value].node;
      const Node node = graph_.nodes[id];
      if (owns(scope, value)) {
        for (Id k = 0; k < node.outputs.count; ++k) visited[node.outputs.first + k] = 1;
        nodes.push(id);
      }
      for (const Id needed : structure_.needs_of(node)) need(needed);
    }
    make_nodes(scope, nodes);
  }
  /// Sorts nodes by their level. Within a level branches and loops come first, then the order in
  /// which they were made.
  constexpr void make_nodes(Scope& scope, const Pool<Id>& nodes) {
    Pool<char> listed(node_count_, 0);
    for (const Id id : nodes) listed[id] = 1;
    Pool<Id> left;
    for (Id id = 0; id < node_count_; ++id) {
      if (listed[id] != 0) left.push(id);
    }
    while (!left.empty()) {
      Id level = structure_.level_of(left[0]);
      for (const Id id : left)
        level = structure_.level_of(id) < level ? structure_.level_of(id) : level;
      Pool<Id> at;
      Pool<Id> above;
      for (const Id id : left) {
        if (structure_.level_of(id) == level) {
          at.push(id);
        } else {
          above.push(id);
        }
      }
      for (const Id id : at) {
        if (is<ops::Merge>(*graph_.nodes[id].op) && !structure_.is_loop_merge(graph_.nodes[id])) {
          make_branch(scope, id, at);
        } else if (is<ops::Exit>(*graph_.nodes[id].op)) {
          make_loop(scope, id, at);
        }
      }
      for (const Id id : at) {
        if (graph_.nodes[id].op->kind != Kind::primitive) copy(scope, id);
      }
      left = std::move(above);
    }
  }
  /// The values of a region outside of all primitives, with everything that they need.
  constexpr void make_region(Scope& scope, Id region) {
    Pool<Id> targets;
    for (Id id = 0; id < node_count_; ++id) {
      const Node& node = graph_.nodes[id];
      const Id value = node.outputs.first;
      if (node.region != region || dataflow_.context_of(value) != scope.context ||
          node.op->kind == Kind::source) {
        continue;
      }
      for (Id k = 0; k < node.outputs.count; ++k) targets.push(value + k);
    }
    make(scope, targets);
  }

  // Making nodes.

  constexpr Node standing() const {
    Node node{};
    node.scope = graph_.scope;
    node.device = graph_.device;
    node.source = graph_.source;
    return node;
  }
  constexpr void stand_at(const Node& node, Id region) {
    graph_.stand_at(node);
    graph_.region = region;
  }
  constexpr void put(Scope& scope, Id value, Id made) {
    scope.map[value] = made;
    if (copy_[value] == none) copy_[value] = made;
  }

  constexpr void copy(Scope& scope, Id id) {
    const Node node = graph_.nodes[id];
    if (scope.map[node.outputs.first] != none) return;
    if (node.op->kind == Kind::control) return copy_owner(scope, node);
    if (node.op->kind == Kind::result) return copy_result(scope, node);
    Pool<Id> inputs;
    for (Id k = 0; k < node.inputs.count; ++k) {
      inputs.push(resolve(graph_.input(node, k), scope));
    }
    Pool<Id> controls;
    for (Id k = 0; k < node.controls.count; ++k) {
      controls.push(resolve(graph_.operands[node.controls.first + k], scope));
    }
    graph_.region = scope.region;
    const Id made = clone_node(graph_, graph_, node, inputs, controls);
    for (Id k = 0; k < node.outputs.count; ++k) {
      const Id value = node.outputs.first + k;
      put(scope, value, graph_.values.push(Value{made, k, graph_.values[value].type, none}));
    }
  }

  constexpr void copy_result(Scope& scope, const Node& node) {
    const Id token = resolve(graph_.input(node, 0), scope);
    const Id value = node.outputs.first;
    stand_at(node, scope.region);
    const Id made = control_result(graph_, token, typeflow::decode<ops::Result>(graph_, node).index,
                                   graph_.values[value].type);
    put(scope, value, made);
  }
  /// A branch or a loop of a functional form.
  constexpr void copy_owner(Scope& scope, const Node& node) {
    Pool<Id> regions;
    Range captures{};
    for (Id k = 0; k < node.regions.count; ++k) {
      const Id from = graph_.lists[node.regions.first + k];
      captures = graph_.regions[from].captures;
      regions.push(copy_region(scope, node, from));
    }
    Pool<Id> inputs;
    for (Id k = 0; k < node.inputs.count - captures.count; ++k) {
      inputs.push(resolve(graph_.input(node, k), scope));
    }
    stand_at(node, scope.region);
    put(scope, node.outputs.first, add_owner(node, regions, inputs));
  }
  constexpr Id add_owner(const Node& node, const Pool<Id>& regions, const Pool<Id>& inputs) {
    ControlBuilder builder(graph_, regions);
    if (is<ops::Loop>(*node.op)) return builder.add(decode<ops::Loop>(graph_, node), inputs);
    if (is<ops::Checkpoint>(*node.op)) return builder.add(ops::Checkpoint{}, inputs);
    return builder.add(ops::Branch{}, inputs);
  }
  constexpr Id copy_region(Scope& scope, const Node& owner, Id from) {
    stand_at(owner, scope.region);
    const Id region = open_region(graph_);
    Scope inner{ContextTree::of_region(from), none, region, &scope, Pool<Id>(value_count_, none)};
    const Region record = graph_.regions[from];
    for (Id k = 0; k < record.captures.count; ++k) {
      const Id captured = graph_.lists[record.captures.first + k];
      const Id present = resolve(captured, scope);
      inner.map[captured] = present;
    }
    Pool<Id> types;
    for (Id k = 0; k < record.parameters.count; ++k) {
      types.push(graph_.values[graph_.lists[record.parameters.first + k]].type);
    }
    add_parameters(graph_, region, types);
    for (Id k = 0; k < types.size(); ++k) {
      put(inner, graph_.lists[record.parameters.first + k], parameter(region, k));
    }
    make_region(inner, from);
    Pool<Id> results;
    for (Id k = 0; k < record.results.count; ++k) {
      const Id result = graph_.lists[record.results.first + k];
      results.push(result == none ? none : resolve(result, inner));
    }
    close_region(graph_, region, results);
    return region;
  }
  constexpr Id parameter(Id region, Id k) const {
    return graph_.lists[graph_.regions[region].parameters.first + k];
  }

  /// Makes the branch of a Merge, and of the other Merges of the same level and predicate.
  constexpr void make_branch(Scope& scope, Id id, const Pool<Id>& candidates) {
    const Node first = graph_.nodes[id];
    if (scope.map[first.outputs.first] != none) return;
    const Id predicate = structure_.predicate_of(first);
    const Id around = dataflow_.context_of(first.outputs.first);
    Pool<Id> merges;
    for (const Id candidate : candidates) {
      const Node& node = graph_.nodes[candidate];
      if (is<ops::Merge>(*node.op) && !structure_.is_loop_merge(node) &&
          structure_.predicate_of(node) == predicate &&
          dataflow_.context_of(node.outputs.first) == around) {
        merges.push(candidate);
      }
    }
    Pool<Id> regions;
    regions.push(make_side(scope, merges, first, true));
    regions.push(make_side(scope, merges, first, false));
    Pool<Id> inputs;
    inputs.push(resolve(predicate, scope));
    stand_at(first, scope.region);
    const Id token = ControlBuilder(graph_, regions).add(ops::Branch{}, inputs);
    for (int i = 0; i < merges.size(); ++i) {
      const Node node = graph_.nodes[merges[i]];
      stand_at(node, scope.region);
      for (Id k = 0; k < 2; ++k) {
        const Id value = node.outputs.first + k;
        put(scope, value, control_result(graph_, token, 2 * i + k, graph_.values[value].type));
      }
    }
  }
  /// Makes the region of a side: the Merges' inputs from there, each followed by its number.
  constexpr Id make_side(Scope& scope, const Pool<Id>& merges, const Node& at, bool side) {
    stand_at(at, scope.region);
    const Id region = open_region(graph_);
    const Id context = dataflow_.contexts().find_side(dataflow_.context_of(at.outputs.first),
                                                      structure_.predicate_of(at), side);
    Scope inner{context, none, region, &scope, Pool<Id>(value_count_, none)};
    Pool<Id> targets;
    Pool<Id> numbers;
    for (const Id id : merges) {
      const Node& node = graph_.nodes[id];
      const Id zero = graph_.input(node, 0);
      const bool takes_first = dataflow_.contexts()[dataflow_.context_of(zero)].side == side;
      targets.push(takes_first ? zero : graph_.input(node, 1));
      numbers.push(takes_first ? 0 : 1);
    }
    make(inner, targets);
    Pool<Id> results;
    for (int i = 0; i < targets.size(); ++i) {
      results.push(resolve(targets[i], inner));
      stand_at(at, region);
      results.push(typeflow::detail::constant_node(graph_, DType::int32, Number{0, numbers[i]}).id);
    }
    close_region(graph_, region, results);
    return region;
  }

  /// Makes the loop of an Exit, and of the other Exits of its frame.
  constexpr void make_loop(Scope& scope, Id id, const Pool<Id>& candidates) {
    const Node first = graph_.nodes[id];
    if (scope.map[first.outputs.first] != none) return;
    const Id number = structure_.frame_number(first);
    const FrameUse use = dataflow_.frame(number);
    const Pool<Id> merges = structure_.states(use.context);
    Pool<Id> next;
    Pool<Id> start;
    for (const Id merge : merges) {
      next.push(dataflow_.next_of(merge));
      const Node& enter = graph_.node_of(graph_.input(graph_.node_of(merge), 0));
      start.push(resolve(graph_.input(enter, 0), scope));
    }
    Pool<Id> asked;
    asked.push(use.condition);
    const Id going_on = dataflow_.contexts().find_side(use.context, use.condition, true);
    Pool<Id> regions;
    regions.push(
        make_iteration(scope, {use.context, none, none, &scope, {}}, merges, asked, first));
    regions.push(
        make_iteration(scope, {going_on, use.context, none, &scope, {}}, merges, next, first));
    const std::int64_t most = use.max_iterations;
    stand_at(first, scope.region);
    const Id token = ControlBuilder(graph_, regions)
                         .add(ops::Loop{{}, most, merges.size(), 0, 0, most > 0 ? 1 : 0, 0}, start);
    for (const Id candidate : candidates) {
      const Node node = graph_.nodes[candidate];
      if (!is<ops::Exit>(*node.op) || structure_.frame_number(node) != number) continue;
      const Id state = graph_.input(graph_.node_of(graph_.input(node, 0)), 0);
      Id k = 0;
      while (merges[k] != state) ++k;
      stand_at(node, scope.region);
      put(scope, node.outputs.first, control_result(graph_, token, k, graph_.values[state].type));
    }
  }
  /// Makes a region whose parameters are the states of an iteration.
  constexpr Id make_iteration(Scope& scope, Scope inner, const Pool<Id>& merges,
                              const Pool<Id>& targets, const Node& at) {
    stand_at(at, scope.region);
    const Id region = open_region(graph_);
    inner.region = region;
    inner.map = Pool<Id>(value_count_, none);
    Pool<Id> types;
    types.push(graph_.intern(Type(DType::int32, Dims{0, {}})));  // the iteration's number
    for (const Id merge : merges) types.push(graph_.values[merge].type);
    add_parameters(graph_, region, types);
    for (int k = 0; k < merges.size(); ++k) put(inner, merges[k], parameter(region, k + 1));
    make(inner, targets);
    Pool<Id> results;
    for (const Id target : targets) results.push(resolve(target, inner));
    close_region(graph_, region, results);
    return region;
  }

  // Names and lists of the model.

  constexpr bool lies_inside(Id value) const {
    return dataflow_.contexts()[dataflow_.context_of(value)].kind != Context::Kind::region;
  }
  /// The value that replaced this one; none, and a mistake, if it may be dead where it is used.
  constexpr Id moved(Id value, std::string_view what) {
    if (value >= value_count_) return value;
    const bool outside = graph_.node_of(value).region == 0 && !lies_inside(value);
    const Id present = outside ? graph_.present(value) : copy_[value];
    if (present != none) return present;
    if (!lies_inside(value)) return value;
    Message message{};
    print_node(message, graph_.node_of(value));
    graph_.fail(message << ": " << what
                        << " of it, which may be dead or lie in a frame; expected a Merge or an "
                           "Exit between them");
    return value;
  }
  constexpr void move_names() {
    for (Id id = 0; id < graph_.names.size(); ++id) {
      if (graph_.names[id].kind == NameKind::key || graph_.names[id].value == none) continue;
      const Id present = moved(graph_.names[id].value, "a name");
      graph_.names[id].value = present;
      if (!graph_.is_token(present)) graph_.values[present].name = id;
    }
    for (Id& token : graph_.update_tokens) token = moved(token, "an update");
    for (LossRecord& loss : graph_.losses) loss.value = moved(loss.value, "a loss");
  }

  Graph& graph_;
  const Dataflow dataflow_;
  const ControlStructure structure_;
  const int value_count_;  // as they were
  const int node_count_;
  Pool<Id> copy_;  // by value: the first that was made for it
};

constexpr void recognize(Graph& graph) {
  if (graph.region != 0) {
    Message message{};
    return graph.fail(message << "gradients inside of a branch or a body, of a model with "
                                 "primitives of control flow; expected them outside of it");
  }
  graph.control_gradient = &detail::control_gradient;
  Recognizer(graph).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
