// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/interpret/dataflow.hpp"
#include "typeflow/ops/control/primitives.hpp"
#include "typeflow/passes/dataflow.hpp"
#include "typeflow/passes/recognize.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class DataflowInterpreter::Run {
  /// A value with a tag.
  struct Token {
    bool dead = false;
    HostTensor tensor{};
    std::vector<HostTensor> given{};  ///< results, if this is a functional branch's or loop's token
  };
  struct Tag {
    int outer;  ///< the tag around the frame; none outside of all frames
    Id frame;
    std::int64_t iteration;
    std::uint64_t draw;  ///< number of the random draw
    int depth;
  };

 public:
  Run(DataflowInterpreter& of, const ir::Graph& graph, const Pool<Id>& nodes)
      : of_(of), graph_(graph), nodes_(nodes) {
    tags_.push_back({none, none, 0, of.random.draw, 0});
    find_anywhere();
    find_edges();
  }

  void run() {
    start();
    do {
      while (!ready_.empty()) {
        const auto [node, tag] = ready_.front();
        ready_.pop_front();
        fire(node, tag);
      }
    } while (leave_dead());
    for (const auto& [place, token] : tokens_) {
      if (place.second != 0 || token.dead) continue;
      of_.set(place.first, token.tensor);
      if (graph_.node_of(place.first).op->kind == Kind::control) {
        of_.given(place.first) = token.given;
      }
    }
  }

 private:
  using Place = std::pair<Id, int>;  // a value or node, and a tag

  // The graph.

  /// Finds the values that exist with every tag.
  void find_anywhere() {
    anywhere_.assign(static_cast<std::size_t>(graph_.values.size()), false);
    for (const ir::Node& node : graph_.nodes) {
      bool all = node.op->kind == Kind::source
                     ? ir::is_made_anywhere(*node.op)
                     : node.op->effect == SideEffect::pure && node.op->kind != Kind::primitive &&
                           node.op->kind != Kind::control;
      for (Id k = 0; k < node.inputs.count; ++k) all = all && is_anywhere(graph_.input(node, k));
      all = all && node.controls.count == 0;
      for (Id k = 0; k < node.outputs.count; ++k) {
        anywhere_[static_cast<std::size_t>(node.outputs.first + k)] = all;
      }
    }
  }
  bool is_anywhere(Id value) const { return anywhere_[static_cast<std::size_t>(value)]; }

  void find_edges() {
    for (const Id id : nodes_) {
      const ir::Node& node = graph_.nodes[id];
      needs_[id] = 0;
      const auto need = [&](Id value) {
        if (is_anywhere(value)) return;
        users_[value].push_back(id);
        ++needs_[id];
      };
      for (Id k = 0; k < node.inputs.count; ++k) need(graph_.input(node, k));
      for (Id k = 0; k < node.controls.count; ++k) {
        need(graph_.operands[node.controls.first + k]);
      }
      if (has_effect(node)) {  // effects run one after the other
        if (last_effect_ != none) {
          then_[last_effect_] = id;
          ++needs_[id];
        }
        last_effect_ = id;
      }
      if (is<ops::Enter>(*node.op)) {
        const ops::Enter op = decode<ops::Enter>(graph_, node);
        ++enters_[op.frame][needs_[id]];
        max_iterations_[op.frame] = op.max_iterations;
      }
    }
    for (const ir::Node& node : graph_.nodes) {
      if (!is<ops::Merge>(*node.op)) continue;
      const Id next = decode<ops::Merge>(graph_, node).next;
      if (next != none) merge_of_[next].push_back(node.outputs.first);
    }
  }
  bool has_effect(const ir::Node& node) const {
    if (node.op->kind == Kind::control) {
      return graph_.regions[graph_.lists[node.regions.first]].accesses.count != 0;
    }
    return writes_variable(node.op->kind) || node.op->effect == SideEffect::writes ||
           node.op->effect == SideEffect::reads_state;
  }

  // Arrivals.

  void start() {
    std::set<Id> made;
    for (const Id id : nodes_) {
      const ir::Node& node = graph_.nodes[id];
      for (Id k = 0; k < node.outputs.count; ++k) made.insert(node.outputs.first + k);
      if (is_anywhere(node.outputs.first)) {
        of_.compute(graph_, id);
      } else if (needs_[id] == 0 && !is<ops::Enter>(*node.op)) {
        ready_.emplace_back(id, 0);
      }
    }
    for (const auto& [value, nodes] : users_) {
      if (made.count(value) == 0 && of_.is_known(value)) give(value, 0, {false, of_.value(value)});
    }
    for (const auto& [frame, counts] : enters_) {  // frames that only constants enter
      if (counts.size() == 1 && counts.begin()->first == 0) enter_constants(frame, 0, false);
    }
  }
  /// Gives a token to everything that uses the value.
  void give(Id value, int tag, Token token) {
    tokens_[{value, tag}] = std::move(token);
    const auto users = users_.find(value);
    if (users == users_.end()) return;
    for (const Id node : users->second) arrive(node, tag, tokens_[{value, tag}].dead);
  }
  void arrive(Id id, int tag, bool dead) {
    const ir::Node& node = graph_.nodes[id];
    int& arrived = arrived_[{id, tag}];
    ++arrived;
    if (!is<ops::Merge>(*node.op)) {
      if (arrived == needs_[id]) ready_.emplace_back(id, tag);
    } else if (!dead) {
      if (!live_.insert({id, tag}).second) {
        throw Error(name(node), "two of its inputs are not dead");
      }
      ready_.emplace_back(id, tag);
    } else if (arrived == needs_[id] && live_.count({id, tag}) == 0) {
      ready_.emplace_back(id, tag);
    }
  }

  // Tags.

  int tag_of(int outer, Id frame, std::int64_t iteration) {
    const auto [found, is_new] =
        tag_.emplace(std::tuple(outer, frame, iteration), static_cast<int>(tags_.size()));
    const int tag = found->second;
    if (!is_new) return tag;
    const Tag around = tags_[static_cast<std::size_t>(outer)];
    tags_.push_back(
        {outer, frame, iteration, draw_of_iteration(around.draw, iteration), around.depth + 1});
    iterations_[{outer, frame}].push_back(tag);
    if (iteration > 0) {
      for (const auto& [value, token] : constants_[{outer, frame}]) give(value, tag, token);
    }
    return tag;
  }
  const Tag& tag_at(int tag) const { return tags_[static_cast<std::size_t>(tag)]; }

  // Nodes.

  std::string name(const ir::Node& node) const { return of_.name_of(graph_, node); }

  void fire(Id id, int tag) {
    const ir::Node& node = graph_.nodes[id];
    if (is<ops::Merge>(*node.op)) return fire_merge(node, tag);
    bool dead = false;
    for (Id k = 0; k < node.inputs.count; ++k) dead = dead || is_dead(graph_.input(node, k), tag);
    for (Id k = 0; k < node.controls.count; ++k) {
      dead = dead || is_dead(graph_.operands[node.controls.first + k], tag);
    }
    if (is<ops::Enter>(*node.op)) {
      fire_enter(node, tag, dead);
    } else if (is<ops::Exit>(*node.op)) {
      fire_leave(id, tag, dead);
    } else if (is<ops::NextIteration>(*node.op)) {
      if (!dead) fire_next(node, tag);
    } else if (is<ops::Switch>(*node.op)) {
      fire_switch(node, tag, dead);
    } else if (is<ops::LoopCond>(*node.op)) {
      fire_condition(node, tag, dead);
    } else {
      fire_other(id, tag, dead);
    }
  }
  bool is_dead(Id value, int tag) const {
    return !is_anywhere(value) && tokens_.at({value, tag}).dead;
  }
  /// The token of an input.
  Token token_of(Id value, int tag) {
    return is_anywhere(value) ? Token{false, of_.value(value)} : tokens_.at({value, tag});
  }

  void fire_merge(const ir::Node& node, int tag) {
    Token token{true};
    std::int64_t index = 0;
    for (Id k = 0; k < node.inputs.count; ++k) {
      const auto found = tokens_.find({graph_.input(node, k), tag});
      if (found == tokens_.end() || found->second.dead) continue;
      token = found->second;
      index = k;
    }
    give_merged(node, tag, std::move(token), index);
  }
  void give_merged(const ir::Node& node, int tag, Token token, std::int64_t index) {
    const bool dead = token.dead;
    give(node.outputs.first, tag, std::move(token));
    if (node.outputs.count < 2) return;
    Token number{dead, host_tensor(DType::int32, Dims{0, {}})};
    number.tensor[0].integer = index;
    give(node.outputs.first + 1, tag, std::move(number));
  }

  void fire_switch(const ir::Node& node, int tag, bool dead) {
    bool taken = false;
    if (!dead) taken = token_of(graph_.input(node, 1), tag).tensor[0].integer != 0;
    for (Id k = 0; k < 2; ++k) {
      Token token = token_of(graph_.input(node, 0), tag);
      token.dead = dead || taken != (k == 1);
      give(node.outputs.first + k, tag, std::move(token));
    }
  }

  void fire_condition(const ir::Node& node, int tag, bool dead) {
    Token token = token_of(graph_.input(node, 0), tag);
    token.dead = dead;
    const Tag& at = tag_at(tag);
    const std::int64_t most = at.frame == none ? 0 : max_iterations_[at.frame];
    if (!dead && token.tensor[0].integer != 0 && most > 0 && at.iteration >= most) {
      throw Error(name(node), "its condition holds after " + std::to_string(most) +
                                  " iterations, the most that max_iterations allows");
    }
    give(node.outputs.first, tag, std::move(token));
  }

  void fire_enter(const ir::Node& node, int tag, bool dead) {
    const ops::Enter op = decode<ops::Enter>(graph_, node);
    Token token = token_of(graph_.input(node, 0), tag);
    token.dead = dead;
    enter(node, op, tag, token);
    // Constants enter last, and are dead if one of the other inputs is.
    auto& [arrived, some_dead] = entered_[{tag, op.frame}];
    ++arrived;
    some_dead = some_dead || dead;
    int expected = 0;
    for (const auto& [needs, count] : enters_[op.frame]) expected += needs > 0 ? count : 0;
    if (arrived == expected) enter_constants(op.frame, tag, some_dead);
  }
  void enter_constants(Id frame, int tag, bool dead) {
    for (const Id id : nodes_) {
      const ir::Node& node = graph_.nodes[id];
      if (!is<ops::Enter>(*node.op) || needs_[id] != 0) continue;
      const ops::Enter op = decode<ops::Enter>(graph_, node);
      if (op.frame != frame) continue;
      enter(node, op, tag, {dead, of_.value(graph_.input(node, 0))});
    }
  }
  void enter(const ir::Node& node, const ops::Enter& op, int tag, const Token& token) {
    const Id value = node.outputs.first;
    const int first = tag_of(tag, op.frame, 0);
    if (op.constant == 0) return give(value, first, token);
    constants_[{tag, op.frame}].emplace_back(value, token);
    const std::vector<int> iterations = iterations_[{tag, op.frame}];
    for (const int iteration : iterations) give(value, iteration, token);
  }

  void fire_next(const ir::Node& node, int tag) {
    const Tag at = tag_at(tag);
    const Token token = token_of(graph_.input(node, 0), tag);
    const int next = tag_of(at.outer, at.frame, at.iteration + 1);
    for (const Id merge : merge_of_[node.outputs.first]) {
      give_merged(graph_.node_of(merge), next, token, 1);
    }
  }

  void fire_leave(Id id, int tag, bool dead) {
    const ir::Node& node = graph_.nodes[id];
    const Tag& at = tag_at(tag);
    if (dead) {
      leaving_.insert({id, at.outer});
      return;
    }
    if (!left_.insert({id, at.outer}).second) {
      throw Error(name(node), "it is reached in two iterations");
    }
    give(node.outputs.first, at.outer, token_of(graph_.input(node, 0), tag));
  }
  /// Called when no node is ready. Exits that only dead values have reached give dead values, the
  /// innermost frames first. False if there are none.
  bool leave_dead() {
    int deepest = -1;
    for (const Place& place : leaving_) {
      if (left_.count(place) == 0) deepest = std::max(deepest, tag_at(place.second).depth);
    }
    const std::set<Place> leaving = leaving_;
    for (const Place& place : leaving) {
      if (left_.count(place) != 0 || tag_at(place.second).depth != deepest) continue;
      left_.insert(place);
      give(graph_.nodes[place.first].outputs.first, place.second, {true});
    }
    return deepest >= 0;
  }

  /// Runs a node that is not a primitive.
  void fire_other(Id id, int tag, bool dead) {
    const ir::Node& node = graph_.nodes[id];
    if (!dead) compute(id, tag);
    for (Id k = 0; k < node.outputs.count; ++k) {
      const Id value = node.outputs.first + k;
      Token token{dead};
      if (!dead) token.tensor = of_.value(value);
      if (!dead && node.op->kind == Kind::control) token.given = of_.given(value);
      give(value, tag, std::move(token));
    }
    if (const auto found = then_.find(id); found != then_.end()) arrive(found->second, tag, dead);
  }
  void compute(Id id, int tag) {
    const ir::Node& node = graph_.nodes[id];
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id value = graph_.input(node, k);
      if (is_anywhere(value)) continue;
      const Token& token = tokens_.at({value, tag});
      of_.set(value, token.tensor);
      if (node.op->kind == Kind::result) of_.given(value) = token.given;
    }
    for (Id k = 0; k < node.controls.count; ++k) {
      of_.set(graph_.operands[node.controls.first + k], {});
    }
    const RandomState outer = of_.random;
    of_.random.draw = tag_at(tag).draw;
    of_.compute(graph_, id);
    of_.random = outer;
  }

  DataflowInterpreter& of_;
  const ir::Graph& graph_;
  const Pool<Id>& nodes_;
  std::vector<bool> anywhere_;  // by value
  std::map<Id, std::vector<Id>> users_;
  std::map<Id, int> needs_;                    // by node: number of inputs that must arrive
  std::map<Id, std::map<int, int>> enters_;    // by frame: number of Enters by needs_
  std::map<Id, std::int64_t> max_iterations_;  // by frame
  std::map<Id, std::vector<Id>> merge_of_;     // by value of a NextIteration
  std::map<Id, Id> then_;                      // by effect: the next effect
  Id last_effect_ = none;

  std::vector<Tag> tags_;
  std::map<std::tuple<int, Id, std::int64_t>, int> tag_;
  std::map<std::pair<int, Id>, std::vector<int>> iterations_;  // by outer tag and frame
  std::map<std::pair<int, Id>, std::vector<std::pair<Id, Token>>> constants_;
  std::map<std::pair<int, Id>, std::pair<int, bool>> entered_;
  std::map<Place, Token> tokens_;
  std::map<Place, int> arrived_;
  std::set<Place> live_;     // Merges with a live input
  std::set<Place> leaving_;  // Exits with a dead input, and the outer tag
  std::set<Place> left_;     // Exits that have given a token
  std::deque<Place> ready_;
};

TYPEFLOW_DEFINITION DataflowInterpreter::DataflowInterpreter(const ir::Graph& graph)
    : Interpreter(graph) {
  if (!graph.has_primitives()) return;
  const Message wrong = ir::Dataflow(graph).error();
  if (!wrong.empty()) throw Error(std::string(wrong.view()));
}

TYPEFLOW_DEFINITION void DataflowInterpreter::run_primitives(const ir::Graph& graph,
                                                             const Pool<Id>& nodes) {
  Run(*this, graph, nodes).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
