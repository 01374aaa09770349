// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole way of a graph to a program: verify, place, simplify, fuse, recompute,
// find windows and parts, order, lower.
//
// A model is compiled once for everything that it names: its effects, its named values, its
// variables. A named value that a kernel swallows has no memory then; a run that asks for it, or
// feeds a value that is no placeholder, is compiled for itself. What is fetched has the same bits
// either way; what follows a fed value may be contracted (fma) differently.

#include "typeflow/lower/lower.hpp"
#include "typeflow/lower/verify.hpp"
#include "typeflow/passes/fuse.hpp"
#include "typeflow/passes/parts.hpp"
#include "typeflow/passes/place.hpp"
#include "typeflow/passes/recompute.hpp"
#include "typeflow/passes/schedule.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/verify.hpp"
#include "typeflow/passes/windows.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// What a program is compiled for. Names are those of ProgramName::name, by number.
struct Request {
  bool everything = true;  ///< all that the model names; else `fetches`
  Pool<Id> fetches;        ///< names
  Pool<Id> feeds;          ///< names of values that are fed, besides placeholders
};

/// What a graph names, in the order of ProgramView::names.
struct NamedRoots {
  Roots roots;
  Pool<Id> stored;  ///< of the values, those that must have memory of their own
};

constexpr NamedRoots named_roots(const Graph& graph, const Request& request) {
  NamedRoots named;
  Pool<char> used(graph.values.size(), 0);
  for (const Id operand : graph.operands) used[operand] = 1;
  for (const Name& name : graph.names) {
    if (name.kind == NameKind::key) continue;
    named.roots.values.push(name.value);
    const bool token = graph.is_token(name.value);
    const bool result = name.kind == NameKind::value && request.everything &&
                        (graph.dims_of(name.value).rank == 0 || used[name.value] == 0);
    named.roots.kept.push(token || result ? 1 : 0);
    if (result) named.stored.push(name.value);
  }
  for (const Id name : request.fetches) {
    const Id value = graph.names[name].value;
    if (!graph.is_token(value)) named.stored.push(value);
  }
  return named;
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

/// Compiles a traced graph. If the model has a mistake, the program is empty but for `error`.
constexpr ProgramPools compile(Graph&& graph, const Request& request = {},
                               const FusionLimits& limits = {}) {
  if (!graph.error.empty()) return failed(graph.error);
  Message wrong = verify(graph);
  if (!wrong.empty()) return failed(wrong);
  const bool keep_all = has(graph.mode(), Mode::debug);
  const int traced = graph.nodes.size();
  NamedRoots named = named_roots(graph, request);
  Pool<Id> cuts;
  for (const Id name : request.feeds) cuts.push(graph.names[name].value);
  Pool<Id> requested;
  for (const Id name : request.fetches) requested.push(graph.names[name].value);

  place(graph);
  Simplified simplified = simplify(std::move(graph), named.roots.values, cuts);
  if (!simplified.graph.error.empty()) return failed(simplified.graph.error);
  if (!std::is_constant_evaluated()) {  // tests do; a compiler's time is dear
    wrong = verify(simplified);
    if (!wrong.empty()) return internal_error("simplify", wrong);
  }

  // A run of all that a program is for needs no telling apart, nor do kernels of one operation.
  if (!request.everything) named.roots.values = requested;
  if (!request.everything || keep_all) named.roots.kept.clear();
  Fused fused = fuse(simplified, named.roots, !keep_all, limits);
  if (!keep_all) {
    recompute(simplified, fused, named.roots, limits);
    find_windows(simplified, fused, named.roots, named.stored, limits);
    find_parts(simplified, fused, named.roots, named.stored, limits);
  }
  const Pool<Id> order = schedule(simplified.graph, fused);
  if (order.empty() && fused.clusters.size() > 0) {
    return internal_error("fusion", Message{} << "the clusters form a cycle");
  }
  ProgramPools program = Lowerer(simplified, fused, order).run(named.stored, keep_all);
  if (!program.error.empty()) return failed(program.error);
  program.nodes = traced;
  if (!std::is_constant_evaluated()) {
    wrong = verify(program);
    if (!wrong.empty()) return internal_error("lowering", wrong);
  }
  return program;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
