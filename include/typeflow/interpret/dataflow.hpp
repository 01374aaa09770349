// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interpreter for traced graphs with primitives of control flow. It knows no branches and
// loops, but dead values, and tags that say to which iteration a value belongs (section 4.4 of
// TensorFlow's white paper, arXiv 1603.04467; Yu et al., EuroSys 2018).
//
//   tf::Graph g;
//   model(g);
//   tf::DataflowInterpreter interpreter(g);
//   tf::HostTensor y = interpreter.run({"y"}, {{"x", x}})[0];
//
// A tag is a path of (frame, iteration) pairs. A node runs once for each tag with which all its
// inputs arrive. With a dead input it does not run, and its results are dead. A Merge passes on the
// one input that is alive. Constants, and values computed from them alone, exist with every tag. As
// a state's initial value they are dead if the other inputs of the frame are.

#include "typeflow/interpret/interpret.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Runs one graph that may have primitives of control flow, any number of times. The graph must
/// outlive it and not change. Errors besides those of Interpreter: a graph that does not compile,
/// with the same sentence; a dead fetch; a loop that goes on after its frame's max_iterations.
class DataflowInterpreter : public Interpreter {
 public:
  explicit DataflowInterpreter(const ir::Graph& graph);
  explicit DataflowInterpreter(ir::Graph&&) = delete;

 protected:
  void run_nodes(const ir::Graph& graph, const Pool<Id>& nodes) override {
    bool primitive = false;
    for (const Id id : nodes) primitive = primitive || graph.nodes[id].op->kind == Kind::primitive;
    if (primitive) {
      run_primitives(graph, nodes);
    } else {
      Interpreter::run_nodes(graph, nodes);
    }
  }

 private:
  class Run;

  void run_primitives(const ir::Graph& graph, const Pool<Id>& nodes);
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_TESTING
#include "typeflow/interpret/dataflow.ipp"
#endif
