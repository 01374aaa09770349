// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compositions of matrix products, sums and diagonals: layers, outer products, Gram matrices, diag,
// diag_part, trace. So their gradients are compositions, too, and their elementwise parts fuse with
// operations around them.

#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Whether an element is on the diagonal of two axes.
constexpr AnyExpr on_diagonal(ir::Graph& graph, const Dims& dims, int row, int column) {
  return equal(index_along(graph, dims, row), index_along(graph, dims, column));
}
/// x, and 0 off the diagonal of two axes.
template <UntypedExpr X>
constexpr AnyExpr keep_diagonal(const X& x, int row, int column) {
  return where(on_diagonal(*x.graph, x.dims(), row, column), x, 0);
}

/// The longer one of two axes. A matrix that is 0 off its diagonal is summed over it.
constexpr int off_diagonal_axis(const Dims& x) {
  return x.extent[x.rank - 2] > x.extent[x.rank - 1] ? x.rank - 2 : x.rank - 1;
}

/// Whether the diagonal's length is known: the axes are equal, or neither is a batch.
constexpr bool has_diagonal(const Dims& x) {
  if (x.rank < 2) return false;
  const Extent rows = x.extent[x.rank - 2];
  const Extent columns = x.extent[x.rank - 1];
  return rows == columns || (!is_symbolic(rows) && !is_symbolic(columns));
}

template <class X, class B>
struct BiasRule {
  static constexpr bool ranks = X::rank >= 1 && B::rank == 1;
  static constexpr bool extents =
      X::shape::dims.extent[X::rank > 0 ? X::rank - 1 : 0] == B::shape::dims.extent[0];
  static constexpr bool elements =
      std::is_same_v<typename X::element, typename B::element> && in_domain<Domain::numbers, X>;
};
template <class S>
struct DiagRule {
  static constexpr bool valid = S::rank >= 1 && S::rank < max_rank;
  static constexpr Dims value = [] {
    if constexpr (valid) {
      return broadcast(expanded(S::dims, S::rank), expanded(S::dims, S::rank - 1));
    } else {
      return no_dims;
    }
  }();
};
template <class S>
struct DiagPartRule {
  static constexpr Dims value =
      has_diagonal(S::dims) ? reduced(S::dims, 1u << off_diagonal_axis(S::dims), false) : no_dims;
};
template <class S>
struct TraceRule {
  static constexpr Dims value = has_diagonal(S::dims) ? without_last(S::dims, 2) : no_dims;
};
template <class A, class B>
struct OuterRule {
  static constexpr bool vectors =
      A::rank >= 1 && B::rank >= 1 && A::rank < max_rank && B::rank < max_rank;
  static constexpr Dims value = [] {
    if constexpr (vectors) {
      return broadcast(expanded(A::dims, A::rank), expanded(B::dims, B::rank - 1));
    } else {
      return no_dims;
    }
  }();
};
/// (B, ..., C) as (B, M, C), (M, C) as it is.
template <class S>
struct SamplesRule {
  static constexpr Dims value = [] {
    if (S::rank <= 2) return S::dims;
    const Count rows = [] {
      Count count{};
      for (int i = 1; i < S::rank - 1; ++i) count.multiply(S::dims.extent[i]);
      return count;
    }();
    if (extent_of(rows) == no_extent) return no_dims;
    return Dims{3, {S::dims.extent[0], extent_of(rows), S::dims.extent[S::rank - 1]}};
  }();
};

}  // namespace detail

/// x + b along the last axis, the channels. (..., C) + (C) -> (..., C)
template <TypedExpr X, TypedExpr B>
constexpr auto bias_add(const X& x, const B& b,
                        std::source_location at = std::source_location::current()) {
  using Rule = detail::BiasRule<X, B>;
  static_assert(Rule::ranks, "bias_add(x, b): b must have one axis, x's last");
  static_assert(!Rule::ranks || Rule::extents,
                "bias_add(x, b): b must be as long as the last axis of x");
  static_assert(Rule::elements,
                "bias_add(x, b): the element types must be equal, those of numbers; convert with "
                "cast<T>(x)");
  detail::mark(at, x);
  if constexpr (Rule::ranks && Rule::extents && Rule::elements) {
    return x + b;
  } else {
    return x;
  }
}

/// x w + b, a layer without activation. (..., K) x (K,N) + (N) -> (..., N)
template <TypedExpr X, TypedExpr W, TypedExpr B>
constexpr auto xw_plus_b(const X& x, const W& w, const B& b,
                         std::source_location at = std::source_location::current()) {
  static_assert(X::rank >= 2 && W::rank == 2 && B::rank == 1,
                "xw_plus_b(x, w, b): x and w must be matrices, b a vector");
  return bias_add(matmul(x, w, at), b, at);
}

/// relu(x w + b). (..., K) x (K,N) + (N) -> (..., N)
template <TypedExpr X, TypedExpr W, TypedExpr B>
constexpr auto relu_layer(const X& x, const W& w, const B& b,
                          std::source_location at = std::source_location::current()) {
  static_assert(X::rank >= 2 && W::rank == 2 && B::rank == 1,
                "relu_layer(x, w, b): x and w must be matrices, b a vector");
  return relu(xw_plus_b(x, w, b, at), at);
}

/// All products of an element of a and one of b; leading axes broadcast. (..., M) x (..., N) ->
/// (..., M,N)
template <TypedExpr A, TypedExpr B>
constexpr auto outer(const A& a, const B& b,
                     std::source_location at = std::source_location::current()) {
  using Rule = detail::OuterRule<typename A::shape, typename B::shape>;
  static_assert(Rule::vectors,
                "outer(a, b): a and b must be vectors, or several in their last axis");
  static_assert(!Rule::vectors || Rule::value.valid(),
                "outer(a, b): the axes in front of the last must be equal, or 1 in a or b");
  static_assert(std::is_same_v<typename A::element, typename B::element> &&
                    detail::in_domain<Domain::numbers, A>,
                "outer(a, b): the element types must be equal, those of numbers; convert with "
                "cast<T>(x)");
  detail::mark(at, a);
  using E = Expr<typename A::element, shape_of_t<Rule>>;
  const AnyExpr y = reshape_to(a.any(), detail::expanded(A::shape::dims, A::rank)) *
                    reshape_to(b.any(), detail::expanded(B::shape::dims, B::rank - 1));
  return E(a.graph(), y.id);
}

/// The Gram matrix of the columns of x, x^T x: the products of all pairs of channels, summed over
/// all places. (M,C) -> (C,C). (B, ..., C) -> (B,C,C), one matrix for each sample, as for features
/// (B,H,W,C). It is not divided by the number of places (Gatys et al., arXiv:1508.06576, equation
/// 3).
template <TypedExpr X>
constexpr auto gram(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::SamplesRule<typename X::shape>;
  static_assert(X::rank >= 2, "gram(x): x must have two axes or more");
  static_assert(Rule::value.valid(),
                "gram(x): of the axes between the first and the last one may be tf::batch");
  static_assert(detail::in_domain<Domain::numbers, X>, "gram(x): x must be a tensor of numbers");
  detail::mark(at, x);
  const Expr<typename X::element, shape_of_t<Rule>> samples(x.graph(),
                                                            reshape_to(x.any(), Rule::value).id);
  return matmul<transpose_a>(samples, samples, at);
}

/// Matrices with v on the diagonal and 0 elsewhere. (..., N) -> (..., N,N)
template <TypedExpr V>
constexpr auto diag(const V& v, std::source_location at = std::source_location::current()) {
  using Rule = detail::DiagRule<typename V::shape>;
  static_assert(Rule::valid, "diag(v): v must have an axis, and fewer than tf::max_rank");
  static_assert(detail::in_domain<Domain::numbers, V>, "diag(v): v must be a tensor of numbers");
  detail::mark(at, v);
  return Expr<typename V::element, shape_of_t<Rule>>(v.graph(), diag(v.any()).id);
}
template <UntypedExpr V>
constexpr AnyExpr diag(const V& v) {
  const int rank = v.dims().rank;
  const Dims row = detail::expanded(v.dims(), rank - 1);
  const Dims dims = broadcast(row, detail::expanded(v.dims(), rank));
  return where(detail::on_diagonal(*v.graph, dims, rank - 1, rank), reshape_to(v, row), 0);
}

/// The diagonals of matrices, as long as their shorter axis. (..., M,N) -> (..., min(M,N))
///
/// NaN and infinities off the diagonal do not matter. If the matrices' extents are symbols, it is a
/// sum over an axis after setting the other elements to 0: -0 on the diagonal becomes 0.
template <TypedExpr M>
constexpr auto diag_part(const M& m, std::source_location at = std::source_location::current()) {
  using Rule = detail::DiagPartRule<typename M::shape>;
  static_assert(M::rank >= 2, "diag_part(m): m must be a matrix, a tensor of two axes or more");
  static_assert(M::rank < 2 || Rule::value.valid(),
                "diag_part(m): if one of the last two axes is tf::batch, the other must be, too");
  static_assert(detail::in_domain<Domain::numbers, M>,
                "diag_part(m): m must be a tensor of numbers");
  detail::mark(at, m);
  return Expr<typename M::element, shape_of_t<Rule>>(m.graph(), diag_part(m.any()).id);
}
template <UntypedExpr M>
constexpr AnyExpr diag_part(const M& m) {
  const int rank = m.dims().rank;
  const Extent rows = m.dims().extent[rank - 2];
  const Extent columns = m.dims().extent[rank - 1];
  if (is_symbolic(rows) || is_symbolic(columns) || rows * columns == 0) {
    return reduce<ops::Sum>(detail::keep_diagonal(m, rank - 2, rank - 1),
                            1u << detail::off_diagonal_axis(m.dims()), false);
  }
  // Of all elements of a matrix, one after the other, those at one distance.
  Dims elements = without_last(m.dims(), 1);
  elements.extent[rank - 2] = rows * columns;
  Dims diagonal = elements;
  diagonal.extent[rank - 2] = rows < columns ? rows : columns;
  SliceWindow window = window_at_start(diagonal);
  window.step[rank - 2] = static_cast<std::int32_t>(columns + 1);
  return slice_to(reshape_to(m, elements), window, diagonal);
}

/// The sums of the diagonals of matrices. (..., M,N) -> (...)
template <TypedExpr M>
constexpr auto trace(const M& m, std::source_location at = std::source_location::current()) {
  using Rule = detail::TraceRule<typename M::shape>;
  static_assert(M::rank >= 2, "trace(m): m must be a matrix, a tensor of two axes or more");
  static_assert(M::rank < 2 || Rule::value.valid(),
                "trace(m): if one of the last two axes is tf::batch, the other must be, too");
  static_assert(detail::in_domain<Domain::numbers, M>, "trace(m): m must be a tensor of numbers");
  detail::mark(at, m);
  return Expr<typename M::element, shape_of_t<Rule>>(m.graph(), trace(m.any()).id);
}
template <UntypedExpr M>
constexpr AnyExpr trace(const M& m) {
  return reduce<ops::Sum>(diag_part(m), 1u << (m.dims().rank - 2), false);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
