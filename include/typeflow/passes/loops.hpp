// SPDX-License-Identifier: Apache-2.0
#pragma once

// The passes that rewrite loops, in their order. They run when a model is compiled. They run
// earlier, too, when gradients are asked for, so that the gradient of a loop is that of the loop as
// it will run.

#include "typeflow/passes/hoist.hpp"
#include "typeflow/passes/loop_operands.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

constexpr void rewrite_loops(Graph& graph) {
  const auto skips = [&](Pass pass) { return graph.skipped.has(pass); };
  if (!skips(Pass::hoist)) {
    hoist(graph);
    graph.observe(Pass::hoist);
  }
  if (!skips(Pass::multiply_outside)) {
    multiply_outside(graph);
    graph.observe(Pass::multiply_outside);
  }
  if (!skips(Pass::transpose_outside)) {
    transpose_outside(graph);
    graph.observe(Pass::transpose_outside);
  }
  // What the two have moved out of a loop may move out of the loop around it.
  if (!skips(Pass::hoist)) {
    hoist(graph);
    graph.observe(Pass::hoist);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
