// SPDX-License-Identifier: Apache-2.0
#pragma once

// Control dependencies on tensors: completed. (Those on effects are after and run_after.)
//
//   auto late = after(completed(a, b), x);    // x; what reads it begins when a and b are there

#include <source_location>

#include "typeflow/ops/state/assign.hpp"
#include "typeflow/ops/state/check.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// An effect that has happened when these tensors have been computed, 8 at most. So any operation
/// can follow any other one: an effect by run_after(completed(a), effect) of resources.hpp, an
/// operation on x by taking after(completed(a), x) instead. Runs that execute what follows compute
/// the tensors, too.
template <TypedExpr X, TypedExpr... Y>
constexpr Effect completed(const X& x, const Y&... y) {
  static_assert(sizeof...(Y) < 8, "completed(x...): it takes 8 tensors at most");
  if constexpr (sizeof...(Y) < 8) {
    // A check that holds. Its kernel looks at nothing else, but it waits for what it could show.
    ir::Graph& graph = x.graph();
    ops::Check op{};
    for (std::size_t i = 0; i <= sizeof...(Y); ++i) {
      op.text[op.length++] = '{';
      op.text[op.length++] = '}';
    }
    const Id holds = detail::literal_node(graph, DType::boolean, true).id;
    const Id ids[] = {holds, x.id(), y.id()...};
    return detail::effect_node(x.graph(), op, ids, static_cast<int>(sizeof...(Y)) + 2);
  } else {
    return {};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
