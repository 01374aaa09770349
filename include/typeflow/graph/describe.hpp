// SPDX-License-Identifier: Apache-2.0
#pragma once

// Graphs as text: one line for each node, or Graphviz for pictures.
//
//   x = Placeholder  float [batch, 784]  mlp.cpp:7
//   %6 = fc1/MatMul(x, fc1/W)  float [batch, 300]  /gpu:0  mlp.cpp:9
//
// Named tensors and effects appear by their full names, others by the number of their value.

#include <iosfwd>
#include <string>

#include "typeflow/graph/model.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The graph, one line for each node: names of results, operation and inputs, element type and
/// shape, the device if pinned, and the place in the user's program.
std::string describe(const ir::Graph& graph);

/// The same for a model: describe<mlp>(), describe<mlp, tf::inference>().
template <auto Model, Mode M = training>
std::string describe() {
  Graph graph(M);
  Model(graph);
  return describe(graph);
}

/// The graph as Graphviz text, scopes as boxes: dot -Tsvg makes a picture of it.
std::string dot(const ir::Graph& graph);

/// Prints the result of `describe`.
std::ostream& operator<<(std::ostream& out, const Graph& graph);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/graph/describe.ipp"
#endif
