// SPDX-License-Identifier: Apache-2.0
#pragma once

// A model's graph after each pass of its compilation, as text.
//
//   after fuse:
//     cluster 0
//       %6 = MatMul(x, w)  float [batch, 300]  mlp.cpp:9
//       %8 = Add(%6, b)  float [batch, 300]  mlp.cpp:9

#include <string>

#include "typeflow/graph/model.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The graph after each pass, by the names of graph/pass.hpp. The regions of branches and loops
/// follow the graph that has them, each with its own passes.
///
/// Error if the model has a mistake.
std::string describe_passes(const ir::Graph& graph);

/// The same for a model: describe_passes<mlp>(), describe_passes<mlp, tf::inference>().
template <auto Model, Mode M = training>
std::string describe_passes() {
  Graph graph(M);
  Model(graph);
  return describe_passes(graph);
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_TESTING
#include "typeflow/lower/describe_passes.ipp"
#endif
