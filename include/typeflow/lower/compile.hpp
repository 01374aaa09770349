// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole way of a graph to a program: verify, simplify, fuse, order, lower.
//
// A model is compiled once for everything that it names: its effects, its named values, its
// variables. A named value that a kernel swallows has no memory then; a run that asks for it, or
// feeds a value that is no placeholder, is compiled for itself. What is fetched has the same bits
// either way; what follows a fed value may be contracted (fma) differently.

#include "typeflow/lower/lower.hpp"
#include "typeflow/lower/verify.hpp"

namespace typeflow {

/// What a program is compiled for. Names are those of ProgramName::name, by number.
struct Request {
  bool everything = true;  ///< all that the model names; else `fetches`
  Pool<Id> fetches;        ///< names
  Pool<Id> feeds;          ///< names of values that are fed, besides placeholders
};

namespace detail {

/// Values and tokens that a program must be able to compute.
struct Roots {
  Pool<Id> all;   ///< everything that the model names
  Pool<Id> keep;  ///< of it, the values that must have memory of their own
};

constexpr Roots named_roots(const Graph& graph, const Request& request) {
  Roots roots;
  Pool<char> used(graph.values.size(), 0);
  for (const Id operand : graph.operands) used[operand] = 1;
  for (const Name& name : graph.names) {
    if (name.kind == NameKind::key) continue;
    roots.all.push(name.value);
    if (name.kind != NameKind::value || !request.everything) continue;
    const bool scalar = graph.dims_of(name.value).rank == 0;
    if (scalar || used[name.value] == 0) roots.keep.push(name.value);
  }
  for (const Id name : request.fetches) {
    const Id value = graph.names[name].value;
    if (!graph.is_token(value)) roots.keep.push(value);
  }
  return roots;
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

}  // namespace detail

/// Compiles a traced graph. If the model has a mistake, the program is empty but for `error`.
constexpr ProgramPools compile(Graph&& graph, const Request& request = {}) {
  if (!graph.error.empty()) return detail::failed(graph.error);
  Message wrong = verify(graph);
  if (!wrong.empty()) return detail::internal_error("tracing", wrong);
  const bool keep_all = has(graph.mode(), Mode::debug);
  const int traced = graph.nodes.size();
  detail::Roots roots = detail::named_roots(graph, request);
  Pool<Id> cuts;
  for (const Id name : request.feeds) cuts.push(graph.names[name].value);
  Pool<Id> requested;
  for (const Id name : request.fetches) requested.push(graph.names[name].value);

  Simplified simplified = simplify(std::move(graph), roots.all, cuts);
  if (!std::is_constant_evaluated()) {  // tests do; a compiler's time is dear
    wrong = verify(simplified);
    if (!wrong.empty()) return detail::internal_error("simplify", wrong);
  }

  const Pool<Id>& needed = request.everything ? roots.all : requested;
  Fused fused = fuse(simplified, needed, !keep_all);
  const Pool<Id> order = schedule(simplified.graph, fused);
  if (order.empty() && fused.clusters.size() > 0) {
    return detail::internal_error("fusion", Message{} << "the clusters form a cycle");
  }
  ProgramPools program = detail::Lowerer(simplified, fused, order).run(roots.keep, keep_all);
  program.nodes = traced;
  if (!std::is_constant_evaluated()) {
    wrong = verify(program);
    if (!wrong.empty()) return detail::internal_error("lowering", wrong);
  }
  return program;
}

}  // namespace typeflow
