// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "typeflow/graph/describe.hpp"
#include "typeflow/graph/describer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION std::string describe(const ir::Graph& graph) {
  return ir::Describer(graph).lines();
}
TYPEFLOW_DEFINITION std::string dot(const ir::Graph& graph) { return ir::Describer(graph).dot(); }
TYPEFLOW_DEFINITION std::ostream& operator<<(std::ostream& out, const Graph& graph) {
  return out << describe(graph);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
