// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the static tests say about models. A model that is checked against its own handles stands
// in a function `constexpr bool ...(tf::Graph& g)`: static_asserts on the types of the handles
// inside, on the graph as its result.

#include <string_view>
#include <type_traits>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

/// Whether X is the handle of a tensor of this element type and shape, on any device.
template <class X, class T, tf::Extent... D>
inline constexpr bool is_tensor =
    std::is_same_v<std::remove_cvref_t<X>, tf::Expr<T, tf::Shape<D...>>>;

/// Whether a function of a graph holds, leaves no mistake in it, and its nodes have the types that
/// their operations' rules say (which is what ties the handles' types to the graph's).
template <auto Check>
constexpr bool holds(tf::Mode mode = tf::training) {
  tf::Graph g(mode);
  return Check(g) && g.error.empty() && tf::verify(g).empty();
}

/// The mistake that a model makes.
template <auto Model>
constexpr tf::Message mistake() {
  tf::Graph g;
  Model(g);
  return g.error;
}
constexpr bool contains(const tf::Message& message, std::string_view piece) {
  return message.view().find(piece) != std::string_view::npos;
}

/// How many nodes of an operation a graph has.
template <class O>
constexpr int count(const tf::Graph& g) {
  int found = 0;
  for (const tf::Node& node : g.nodes) found += tf::is<O>(*node.op);
  return found;
}

/// The node that computes x.
template <class X>
constexpr const tf::Node& node_of(const X& x) {
  return x.graph().node_of(x.id());
}

/// Whether the name of x is `path`.
template <class X>
constexpr bool is_named(const X& x, std::string_view path) {
  const tf::Graph& g = x.graph();
  const tf::Id name = g.values[x.id()].name;
  return name != tf::none && g.text_of(g.names[name]).view() == path;
}

/// Whether the list has this variable at this place.
template <class X>
constexpr bool has_at(const tf::VariableList& list, int place, const X& x) {
  return place < list.variables.size() &&
         list.graph->variable_records[list.variables[place]].value == x.id();
}
