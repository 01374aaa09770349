// SPDX-License-Identifier: Apache-2.0
#pragma once

// What primitives of control flow say of the branches and loops to which they belong: the predicate
// of a Merge, the frame of an Exit, the states of a loop. recognize.hpp makes branches and loops of
// it.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/primitives.hpp"
#include "typeflow/passes/contexts.hpp"
#include "typeflow/passes/dataflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Answers questions about the nodes that the graph has when this object is made.
class ControlStructure {
 public:
  constexpr ControlStructure(const Graph& graph, const Dataflow& dataflow)
      : graph_(graph), dataflow_(dataflow), node_count_(graph.nodes.size()) {}

  /// Skips primitives that only lead a value to another place.
  constexpr Id origin(Id value) const {
    for (;;) {
      const Node& node = graph_.node_of(value);
      const bool leads =
          is<ops::Switch>(*node.op) || is<ops::LoopCond>(*node.op) ||
          is<ops::NextIteration>(*node.op) ||
          (is<ops::Enter>(*node.op) && decode<ops::Enter>(graph_, node).constant != 0);
      if (!leads) return value;
      value = graph_.input(node, 0);
    }
  }
  constexpr static bool is_loop_merge(const Node& node) {
    return is<ops::Merge>(*node.op) && node.inputs.count == 1;
  }
  /// The context in which a value is made. Values that are the same in all iterations are made
  /// outside of the loop.
  constexpr Id home(Id value) const {
    const Id context = dataflow_.context_of(value);
    return dataflow_.varies(value) == Varies::by_loop ? dataflow_.contexts()[context].parent
                                                      : context;
  }
  /// The values from which a node is made.
  constexpr Pool<Id> needs_of(const Node& node) const {
    if (is<ops::Exit>(*node.op)) {
      const FrameUse& frame = dataflow_.frame(frame_number(node));
      Pool<Id> needs = states(frame.context);
      needs.push(frame.condition);
      return needs;
    }
    Pool<Id> needs;
    for (Id k = 0; k < node.inputs.count; ++k) needs.push(graph_.input(node, k));
    for (Id k = 0; k < node.controls.count; ++k) {
      needs.push(graph_.operands[node.controls.first + k]);
    }
    if (is_loop_merge(node)) {
      needs.push(dataflow_.next_of(node.outputs.first));
    } else if (is<ops::Merge>(*node.op)) {
      needs.push(predicate_of(node));
    }
    return needs;
  }
  constexpr Id frame_number(const Node& leave) const {
    const Id side = dataflow_.context_of(graph_.input(leave, 0));
    return dataflow_.contexts()[dataflow_.contexts()[side].parent].key;
  }
  /// The Merges of a frame, its loop's states.
  constexpr Pool<Id> states(Id frame) const {
    Pool<Id> merges;
    for (Id id = 0; id < node_count_; ++id) {
      const Node& node = graph_.nodes[id];
      if (is_loop_merge(node) && dataflow_.context_of(node.outputs.first) == frame) {
        merges.push(node.outputs.first);
      }
    }
    return merges;
  }
  constexpr Id predicate_of(const Node& merge) const {
    return dataflow_.contexts()[dataflow_.context_of(graph_.input(merge, 0))].key;
  }
  constexpr Id level_of(Id node) const { return dataflow_.level(graph_.nodes[node].outputs.first); }

 private:
  const Graph& graph_;
  const Dataflow& dataflow_;
  const int node_count_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
