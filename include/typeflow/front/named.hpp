// SPDX-License-Identifier: Apache-2.0
#pragma once

// One name for all results of an operation:
//
//   auto parts = tf::named("parts", split<4, 1>(x));     // parts:0, parts:1, parts:2, parts:3
//   auto [values, indices] = tf::named("best", top_k<5>(x));
//
// Runs fetch and feed each result by name and number. The name alone is the first result.

#include <source_location>
#include <type_traits>

#include "typeflow/front/structure.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Names values path:0, path:1... If one of these is taken, the path gets a suffix.
constexpr void name_results(ir::Graph& graph, const Label& label, const Pool<Id>& values) {
  const std::uint64_t base = graph.path_hash(graph.scope, label, false);
  const auto path_of = [](std::uint64_t path, int output) {
    return output == 0 ? path : hash_suffix(output, path, ':');
  };
  const auto is_free = [&](std::uint64_t path) {
    for (int k = 0; k < values.size(); ++k) {
      if (graph.find_name(path_of(path, k)) != none) return false;
    }
    return true;
  };
  int suffix = 0;
  std::uint64_t path = base;
  while (!is_free(path)) path = hash_suffix(++suffix, base);
  for (int k = 0; k < values.size(); ++k) {
    graph.add_unique_name(label, suffix, ir::NameKind::value, false, values[k], path_of(path, k),
                          k);
  }
}

}  // namespace detail

/// Names the tensors of a structure (a std::array, std::tuple or struct of tensors) as the results
/// of one operation: name:0, name:1 and so on, in order. Nested structures are taken apart. Returns
/// the structure. A taken name gets a suffix, as that of Expr::named.
template <class S>
constexpr S named(Label name, const S& results) {
  constexpr bool ok = detail::is_structure<S>();
  (void)sizeof(
      detail::requirement<
          "named(name, results): the results must be tensors in an array, tuple or struct", ok>);
  static_assert(ok,
                "named(name, results): the results must be tensors in an array, tuple or struct");
  if constexpr (TypedExpr<S>) {
    results.named(name);
  } else if constexpr (ok) {
    const Pool<Id> values = detail::ids_of(results);
    if (values.empty()) return results;
    detail::name_results(ir::records(detail::graph_of_structure(results)), name, values);
  }
  return results;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
