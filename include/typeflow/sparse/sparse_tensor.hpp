// SPDX-License-Identifier: Apache-2.0
#pragma once

// A sparse tensor is a pair of tensors, the coordinates of elements and their values, with a shape
// in its type. It is not a tensor itself. Functions on it are composed of operations on the two
// tensors, so gradients flow to the values as to any tensor.
//
// The number of elements is part of the shape, and known before a run. A tensor with fewer elements
// is padded with zeros at the coordinates 0, which add nothing.

#include <array>
#include <cstdint>
#include <source_location>

#include "typeflow/ops/index/gather_nd.hpp"
#include "typeflow/ops/index/selection.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The elements of a tensor of shape S that may differ from zero: their coordinates, integers (N,
/// rank of S), and values (N). Values at equal coordinates add up; the order does not matter. Made
/// by sparse_tensor and to_sparse.
template <class S, TypedExpr I, TypedExpr V>
struct SparseTensor {
  using shape = S;
  using element = typename V::element;
  static constexpr int rank = S::rank;
  I indices;
  V values;
};

/// A sparse tensor, and the number of elements found; zeros follow them.
template <class S, TypedExpr I, TypedExpr V>
struct SparseElements {
  SparseTensor<S, I, V> tensor;
  Expr<std::int32_t> count;
};

namespace detail {

/// Whether I and V can be the indices and values of a sparse tensor of shape S.
template <class S, class I, class V>
inline constexpr bool are_sparse_parts = [] {
  if constexpr (S::rank > 0 && are_indices<I> && I::rank == 2 && V::rank == 1) {
    return I::shape::dims == Dims{2, {V::shape::dims.extent[0], S::rank}};
  } else {
    return false;
  }
}();

template <Extent Bound, TypedExpr X>
constexpr auto to_sparse_typed(const X& x, const std::source_location& at) {
  using S = typename X::shape;
  using I = Expr<std::int32_t, Shape<Bound, X::rank>>;
  using V = Expr<typename X::element, Shape<Bound>>;
  mark(at, x);
  ir::Graph& graph = x.graph();
  const AnyExpr zero = constant_node(graph, x.any().dtype(), Number{});
  const auto [indices, count] = where(not_equal(x.any(), zero), Bound);
  const AnyExpr chosen = less(index_along(graph, Dims{1, {Bound}}, 0), count);
  const AnyExpr values = where(chosen, gather_nd(x.any(), indices), zero);
  return SparseElements<S, I, V>{{I(x.graph(), indices.id), V(x.graph(), values.id)},
                                 {x.graph(), count.id}};
}

}  // namespace detail

/// The sparse tensor of shape [D...] with these elements: sparse_tensor<1000, 50>(indices, values).
/// (N, rank) x (N). Coordinates have any integer type. Functions that use them report a coordinate
/// that is out of range.
template <Extent... D, TypedExpr I, TypedExpr V>
constexpr auto sparse_tensor(const I& indices, const V& values) {
  static_assert(detail::are_sparse_parts<Shape<D...>, I, V>,
                "sparse_tensor<D...>(indices, values): the indices must be integers, a row with a "
                "coordinate for each axis, the values one axis with as many elements as there are "
                "rows");
  using Indices = Expr<typename I::element, typename I::shape>;
  using Values = Expr<typename V::element, typename V::shape>;
  return SparseTensor<Shape<D...>, Indices, Values>{Indices(indices.graph(), indices.id()),
                                                    Values(values.graph(), values.id())};
}

/// The nonzero elements of x, in row-major order: {tensor, count}. Elements after the count are
/// zeros at the coordinates 0. The tensor has room for as many elements as x; to_sparse<Bound>(x)
/// has room for Bound elements, and more nonzero ones are an Error of the run. Gradients flow back
/// to the elements that were found.
template <TypedExpr X>
constexpr auto to_sparse(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(X::rank > 0 && X::rank < max_rank,
                "to_sparse(x): x must have an axis, and fewer than tf::max_rank");
  constexpr Extent bound = detail::size_as_extent(X::shape::dims);
  static_assert(
      bound != no_extent,
      "to_sparse(x): the number of elements is no multiple of tf::batch; say how many can "
      "differ from zero, to_sparse<Bound>(x)");
  return detail::to_sparse_typed < bound == no_extent ? 0 : bound > (x, at);
}
template <Extent Bound, TypedExpr X>
constexpr auto to_sparse(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(X::rank > 0 && X::rank < max_rank,
                "to_sparse<Bound>(x): x must have an axis, and fewer than tf::max_rank");
  return detail::to_sparse_typed<Bound>(x, at);
}

/// The dense tensor with these elements, zero elsewhere. Values at equal coordinates add up
/// (booleans: true if any is true). A coordinate outside of its axis is an error of the run.
template <class S, TypedExpr I, TypedExpr V>
constexpr auto to_dense(const SparseTensor<S, I, V>& x,
                        std::source_location at = std::source_location::current()) {
  constexpr bool fits = S::rank < max_rank && detail::flattened(S::dims, S::rank).valid();
  static_assert(fits,
                "to_dense(x): x must have fewer axes than tf::max_rank, and tf::batch in one of "
                "them at most");
  detail::mark(at, x.values);
  using E = Expr<typename V::element, S>;
  if constexpr (fits) {
    const AnyExpr values = x.values.any();
    const AnyExpr sums = values.dtype() == DType::boolean ? cast_to(values, DType::int32) : values;
    const AnyExpr positions = detail::ravel(x.indices.any(), S::dims, Indexing::to_dense);
    const Extent size = detail::flattened(S::dims, S::rank).extent[0];
    const AnyExpr flat = detail::scatter_sum_node(positions, sums, size, 0, 0, Indexing::to_dense);
    return E(x.values.graph(), cast_to(reshape_to(flat, S::dims), values.dtype()).id);
  } else {
    return E(x.values.graph(), x.values.id());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
