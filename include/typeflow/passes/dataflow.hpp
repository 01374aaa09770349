// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the values of a graph with primitives of control flow live: in which context
// (contexts.hpp). A node is in the innermost context of its inputs, which must lie on one path of
// the tree. Otherwise the model has a mistake, and the message names the edge.
//
// The place of a frame depends on everything that enters it, which may come later than what leaves
// it. So the nodes are visited until nothing changes.

#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/control/primitives.hpp"
#include "typeflow/passes/contexts.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// "Add (model.cpp:12)"
constexpr void print_node(Message& out, const Node& node) {
  out << (node.source.within ? node.source.op->name : node.op->name) << " ("
      << file_name(node.source.file) << ':' << node.source.line << ')';
}

/// Whether a value is the same in all iterations of its frame.
enum class Varies : std::uint8_t {
  yes,
  by_loop,  ///< made from values that enter as constants
  never     ///< made from constants, which need no Enter
};

/// Facts about a frame.
struct FrameUse {
  Id context;    ///< none: nothing enters it
  Id from;       ///< a value that enters it and is no constant
  Id condition;  ///< the value of its LoopCond; none if there is none
  Id level;      ///< the highest level of what enters
  std::int64_t max_iterations;
};

class Dataflow {
 public:
  constexpr explicit Dataflow(const Graph& graph)
      : graph_(graph),
        contexts_(graph.regions.size()),
        context_(graph.values.size(), 0),
        level_(graph.values.size(), 0),
        varies_(graph.values.size(), Varies::yes),
        last_effect_(graph.regions.size(), 0),
        has_primitives_(graph.regions.size(), 0),
        frames_(graph.frames, FrameUse{none, none, none, 0, 0}) {
    for (int times = 0; times < 2 * graph.frames + 2; ++times) {
      changed_ = false;
      go_over();
      if (!changed_) break;
    }
    if (changed_) fail(entered_last_, node_entered_last_, "a frame is entered by what leaves it");
    if (error_.empty()) check_frames();
  }

  /// The first mistake; empty if there is none.
  constexpr const Message& error() const { return error_; }

  constexpr const ContextTree& contexts() const { return contexts_; }
  constexpr Id context_of(Id value) const { return context_[value]; }
  constexpr Varies varies(Id value) const { return varies_[value]; }
  /// The longest chain of branches and loops made of primitives on which a value depends. Values of
  /// one level can be part of one branch.
  constexpr Id level(Id value) const { return level_[value]; }
  constexpr const FrameUse& frame(Id number) const { return frames_[number]; }
  /// The value that a Merge gets over its back edge; none if nothing is connected.
  constexpr Id next_of(Id merge) const { return decode<ops::Merge>(graph_, maker(merge)).next; }

 private:
  constexpr const Node& maker(Id value) const { return graph_.node_of(value); }

  /// Records the mistake of an edge. The sentence may name another value's node between its parts.
  constexpr void fail(Id value, Id node, const char* sentence, Id other = none,
                      const char* rest = "") {
    if (!error_.empty()) return;
    error_ << "the edge from ";
    print_node(error_, maker(value));
    error_ << " to ";
    print_node(error_, graph_.nodes[node]);
    error_ << ": " << sentence;
    if (other == none) return;
    print_node(error_, maker(other));
    error_ << rest;
  }
  /// Records the mistake of a node.
  constexpr void fail(Id node, const char* sentence) {
    if (!error_.empty()) return;
    print_node(error_, graph_.nodes[node]);
    error_ << ": " << sentence;
  }

  // Nodes.

  constexpr void go_over() {
    error_ = Message{};
    for (FrameUse& frame : frames_) frame.from = frame.condition = none;
    for (Id& level : last_effect_) level = 0;
    for (Id id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      const bool is_primitive = node.op->kind == Kind::primitive;
      if (is_primitive) has_primitives_[node.region] = 1;
      if (is<ops::Enter>(*node.op)) {
        place_enter(id);
      } else if (is_primitive) {
        place_primitive(id);
      } else {
        place_other(id);
      }
    }
  }

  /// The facts that a node's inputs share.
  struct Common {
    Id context;
    Varies varies;
    Id level;
    Id from;  // the input that its context is from; none if it has one of its own
  };
  constexpr void set_value(Id value, const Common& common) {
    context_[value] = common.context;
    varies_[value] = common.varies;
    level_[value] = common.level;
  }
  constexpr void set(const Node& node, const Common& common) {
    for (Id k = 0; k < node.outputs.count; ++k) set_value(node.outputs.first + k, common);
  }

  /// A value from outside of the node's region: the region's owner captures it.
  constexpr bool is_outer(const Node& node, Id value) const {
    return maker(value).region != node.region && !is_made_anywhere(*maker(value).op);
  }
  constexpr Common common_of(Id id) {
    const Node& node = graph_.nodes[id];
    Common common{ContextTree::of_region(node.region), Varies::never, 0, none};
    for (Id k = 0; k < node.inputs.count; ++k) join(common, graph_.input(node, k), id);
    for (Id k = 0; k < node.controls.count; ++k) {
      join(common, graph_.operands[node.controls.first + k], id);
    }
    return common;
  }
  constexpr void join(Common& common, Id value, Id id) {
    const Node& node = graph_.nodes[id];
    if (is_outer(node, value)) {
      common.varies = Varies::yes;
      return;
    }
    if (level_[value] > common.level) common.level = level_[value];
    if (varies_[value] < common.varies) common.varies = varies_[value];
    if (varies_[value] == Varies::never) return;
    check_use(value, id);
    const Id place = context_[value];
    if (common.from == none) {
      common.context = place;
      common.from = value;
      return;
    }
    if (contexts_.frame_of(place) != contexts_.frame_of(common.context)) {
      fail_crossing(value, id, common.from);
    } else if (contexts_.is_within(place, common.context)) {
      common.context = place;
      common.from = value;
    } else if (!contexts_.is_within(common.context, place)) {
      fail_dead(value, id, common.from);
    }
  }
  /// Two inputs of a node are in different frames. If one is from outside, it is at fault.
  constexpr void fail_crossing(Id a, Id id, Id b) {
    const bool a_inside = contexts_.is_within(context_[a], contexts_.frame_of(context_[b]));
    const bool b_inside = contexts_.is_within(context_[b], contexts_.frame_of(context_[a]));
    fail(
        a_inside ? b : a, id, "it crosses frames: ", a_inside ? a : b,
        a_inside || b_inside
            ? ", another input, is inside of one; expected enter_constant(x, frame), or an Exit of "
              "the other"
            : ", another input, is in another one; expected an Exit of both");
  }
  constexpr void fail_dead(Id value, Id id, Id other) {
    fail(value, id, "its value may be dead where that of ", other,
         ", another input, is not; expected a Merge before, or both inside of the same Switch");
  }

  /// Values that only some primitives take.
  constexpr void check_use(Id value, Id id) {
    const Node& from = maker(value);
    const Node& to = graph_.nodes[id];
    if (is<ops::NextIteration>(*from.op)) {
      fail(value, id, "expected connect(state, next) of what next_iteration gives, no other use");
    } else if (is<ops::Enter>(*from.op) && decode<ops::Enter>(graph_, from).constant == 0 &&
               !(is<ops::Merge>(*to.op) && to.inputs.count == 1)) {
      fail(value, id,
           "it has a value in the first iteration only; expected merge(enter(x, frame)), or "
           "enter_constant(x, frame)");
    } else if (is<ops::LoopCond>(*from.op) &&
               !(is<ops::Switch>(*to.op) && graph_.input(to, 1) == value)) {
      fail(value, id, "expected a Switch, of which it is the predicate");
    }
  }

  constexpr bool has_effect(const Node& node) const {
    if (node.op->kind == Kind::control) {
      return graph_.regions[graph_.lists[node.regions.first]].accesses.count != 0;
    }
    return writes_variable(node.op->kind) || node.op->effect == SideEffect::writes ||
           node.op->effect == SideEffect::reads_state;
  }
  /// Whether it owns regions with primitives.
  constexpr bool owns_primitives(const Node& node) const {
    for (Id k = 0; k < node.regions.count; ++k) {
      if (has_primitives_[graph_.lists[node.regions.first + k]] != 0) return true;
    }
    return false;
  }

  constexpr void place_other(Id id) {
    const Node& node = graph_.nodes[id];
    if (node.op->kind == Kind::source) {
      const bool anywhere = is_made_anywhere(*node.op);
      set(node,
          {ContextTree::of_region(node.region), anywhere ? Varies::never : Varies::yes, 0, none});
      return;
    }
    if (has_effect(node)) return place_effect(id);
    Common common = common_of(id);
    if (node.op->effect != SideEffect::pure || node.op->kind == Kind::control) {
      common.varies = Varies::yes;
    }
    if (owns_primitives(node)) {
      has_primitives_[node.region] = 1;
      if (common.level == 0) common.level = 1;
    }
    set(node, common);
  }
  /// A region's effects keep their order, so none has a lower level than those before it.
  constexpr void place_effect(Id id) {
    const Node& node = graph_.nodes[id];
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id value = graph_.input(node, k);
      if (is_outer(node, value) || contexts_[context_[value]].kind == Context::Kind::region) {
        continue;
      }
      return fail(
          value, id,
          "an effect between Switch and Merge, or in a frame; expected one outside of them, "
          "or cond and while_loop, whose bodies may have effects");
    }
    Common common = common_of(id);
    common.varies = Varies::yes;
    if (owns_primitives(node)) {
      has_primitives_[node.region] = 1;
      if (common.level == 0) common.level = 1;
    }
    Id& last = last_effect_[node.region];
    if (common.level < last) common.level = last;
    if (graph_.present(node.outputs.first) == node.outputs.first) last = common.level;
    set(node, common);
  }

  // Primitives.

  constexpr void place_primitive(Id id) {
    const Node& node = graph_.nodes[id];
    if (is<ops::Merge>(*node.op) && node.inputs.count == 2) return place_merge(id);
    Common common = common_of(id);
    common.varies = Varies::yes;
    if (is<ops::Switch>(*node.op)) {
      const Id predicate = graph_.input(node, 1);
      for (Id k = 0; k < 2; ++k) {
        const Id side = contexts_.make_side(common.context, predicate, k == 1);
        set_value(node.outputs.first + k, {side, Varies::yes, common.level, none});
      }
      return;
    }
    if (is<ops::Merge>(*node.op)) {
      check_loop_merge(id);
    } else if (is<ops::LoopCond>(*node.op)) {
      place_condition(id, common);
    } else if (is<ops::NextIteration>(*node.op)) {
      check_next(id, common);
    } else {
      place_leave(id, common);
    }
    set(node, common);
  }

  constexpr void place_enter(Id id) {
    const Node& node = graph_.nodes[id];
    const ops::Enter op = decode<ops::Enter>(graph_, node);
    const Id value = graph_.input(node, 0);
    FrameUse& use = frames_[op.frame];
    use.max_iterations = op.max_iterations;
    Common common = common_of(id);
    const bool anywhere = common.from == none && common.varies == Varies::never;
    if (use.context == none) {
      use.context = contexts_.add_frame(common.context, op.frame);
      changed_ = true;
    } else if (!anywhere) {
      enter(use, common.context, value, id);
    }
    if (!anywhere && use.from == none) use.from = value;
    if (common.level > use.level) {
      use.level = common.level;
      changed_ = true;
      entered_last_ = value;
      node_entered_last_ = id;
    }
    set(node, {use.context, op.constant != 0 ? Varies::by_loop : Varies::yes, common.level, none});
  }
  /// A frame lies in the innermost of the contexts from which it is entered.
  constexpr void enter(FrameUse& use, Id from, Id value, Id id) {
    const Id parent = contexts_[use.context].parent;
    if (contexts_.is_within(from, use.context)) {
      return fail(value, id, "a frame is entered from inside of it; expected another frame");
    }
    if (contexts_.region_of(parent) != contexts_.region_of(from)) {
      return fail(value, id,
                  "a frame is entered from inside of a functional form, a cond or a loop; expected "
                  "an Enter before that");
    }
    const bool same_frame = contexts_.frame_of(parent) == contexts_.frame_of(from);
    if (same_frame && contexts_.is_within(parent, from)) return;
    if (use.from == none || (same_frame && contexts_.is_within(from, parent))) {
      contexts_.move(use.context, from);
      changed_ = true;
    } else if (!same_frame) {
      fail(value, id,
           "a frame is entered from two frames; expected an Enter into each frame on the way");
    } else {
      fail_dead(value, id, use.from);
    }
  }

  constexpr void check_loop_merge(Id id) {
    const Id value = graph_.input(graph_.nodes[id], 0);
    const Node& from = maker(value);
    if (!is<ops::Enter>(*from.op) || decode<ops::Enter>(graph_, from).constant != 0) {
      fail(value, id,
           "expected merge(enter(x, frame)), or merge(a, b) of the two sides of a Switch");
    }
  }
  constexpr void place_condition(Id id, const Common& common) {
    const Node& node = graph_.nodes[id];
    const Context& context = contexts_[common.context];
    if (context.kind != Context::Kind::frame) {
      return fail(graph_.input(node, 0), id,
                  "expected a predicate in a frame and outside of its Switches");
    }
    Id& known = frames_[context.key].condition;
    if (known != none) {
      return fail(graph_.input(node, 0), id,
                  "the frame has a LoopCond; expected one for each frame");
    }
    known = node.outputs.first;
  }
  /// Whether a frame's LoopCond leads to this context.
  constexpr bool is_side_of_loop(Id id, bool side) const {
    const Context& context = contexts_[id];
    if (context.kind != Context::Kind::side || context.side != side) return false;
    const Context& frame = contexts_[context.parent];
    return frame.kind == Context::Kind::frame && context.key == frames_[frame.key].condition;
  }
  constexpr void check_next(Id id, const Common& common) {
    if (is_side_of_loop(common.context, true)) return;
    fail(graph_.input(graph_.nodes[id], 0), id,
         "expected a value made of the true output of a Switch by the frame's LoopCond");
  }
  constexpr void place_leave(Id id, Common& common) {
    const Id value = graph_.input(graph_.nodes[id], 0);
    const Node& from = maker(value);
    bool fits = is<ops::Switch>(*from.op) && is_side_of_loop(common.context, false);
    if (fits) {
      const Node& state = maker(graph_.input(from, 0));
      fits = is<ops::Merge>(*state.op) && state.inputs.count == 1;
    }
    if (!fits) {
      return fail(
          value, id,
          "expected the false output of a Switch of a loop's Merge by the frame's LoopCond");
    }
    const Id frame = contexts_[common.context].parent;
    common.context = contexts_[frame].parent;
    common.level = frames_[contexts_[frame].key].level + 1;
  }

  constexpr void place_merge(Id id) {
    const Node& node = graph_.nodes[id];
    Common common{ContextTree::of_region(node.region), Varies::yes, 0, none};
    Id sides[2] = {none, none};
    bool fits = true;
    for (Id k = 0; k < 2; ++k) {
      const Id value = graph_.input(node, k);
      Common one{ContextTree::of_region(node.region), Varies::never, 0, none};
      join(one, value, id);
      if (one.level >= common.level) common.level = one.level + 1;
      sides[k] = one.context;
      if (contexts_[one.context].kind == Context::Kind::side) continue;
      fail(value, id, "it is never dead; expected what a Switch gives, or is made of that");
      fits = false;
    }
    if (fits) {
      const Context& a = contexts_[sides[0]];
      const Context& b = contexts_[sides[1]];
      common.context = a.parent;
      if (a.key != b.key || a.parent != b.parent) {
        fail(graph_.input(node, 1), id, "its other input, ", graph_.input(node, 0),
             ", depends on another predicate; expected the two sides of Switches by one predicate, "
             "what is inside of them merged");
      } else if (a.side == b.side) {
        fail(graph_.input(node, 1), id,
             "both inputs are dead together; expected them from the two sides of a Switch");
      }
    }
    set(node, common);
  }

  /// Checks that need all nodes.
  constexpr void check_frames() {
    Pool<char> connected(graph_.values.size(), 0);
    for (Id id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      if (!is<ops::Merge>(*node.op)) continue;
      const Id next = next_of(node.outputs.first);
      if (next == none) continue;
      connected[next] = 1;
      if (contexts_.frame_of(context_[next]) != context_[node.outputs.first]) {
        return fail(
            next, id,
            "a back edge between two frames; expected a NextIteration of the Merge's frame");
      }
    }
    for (Id id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      const Id value = node.outputs.first;
      if (is<ops::NextIteration>(*node.op) && connected[value] == 0) {
        return fail(id, "a NextIteration without a Merge; expected connect(state, next)");
      }
      if (is<ops::Enter>(*node.op)) check_first_value(id);
      if (!is<ops::Merge>(*node.op) || node.inputs.count != 1) continue;
      if (next_of(value) == none) {
        return fail(id, "a loop's Merge without a back edge; expected connect(state, next)");
      }
      if (frames_[contexts_[context_[value]].key].condition == none) {
        return fail(id, "its frame has no LoopCond; expected loop_cond(predicate)");
      }
    }
  }

  /// A state's initial value must be alive exactly where the loop runs.
  constexpr void check_first_value(Id id) {
    const Node& node = graph_.nodes[id];
    const ops::Enter op = decode<ops::Enter>(graph_, node);
    const Id value = graph_.input(node, 0);
    if (op.constant != 0 || varies_[value] == Varies::never) return;
    const Id from = is_outer(node, value) ? ContextTree::of_region(node.region) : context_[value];
    if (from == contexts_[frames_[op.frame].context].parent) return;
    fail(value, id,
         "what else enters the frame is inside of a Switch; expected what a Switch by that "
         "predicate gives");
  }

  const Graph& graph_;
  Message error_{};
  bool changed_ = false;
  Id entered_last_ = none;
  Id node_entered_last_ = none;
  ContextTree contexts_;
  Pool<Id> context_;           // by value
  Pool<Id> level_;             // by value
  Pool<Varies> varies_;        // by value
  Pool<Id> last_effect_;       // by region: the level of its last effect so far
  Pool<char> has_primitives_;  // by region
  Pool<FrameUse> frames_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
