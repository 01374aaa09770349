// SPDX-License-Identifier: Apache-2.0
#pragma once

// A session's graph and the times of its runs, for TensorBoard's page Graphs.
//
//   writer.graph(session);
//   ...
//   tf::Trace trace;
//   session.trace(&trace);
//   session.run<"train">(...);
//   session.trace<tf::Trace>(nullptr);
//   writer.run_metadata(session, trace, "step 100", 100);

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/extent.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/timeline.hpp"
#include "typeflow/graph/model.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/records/event_writer.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

template <auto Model, Mode M, TargetType Target>
class Session;

/// tensorflow.GraphDef of a model's graph: its nodes as the model made them, with gradients, before
/// fusion. A node has the name of its result, or its scope and operation; inputs; the device that
/// the model names; element types and shapes, -1 for symbols.
///
/// A branch or a loop is a node that takes its inputs, and then the results of its regions. The
/// regions' nodes are below its name: rnn/Loop/body/MatMul.
std::string encode_graph(const ir::Graph& graph);
/// The same with the devices on which a session runs the nodes.
std::string encode_graph(const ir::Graph& graph, const ir::ProgramView& program,
                         std::span<const MachineDevice> devices);

/// tensorflow.RunMetadata of a trace: for each device the kernels by the nodes of encode_graph,
/// with their times and the bytes of their results. A kernel computes several nodes, if they are
/// fused; it has the name of one of them. `sizes` are the symbols' values in the run; without them,
/// kernels whose results have symbols in their shapes have no bytes.
std::string encode_run_metadata(const ir::Graph& graph, const ir::ProgramView& program,
                                std::span<const MachineDevice> devices,
                                std::span<const exec::Span> spans,
                                std::optional<SymbolSizes> sizes = {});

namespace detail {

/// The graph of a session's model, traced as the session does.
template <auto Model, Mode M, TargetType Target>
typeflow::Graph traced_graph(const Session<Model, M, Target>&) {
  typeflow::Graph graph(without(M, read_only) | placing<Target>);
  Model(graph);
  return graph;
}

}  // namespace detail

template <class S>
void EventWriter::graph(const S& session) {
  const typeflow::Graph graph = detail::traced_graph(session);
  session.with_devices([&](const auto& program, const auto& devices) {
    add_graph(encode_graph(graph, program, devices));
  });
}

template <class S, class Trace>
void EventWriter::run_metadata(const S& session, const Trace& trace, std::string_view tag,
                               std::int64_t step, std::optional<SymbolSizes> sizes) {
  const typeflow::Graph graph = detail::traced_graph(session);
  session.with_devices([&](const auto& program, const auto& devices) {
    add_run_metadata(tag, encode_run_metadata(graph, program, devices, trace.spans(), sizes), step);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/session_events.ipp"
#endif
