// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the static tests say about models. A model that is checked against its own handles stands
// in a function `constexpr bool ...(tf::Graph& g)`: static_asserts on the types of the handles
// inside, on the graph as its result.

#include <string_view>
#include <type_traits>
#include <utility>

#include "../support/graph_operations.hpp"

namespace tf = typeflow;
using tf::ir::records;

/// Whether X is the handle of a tensor of this element type and shape, on any device.
template <class X, class T, tf::Extent... D>
inline constexpr bool is_tensor =
    std::is_same_v<std::remove_cvref_t<X>, tf::Expr<T, tf::Shape<D...>>>;

/// The same of a value: nvcc can't write down decltype(max_pool<2>(x)), hence a function of the
/// value.
template <class T, tf::Extent... D, class X>
constexpr bool has_shape(const X&) {
  return is_tensor<X, T, D...>;
}

/// Whether a function of a graph holds, leaves no mistake in it, and its nodes have the types that
/// their operations' rules say (which is what ties the handles' types to the graph's).
template <auto Check>
constexpr bool holds(tf::Mode mode = tf::training) {
  tf::Graph g(mode);
  return Check(g) && records(g).error.empty() && tf::ir::verify(g).empty();
}

/// The mistake that a model makes.
template <auto Model>
constexpr tf::Message mistake() {
  tf::Graph g;
  Model(g);
  return records(g).error;
}
constexpr bool contains(const tf::Message& message, std::string_view piece) {
  const std::string_view text = message.view();
  for (std::size_t i = 0; i + piece.size() <= text.size(); ++i) {
    if (text.substr(i, piece.size()) == piece) return true;
  }
  return false;
}

/// How many nodes of an operation a graph has.
template <class O>
constexpr int count(const tf::ir::Graph& g) {
  int found = 0;
  for (const tf::ir::Node& node : g.nodes) found += tf::is<O>(*node.op);
  return found;
}

/// A simplified graph, and which of its nodes a run needs that asks for the roots (a rewrite may
/// leave others behind; fusion skips them).
struct Run {
  tf::ir::Simplified simplified;
  tf::Pool<char> needed;
};
constexpr Run run_of(const tf::ir::Graph& g, const tf::Pool<tf::Id>& roots) {
  tf::ir::Simplified s = tf::ir::simplify(tf::ir::Graph(g), roots);
  const tf::ir::Graph& graph = s.graph;
  tf::Pool<char> needed(graph.nodes.size(), 0);
  for (const tf::Id root : roots) needed[graph.values[s.map[root]].node] = 1;
  for (int i = s.order.size() - 1; i >= 0; --i) {
    const tf::ir::Node& node = graph.nodes[s.order[i]];
    if (needed[s.order[i]] == 0) continue;
    for (tf::Id k = 0; k < node.inputs.count; ++k) {
      needed[graph.values[graph.input(node, k)].node] = 1;
    }
    for (tf::Id k = 0; k < node.controls.count; ++k) {
      needed[graph.values[graph.operands[node.controls.first + k]].node] = 1;
    }
  }
  return {std::move(s), std::move(needed)};
}
/// The same for tensors.
template <class... X>
constexpr Run simplified(const tf::ir::Graph& g, const X&... x) {
  tf::Pool<tf::Id> roots;
  (roots.push(x.id()), ...);
  return run_of(g, roots);
}
/// How many nodes of an operation a run needs.
template <class O>
constexpr int count(const Run& run) {
  int found = 0;
  for (const tf::Id id : run.simplified.order) {
    found += run.needed[id] != 0 && tf::is<O>(*run.simplified.graph.nodes[id].op);
  }
  return found;
}
/// Whether the graph is sound, and this many nodes are needed, sources included.
constexpr bool has_nodes(const Run& run, int nodes) {
  int needed = 0;
  for (const char n : run.needed) needed += n;
  return tf::ir::verify(run.simplified).empty() && needed == nodes;
}

/// The node that computes x.
template <class X>
constexpr const tf::ir::Node& node_of(const X& x) {
  return records(x.graph()).node_of(x.id());
}

/// Whether the name of x is `path`.
template <class X>
constexpr bool is_named(const X& x, std::string_view path) {
  const tf::ir::Graph& g = x.graph();
  const tf::Id name = g.values[x.id()].name;
  return name != tf::none && g.text_of(g.names[name]).view() == path;
}

/// Whether the list has this variable at this place.
template <class X>
constexpr bool has_at(const tf::VariableList& list, int place, const X& x) {
  return place < list.variables.size() &&
         records(*list.graph).variable_records[list.variables[place]].value == x.id();
}
