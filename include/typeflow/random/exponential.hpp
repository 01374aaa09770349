// SPDX-License-Identifier: Apache-2.0
#pragma once

// Exponential random numbers.

#include <source_location>

#include "typeflow/ops/random/distributions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Exponential numbers with this rate and mean 1 / rate, drawn anew in each run:
/// random_exponential<float, tf::batch>(g, "wait", 2). If the rate is a tensor, divide numbers of
/// rate 1 by it; this has gradients.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> random_exponential(
    Graph& g, Label label, double rate = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_real_floating<T>,
                "random_exponential<T, D...>: T must be floating-point");
  using E = Expr<T, Shape<D...>>;
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const std::uint64_t path = graph.add_random_path("random_exponential", label);
  constexpr bool half = detail::is_half<T>;
  const Type drawn(half ? DType::float32 : E::type.dtype, E::type.dims);
  // Not log(u): log1p gives small results all their digits.
  const AnyExpr x = log1p(-detail::uniform_node(graph, path, drawn)) * (-1 / rate);
  return {g, detail::labelled(half ? cast_to(x, E::type.dtype) : x, label).id};
}
/// The same without a label: operations without one draw by their number in the scope.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> random_exponential(
    Graph& g, double rate = 1, std::source_location at = std::source_location::current()) {
  return random_exponential<T, D...>(g, "", rate, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
