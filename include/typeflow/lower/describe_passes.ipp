// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "typeflow/graph/describer.hpp"
#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/describe_passes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class PassDescriber : public PassObserver {
 public:
  PassDescriber() : PassObserver{&see} {}
  std::string text;

 private:
  static void see(PassObserver& self, Pass pass, const Graph& graph, const Pool<Id>* order,
                  const Fused* fused) {
    static_cast<PassDescriber&>(self).add(pass, graph, order, fused);
  }
  void add(Pass pass, const Graph& graph, const Pool<Id>* order, const Fused* fused) {
    const Describer describer(graph);
    std::string now;
    if (fused != nullptr) {
      now = clusters(describer, *fused);
    } else {
      const Id count = order != nullptr ? order->size() : graph.nodes.size();
      for (Id i = 0; i < count; ++i) {
        const Id id = order != nullptr ? (*order)[i] : i;
        now += indent(graph, graph.nodes[id].region) + describer.line(id);
      }
    }
    text += "after ";
    text += name_of(pass);
    text += now == last_ ? ": as before\n" : ":\n" + now;
    last_ = std::move(now);
  }
  /// Two columns for each region in which a node lies.
  static std::string indent(const Graph& graph, Id region) {
    std::string out;
    for (; region != none; region = graph.regions[region].parent) out += "  ";
    return out;
  }
  static std::string clusters(const Describer& describer, const Fused& fused) {
    std::string out;
    for (Id c = 0; c < fused.clusters.size(); ++c) {
      if (fused.clusters[c].merged) continue;
      out += "  cluster " + std::to_string(c) + '\n';
      for (Id id = fused.clusters[c].first; id != none; id = fused.next[id]) {
        out += "    " + describer.line(id);
      }
    }
    for (const RecomputeCost& cost : fused.recompute_costs) {
      out += (cost.pays ? "  computed again " : "  stored ") + describer.name(cost.value) + ": " +
             std::to_string(cost.flops) + " flops or " + std::to_string(cost.bytes) +
             " bytes of an element, " + std::to_string(cost.readers) +
             (cost.readers == 1 ? " reader\n" : " readers\n");
    }
    for (const StridedView& strided_view : fused.strided_views) {
      const bool gathers = strided_view.offsets != none;
      out += (gathers ? "  gathered rows " : "  strided view ") +
             describer.name(strided_view.value) + " of " + describer.name(strided_view.base);
      if (gathers) out += " at " + describer.name(strided_view.offsets);
      out += '\n';
    }
    for (const Part& part : fused.parts) {
      out += "  part " + describer.name(part.value) + " of " + describer.name(part.whole) + '\n';
    }
    return out;
  }

  std::string last_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION std::string describe_passes(const ir::Graph& graph) {
  ir::PassDescriber describer;
  ir::Graph copy = graph;
  copy.observer = &describer;
  const ir::ProgramPools program = ir::compile(std::move(copy));
  if (!program.error.empty()) throw Error(std::string(program.error.view()));
  return std::move(describer.text);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
