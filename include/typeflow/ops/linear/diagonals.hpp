// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrices by their diagonals: eye, matrix_set_diag. Composed of comparisons of positions, so they
// fuse with the operations around them.

#include <source_location>
#include <type_traits>

#include "typeflow/ops/linear/linear.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The matrix with ones on the diagonal and zeros elsewhere: eye<float, 3>(g), eye<float, 3, 4>(g).
/// Extents may be tf::batch. -> (N,M)
template <Element T, Extent N, Extent M = N>
constexpr auto eye(Graph& g, std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>),
                "eye<T, n, m>(g): T must be a type of numbers");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  using E = Expr<T, Shape<N, M>>;
  const AnyExpr one = detail::constant_node(graph, dtype_of<T>, Number{1, 1});
  const AnyExpr zero = detail::constant_node(graph, dtype_of<T>, Number{});
  return E(g, where(detail::on_diagonal(graph, E::type.dims, 0, 1), one, zero).id);
}

/// Matrices m with the diagonals replaced by d, of any element type.
/// (..., M,N) x (..., min(M,N)) -> (..., M,N)
template <TypedExpr M, TypedExpr D>
constexpr auto matrix_set_diag(const M& m, const D& d,
                               std::source_location at = std::source_location::current()) {
  using Rule = detail::DiagPartRule<typename M::shape>;
  static_assert(M::rank >= 2,
                "matrix_set_diag(m, d): m must be a matrix, a tensor of two axes or more");
  static_assert(M::rank < 2 || Rule::value.valid(),
                "matrix_set_diag(m, d): if one of the last two axes of m is tf::batch, the other "
                "must be, too");
  static_assert(M::rank < 2 || !Rule::value.valid() || D::shape::dims == Rule::value,
                "matrix_set_diag(m, d): d must have the shape of the diagonals, (..., min(M,N))");
  static_assert(std::is_same_v<typename M::element, typename D::element> &&
                    !detail::is_string<typename M::element>,
                "matrix_set_diag(m, d): the element types must be equal, of numbers or booleans");
  detail::mark(at, m);
  constexpr Dims dims = M::shape::dims;
  if constexpr (M::rank >= 2) {
    // The diagonal runs along the shorter axis: an element's row, or its column, is its position.
    constexpr bool wide = detail::off_diagonal_axis(dims) == M::rank - 1;
    const AnyExpr along =
        reshape_to(d.any(), detail::expanded(D::shape::dims, wide ? D::rank : D::rank - 1));
    const AnyExpr on = detail::on_diagonal(m.graph(), dims, M::rank - 2, M::rank - 1);
    return detail::same_type(m, where(on, along, m.any()).id);
  } else {
    return m;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
