// SPDX-License-Identifier: Apache-2.0
#pragma once

// The primitives of control flow in a dataflow graph: Switch, Merge, Enter, Exit, NextIteration
// and LoopCond, as in section 4.4 of TensorFlow's white paper (arXiv 1603.04467); Exit is called
// Leave there.
//
//   namespace p = tf::primitives;
//   auto [on_false, on_true] = p::switch_(x, positive);
//   auto y = p::merge(-on_false, sqrt(on_true));
//
//   auto frame = p::frame(g);                          // while (i < 10) i = i * n;
//   auto i = p::merge(p::enter(i0, frame));            // the back edge comes below
//   auto go = p::loop_cond(less(i, 10));
//   auto state = p::switch_(i, go);
//   p::connect(i, p::next_iteration(state.on_true * p::enter_constant(n, frame)));
//   auto last = p::exit(state.on_false);
//
// A value may be dead. Of a Switch's two results one is: that of the side which the predicate does
// not take. Everything computed from it is dead, too, up to a Merge. A frame is all iterations of a
// loop; its values exist once in each iteration.
//
// Well-formed primitives become branches and loops with regions (passes/recognize.hpp), as soon as
// gradients are asked for, or when the model is compiled. interpret/dataflow.hpp runs them with
// dead values and tags.

#include <source_location>
#include <type_traits>

#include "typeflow/ops/control/loop.hpp"
#include "typeflow/ops/control/primitive_nodes.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ir {
/// Replaces a graph's primitives by branches and loops (passes/recognize.hpp).
constexpr void recognize(Graph& graph);
}  // namespace ir

namespace detail {

/// A primitive's node with one result of this type (a number in Graph::types).
template <class O>
constexpr Id primitive_node(ir::Graph& graph, const O& op, const Pool<Id>& inputs, int results,
                            Id type) {
  (void)sizeof(BindOp<O>);
  graph.recognize = &ir::recognize;
  graph.primitives = true;
  const auto words = encode(op);
  const Id node = graph.add_node(record<O>, inputs.data(), inputs.size(), results, words.data(),
                                 static_cast<int>(words.size()));
  const Id first = graph.values.size();
  for (int k = 0; k < results; ++k) graph.values.push(ir::Value{node, k, type, none});
  return first;
}
template <class O>
constexpr Id primitive_of(ir::Graph& graph, const O& op, Id input, int results = 1) {
  Pool<Id> inputs;
  inputs.push(input);
  return primitive_node(graph, op, inputs, results, graph.values[input].type);
}

/// A Merge of two values; returns its first result.
constexpr Id merge_node(ir::Graph& graph, Id a, Id b, const ir::SourceLine& at) {
  graph.source = at;
  Pool<Id> inputs;
  inputs.push(a);
  inputs.push(b);
  const Id index = graph.intern(Type(DType::int32, Dims{0, {}}));
  const Id first = primitive_node(graph, ops::Merge{{}, none}, inputs, 2, graph.values[a].type);
  graph.values[first + 1].type = index;
  return first;
}

template <class A, class B>
inline constexpr bool same_tensors = std::is_same_v<typename A::element, typename B::element> &&
                                     std::is_same_v<typename A::shape, typename B::shape>;

}  // namespace detail

namespace primitives {

/// A loop's frame. Values enter it by enter(x, frame).
struct Frame {
  Graph* graph = nullptr;
  Id number = none;
  std::int64_t max_iterations = 0;  ///< 0: unlimited
};

/// The results of switch_.
template <class X>
struct Switched {
  X on_false;
  X on_true;
};

/// The results of merge_with_index: the value, and the number of its input, an int32 scalar.
template <class X>
struct Merged {
  X value;
  Expr<std::int32_t> index;
};

/// A new frame. Options are those of while_loop: max_iterations, at which a run fails.
constexpr Frame frame(Graph& g, const WhileOptions& options = {}) {
  ir::Graph& graph = g;
  const std::int64_t most = options.max_iterations;
  return {&g, graph.frames++, most > 0 ? most : 0};
}

/// Switch: x as on_true or on_false, depending on the predicate, a boolean scalar. The other one is
/// dead. (S) x () -> (S), (S)
template <TypedExpr X, TypedExpr P>
constexpr auto switch_(const X& x, const P& predicate,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::is_condition<P>,
                "switch_(x, predicate): the predicate must be a boolean scalar");
  using E = detail::plain_t<X>;
  ir::Graph& graph = x.graph();
  graph.source = source_line(at);
  Pool<Id> inputs;
  inputs.push(x.id());
  inputs.push(predicate.id());
  const Id first =
      detail::primitive_node(graph, ops::Switch{}, inputs, 2, graph.values[x.id()].type);
  return Switched<E>{E(x.graph(), first), E(x.graph(), first + 1)};
}

/// Merge: the one of two values that is not dead, and its number. They come from the two sides of a
/// Switch, or are computed from these. (S) x (S) -> (S), ()
template <TypedExpr A, TypedExpr B>
constexpr auto merge_with_index(const A& a, const B& b,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::same_tensors<A, B>,
                "merge_with_index(a, b): a and b must have equal element types and shapes");
  using E = detail::plain_t<A>;
  const Id merged = detail::merge_node(a.graph(), a.id(), b.id(), source_line(at));
  return Merged<E>{E(a.graph(), merged), Expr<std::int32_t>(a.graph(), merged + 1)};
}
/// Merge: the one of two values that is not dead. (S) x (S) -> (S)
template <TypedExpr A, TypedExpr B>
constexpr auto merge(const A& a, const B& b,
                     std::source_location at = std::source_location::current()) {
  static_assert(detail::same_tensors<A, B>,
                "merge(a, b): a and b must have equal element types and shapes");
  return detail::plain_t<A>(a.graph(),
                            detail::merge_node(a.graph(), a.id(), b.id(), source_line(at)));
}
/// Merge for a loop's state: the value that enters the frame in the first iteration, then the value
/// that `connect` names. (S) -> (S)
template <TypedExpr X>
constexpr auto merge(const X& entered, std::source_location at = std::source_location::current()) {
  ir::Graph& graph = entered.graph();
  graph.source = source_line(at);
  return detail::plain_t<X>(entered.graph(),
                            detail::primitive_of(graph, ops::Merge{{}, none}, entered.id()));
}

/// Enter: a state's initial value, in the frame's first iteration; an argument for merge. (S) ->
/// (S)
template <TypedExpr X>
constexpr auto enter(const X& x, const Frame& frame,
                     std::source_location at = std::source_location::current()) {
  ir::Graph& graph = x.graph();
  graph.source = source_line(at);
  return detail::plain_t<X>(
      x.graph(),
      detail::primitive_of(graph, ops::Enter{{}, frame.number, 0, frame.max_iterations}, x.id()));
}
/// Enter of a loop invariant: an outer value, in all iterations of the frame. (S) -> (S)
template <TypedExpr X>
constexpr auto enter_constant(const X& x, const Frame& frame,
                              std::source_location at = std::source_location::current()) {
  ir::Graph& graph = x.graph();
  graph.source = source_line(at);
  return detail::plain_t<X>(
      x.graph(),
      detail::primitive_of(graph, ops::Enter{{}, frame.number, 1, frame.max_iterations}, x.id()));
}

/// LoopCond: there is another iteration if the predicate, a boolean scalar of the frame, is true.
/// () -> ()
template <TypedExpr P>
constexpr auto loop_cond(const P& predicate,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::is_condition<P>,
                "loop_cond(predicate): the predicate must be a boolean scalar");
  ir::Graph& graph = predicate.graph();
  graph.source = source_line(at);
  return detail::plain_t<P>(predicate.graph(),
                            detail::primitive_of(graph, ops::LoopCond{}, predicate.id()));
}

/// Exit: the state of the last iteration, outside of the frame. x is the false output of a Switch
/// of the state by the frame's LoopCond. (S) -> (S)
template <TypedExpr X>
constexpr auto exit(const X& x, std::source_location at = std::source_location::current()) {
  ir::Graph& graph = x.graph();
  graph.source = source_line(at);
  return detail::plain_t<X>(x.graph(), detail::primitive_of(graph, ops::Exit{}, x.id()));
}

/// NextIteration: x in the next iteration of its frame; an argument for connect. (S) -> (S)
template <TypedExpr X>
constexpr auto next_iteration(const X& x,
                              std::source_location at = std::source_location::current()) {
  ir::Graph& graph = x.graph();
  graph.source = source_line(at);
  return detail::plain_t<X>(x.graph(), detail::primitive_of(graph, ops::NextIteration{}, x.id()));
}

/// The back edge of a loop: the value of `state`, a merge(enter(x, frame)), in the next iteration.
template <TypedExpr M, TypedExpr N>
constexpr void connect(const M& state, const N& next,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_tensors<M, N>,
                "connect(state, next): both must have equal element types and shapes");
  ir::Graph& graph = state.graph();
  const auto fail = [&](const char* sentence) {
    Message message{};
    graph.fail(message << "connect(state, next) at " << file_name(at.file_name()) << ':'
                       << static_cast<int>(at.line()) << ": " << sentence);
  };
  const ir::Node& merge = graph.node_of(state.id());
  if (!is<ops::Merge>(*merge.op) || merge.inputs.count != 1) {
    return fail("state must be what merge(enter(x, frame)) gives");
  }
  if (!is<ops::NextIteration>(graph.op_of(next.id()))) {
    return fail("next must be what next_iteration(x) gives");
  }
  ops::Merge loop = decode<ops::Merge>(graph, merge);
  if (loop.next != none) return fail("the state has a back edge");
  loop.next = next.id();
  ir::set_attributes(graph, merge, loop);
}

}  // namespace primitives

}  // namespace typeflow::inline TYPEFLOW_ISA
