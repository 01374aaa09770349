// SPDX-License-Identifier: Apache-2.0
#pragma once

// All stages from a graph to a program: recognize primitives of control flow, rewrite loops,
// verify, place, simplify, fuse, recompute, find strided views and parts, order, lower.
// graph/pass.hpp names the passes; a graph says which of them it skips, and who looks at it after
// each.
//
// A model is compiled once for everything that it names: effects, named values, variables. A named
// value that a kernel swallows then has no memory. A run that asks for such a value, or feeds a
// value that is no placeholder, is compiled for itself. Fetched values have the same bits in both
// cases. Values that follow a fed value may have other multiply-adds.

#include "typeflow/lower/lower.hpp"
#include "typeflow/lower/verify.hpp"
#include "typeflow/passes/fuse.hpp"
#include "typeflow/passes/loops.hpp"
#include "typeflow/passes/parts.hpp"
#include "typeflow/passes/place.hpp"
#include "typeflow/passes/recompute.hpp"
#include "typeflow/passes/region_graph.hpp"
#include "typeflow/passes/schedule.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/strided_views.hpp"
#include "typeflow/passes/verify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// The purpose of a program. Names are numbers of ProgramName::name.
struct Request {
  bool everything = true;  ///< all that the model names; otherwise `fetches`
  Pool<Id> fetches;        ///< names
  Pool<Id> feeds;          ///< names of values that are fed, besides placeholders
};

/// The values that a graph names, in the order of ProgramView::names.
struct NamedRoots {
  Roots roots;
  Pool<Id> stored;  ///< the values that must have memory of their own
};

/// `nothing` stands in for values inside regions, which cannot be roots.
constexpr NamedRoots named_roots(const Graph& graph, const Request& request, Id nothing = none) {
  NamedRoots named;
  Pool<char> used;  // by value; empty until one asks
  const auto is_used = [&](Id value) {
    if (used.empty()) {
      used = Pool<char>(graph.values.size(), 0);
      const int operands = graph.operands.size();
      for (int i = 0; i < operands; ++i) used.items[graph.operands.items[i]] = 1;
    }
    return used.items[value] != 0;
  };
  for (const Name& name : graph.names) {
    if (name.kind == NameKind::key) continue;
    if (region_of(graph, name.value) != 0) {
      named.roots.values.push(nothing);
      named.roots.kept.push(0);
      continue;
    }
    named.roots.values.push(name.value);
    const bool token = graph.is_token(name.value);
    const bool result = name.kind == NameKind::value && request.everything &&
                        (graph.dims_of(name.value).rank == 0 || !is_used(name.value));
    named.roots.kept.push(token || result ? 1 : 0);
    if (result) named.stored.push(name.value);
  }
  for (const Id name : request.fetches) {
    const Id value = graph.names.items[name].value;
    if (!graph.is_token(value)) named.stored.push(value);
  }
  return named;
}

/// A sentence if the request names a value that a run can't reach.
constexpr Message unreachable(const Graph& graph, const Pool<Id>& names) {
  Message out{};
  for (const Id name : names) {
    if (region_of(graph, graph.names.items[name].value) == 0 || !out.empty()) continue;
    out << '\'';
    graph.print_name(out, graph.names.items[name]);
    out << "' is computed inside of a branch or a loop: to fetch it, have the branch or the body "
           "give "
           "it as a result";
  }
  return out;
}

constexpr ProgramPools failed(const Message& error) {
  ProgramPools program;
  program.error = error;
  return program;
}

constexpr ProgramPools internal_error(const char* stage, const Message& what) {
  Message message{};
  message << "internal error after " << stage << ": " << what.view();
  return failed(message);
}

/// Gives every region result its own buffer, so that iterations can swap them. Copies results that
/// alias another value: on its device, or that of the region if the value has none, as its inputs.
constexpr Pool<Id> results_in_memory(Simplified& simplified, const Pool<Id>& results,
                                     Device of_region) {
  Graph& graph = simplified.graph;
  Pool<Id> out;
  Pool<Id> taken;
  for (const Id result : results) {
    if (result == none) {
      out.push(none);
      continue;
    }
    const Id value = simplified.map[result];
    Id storage = value;
    while (graph.node_of(storage).op->kind == Kind::view) {
      storage = graph.input(graph.node_of(storage), 0);
    }
    bool copies = graph.node_of(storage).op->kind == Kind::source;
    for (const Id other : taken) copies = copies || other == storage;
    taken.push(storage);
    if (!copies) {
      out.push(value);
      continue;
    }
    const Node node = graph.node_of(value);
    graph.scope = node.scope;
    const bool is_on_device =
        node.op->kind != Kind::source || node.op->builtin == Builtin::variable;
    graph.device = is_on_device ? node.device : of_region;
    graph.source = node.source;
    graph.region = 0;
    const Id copy = graph.values.size();
    graph.values.push(Value{graph.add_node(record<ops::After>, &value, 1, 1, nullptr, 0), 0,
                            graph.values.items[value].type, none});
    simplified.order.push(graph.values.items[copy].node);
    out.push(copy);
  }
  // The map of results refers to values of the graph as it is now.
  const int traced = simplified.map.size();
  for (Id value = traced; value < graph.values.size(); ++value) simplified.map.push(value);
  return out;
}

/// The clusters of a simplified graph. `stored`: values that must have memory of their own.
constexpr Fused clusters_of(Simplified& simplified, const Roots& roots, const Pool<Id>& stored,
                            const FusionLimits& limits) {
  const PassSet skipped = simplified.graph.skipped;
  const auto observe = [&](Pass pass, const Fused& fused) {
    simplified.graph.observe(pass, &fused.order, &fused);
  };
  // For debugging, every value stays in memory.
  const bool keep_all = has(simplified.graph.mode(), Mode::debug);
  Fused fused = fuse(simplified, roots, !keep_all && !skipped.has(Pass::fuse), limits);
  observe(Pass::fuse, fused);
  if (keep_all) return fused;
  if (!skipped.has(Pass::recompute)) {
    recompute(simplified, fused, roots, limits);
    observe(Pass::recompute, fused);
  }
  if (!skipped.has(Pass::find_strided_views)) {
    find_strided_views(simplified, fused, roots, stored, limits);
    observe(Pass::find_strided_views, fused);
  }
  if (!skipped.has(Pass::find_parts)) {
    find_parts(simplified, fused, roots, stored, limits);
    observe(Pass::find_parts, fused);
  }
  return fused;
}

/// Compiles a region of a graph for its wanted results and its effects. The program's steps are
/// those of one block.
constexpr ProgramPools compile_region(const Graph& graph, Id region, const Pool<char>& wanted,
                                      const FusionLimits& limits) {
  (void)sizeof(detail::BindOp<ops::After>);
  RegionGraph body = graph_of_region(graph, region, wanted);
  if (!body.graph.error.empty()) return failed(body.graph.error);
  Roots roots;
  for (const Id result : body.results) {
    if (result != none) roots.values.push(result);
  }
  for (const Id effect : body.effects) roots.values.push(effect);
  Simplified simplified = simplify(std::move(body.graph), roots.values, {}, limits);
  simplified.graph.observe(Pass::simplify, &simplified.order);
  if (!simplified.graph.error.empty()) return failed(simplified.graph.error);
  const Device device = graph.nodes.items[graph.regions.items[region].owner].device;
  const Pool<Id> results = results_in_memory(simplified, body.results, device);
  if (!std::is_constant_evaluated()) {
    const Message wrong = verify(simplified);
    if (!wrong.empty()) return internal_error("simplify", wrong);
  }
  roots.values.clear();
  Pool<Id> stored;
  for (const Id result : results) {
    if (result != none) stored.push(result);
  }
  for (const Id result : stored) roots.values.push(result);
  for (const Id effect : body.effects) roots.values.push(effect);
  Fused fused = clusters_of(simplified, roots, stored, limits);
  const Pool<Id> order = schedule(simplified.graph, fused);
  if (order.empty() && fused.clusters.size() > 0) {
    return internal_error("fusion", Message{} << "the clusters form a cycle");
  }
  // A variable, since nvcc 13 does not destroy all of a temporary's members in constants.
  Lowerer lowerer(simplified, fused, order, &compile_region, limits);
  return lowerer.run_region(body.inputs, results);
}

/// Compiles a traced graph. If the model has a mistake, the program is empty but for `error`.
constexpr ProgramPools compile(Graph&& graph, const Request& request = {},
                               const FusionLimits& limits = {}) {
  if (graph.error.empty() && graph.has_primitives()) {
    graph.recognize(graph);
    graph.observe(Pass::recognize);
  }
  if (graph.error.empty() && graph.regions.size() > 1) rewrite_loops(graph);
  if (!graph.error.empty()) return failed(graph.error);
  Message wrong = verify(graph);
  if (!wrong.empty()) return failed(wrong);
  if (graph.regions.size() > 1) {
    for (const Pool<Id>* const names : {&request.fetches, &request.feeds}) {
      wrong = unreachable(graph, *names);
      if (!wrong.empty()) return failed(wrong);
    }
  }
  const bool keep_all = has(graph.mode(), Mode::debug);
  const int traced = graph.nodes.size();
  const Id nothing =
      graph.regions.size() > 1 ? detail::constant_node(graph, DType::float32, Number{}).id : none;
  NamedRoots named = named_roots(graph, request, nothing);
  Pool<Id> cuts;
  for (const Id name : request.feeds) cuts.push(graph.names.items[name].value);
  Pool<Id> requested;
  for (const Id name : request.fetches) requested.push(graph.names.items[name].value);

  place(graph);
  graph.observe(Pass::place);
  Simplified simplified = simplify(std::move(graph), named.roots.values, cuts, limits);
  simplified.graph.observe(Pass::simplify, &simplified.order);
  if (!simplified.graph.error.empty()) return failed(simplified.graph.error);
  if (!std::is_constant_evaluated()) {  // in tests only, to save the compiler's time
    wrong = verify(simplified);
    if (!wrong.empty()) return internal_error("simplify", wrong);
  }

  // A run of everything in the program needs no telling apart, nor do kernels of one operation.
  if (!request.everything) named.roots.values = requested;
  if (!request.everything || keep_all) named.roots.kept.clear();
  Fused fused = clusters_of(simplified, named.roots, named.stored, limits);
  const Pool<Id> order = schedule(simplified.graph, fused);
  if (order.empty() && fused.clusters.size() > 0) {
    return internal_error("fusion", Message{} << "the clusters form a cycle");
  }
  Lowerer lowerer(simplified, fused, order, &compile_region, limits);
  ProgramPools program = lowerer.run(named.stored, keep_all);
  if (!program.error.empty()) return failed(program.error);
  program.nodes = traced;
  if (!std::is_constant_evaluated()) {
    wrong = verify(program);
    if (!wrong.empty()) return internal_error("lowering", wrong);
  }
  return program;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
