// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of one sparse tensor's elements: sparse_retain, sparse_reorder, sparse_slice,
// sparse_softmax, sparse_fill_empty_rows.
//
// Each takes a SparseTensor, whose elements all count, or SparseElements, as to_sparse and
// sparse_retain give them: then the first `count` elements count, and the rest is padding.

#include <array>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <type_traits>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/index/segment_folds.hpp"
#include "typeflow/ops/index/selection.hpp"
#include "typeflow/ops/index/sort.hpp"
#include "typeflow/ops/shape/slice.hpp"
#include "typeflow/sparse/sparse_tensor.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A sparse tensor with an element in every row, the number of its elements, and whether rows were
/// empty before.
template <class S, TypedExpr I, TypedExpr V, TypedExpr E>
struct SparseFilled {
  SparseTensor<S, I, V> tensor;
  Expr<std::int32_t> count;
  E empty;
};

namespace detail {

/// Coordinates (N,rank) and values (N); and which of them count (N), if not all.
struct SparseParts {
  AnyExpr indices;
  AnyExpr values;
  AnyExpr valid;

  constexpr Extent size() const { return values.dims().extent[0]; }
  /// x where elements count, else a number.
  constexpr AnyExpr or_else(const AnyExpr& x, Number number) const {
    if (!valid.exists()) return x;
    return where(valid, x, constant_node(*x.graph, x.dtype(), number));
  }
  constexpr AnyExpr chosen(const AnyExpr& keep) const {
    return valid.exists() ? logical_and(valid, keep) : keep;
  }
};

template <class S, TypedExpr I, TypedExpr V>
constexpr SparseParts parts_of(const SparseTensor<S, I, V>& x) {
  return {x.indices.any(), x.values.any(), AnyExpr{}};
}
template <class S, TypedExpr I, TypedExpr V>
constexpr SparseParts parts_of(const SparseElements<S, I, V>& x) {
  SparseParts parts = parts_of(x.tensor);
  const Dims list{1, {parts.size()}};
  parts.valid = less(index_along(*parts.values.graph, list, 0), x.count.any());
  return parts;
}

/// The types of a sparse tensor.
template <class X>
struct SparseTypes {
  static constexpr bool is_sparse = false;
  static constexpr bool has_count = false;
};
template <class S, TypedExpr I, TypedExpr V>
struct SparseTypes<SparseTensor<S, I, V>> {
  static constexpr bool is_sparse = true;
  static constexpr bool has_count = false;
  using shape = S;
  using index = typename I::element;
  using element = typename V::element;
  static constexpr Extent size = V::shape::dims.extent[0];
};
template <class S, TypedExpr I, TypedExpr V>
struct SparseTypes<SparseElements<S, I, V>> : SparseTypes<SparseTensor<S, I, V>> {
  static constexpr bool has_count = true;
};

/// N elements of a sparse tensor of shape S with the element types of X.
template <class X, class S, Extent N>
using SparseOf = SparseTensor<S, Expr<typename SparseTypes<X>::index, Shape<N, S::rank>>,
                              Expr<typename SparseTypes<X>::element, Shape<N>>>;
template <class X, class S, Extent N>
using ElementsLike = SparseElements<S, Expr<typename SparseTypes<X>::index, Shape<N, S::rank>>,
                                    Expr<typename SparseTypes<X>::element, Shape<N>>>;

/// The typed sparse tensor of these coordinates and values.
template <class R>
constexpr R sparse_from(Graph& g, const AnyExpr& indices, const AnyExpr& values) {
  return R{{g, indices.id}, {g, values.id}};
}
template <class X>
constexpr Graph& graph_of_sparse(const X& x) {
  if constexpr (SparseTypes<X>::has_count) {
    return x.tensor.values.graph();
  } else {
    return x.values.graph();
  }
}

/// The elements that `keep` chooses, in their order, and their number.
constexpr std::array<AnyExpr, 3> retained(const SparseParts& x, const AnyExpr& keep) {
  const auto [positions, count] = apply(ops::Partition{{}, x.size(), 1, 2}, x.chosen(keep));
  return {slices_at(x.indices, positions, 0), slices_at(x.values, positions, 0), count};
}

/// The elements in row-major order of their coordinates, behind them those that don't count.
constexpr std::array<AnyExpr, 2> reordered(const SparseParts& x, const Dims& dims) {
  const AnyExpr places = x.or_else(ravel(x.indices, dims, Indexing::sparse_coordinates),
                                   Number{0, std::numeric_limits<std::int64_t>::max()});
  const AnyExpr order = sort_along(places, 0, {}, 1);
  return {slices_at(x.indices, order, 0), slices_at(x.values, order, 0)};
}

/// The number of each element's row, of all axes but the last; -1 if it does not count.
constexpr AnyExpr row_of(const SparseParts& x, const Dims& dims) {
  Dims leading = dims;
  --leading.rank;
  const AnyExpr front = slice_along(x.indices, 1, 0, leading.rank);
  return x.or_else(ravel(front, leading, Indexing::sparse_coordinates), Number{0, -1});
}

template <class S>
inline constexpr Extent rows_of_shape = [] {
  Dims leading = S::dims;
  if (leading.rank > 0) --leading.rank;
  return size_as_extent(leading);
}();

template <class X>
constexpr auto rebuilt(const X& x, const AnyExpr& indices, const AnyExpr& values) {
  using T = SparseTypes<X>;
  Graph& g = graph_of_sparse(x);
  const auto tensor = sparse_from<SparseOf<X, typename T::shape, T::size>>(g, indices, values);
  if constexpr (T::has_count) {
    return ElementsLike<X, typename T::shape, T::size>{tensor, x.count};
  } else {
    return tensor;
  }
}

}  // namespace detail

/// A SparseTensor or SparseElements.
template <class X>
concept SparseExpr = detail::SparseTypes<X>::is_sparse;

/// The elements for which `keep`, a boolean each, is true: {tensor, count}. Padding follows them.
template <SparseExpr X, TypedExpr K>
constexpr auto sparse_retain(const X& x, const K& keep,
                             std::source_location at = std::source_location::current()) {
  using T = detail::SparseTypes<X>;
  static_assert(detail::in_domain<Domain::booleans, K> && K::shape::dims == Dims{1, {T::size}},
                "sparse_retain(x, keep): keep must have a boolean for each element of x");
  detail::mark(at, keep);
  const auto [indices, values, count] = detail::retained(detail::parts_of(x), keep.any());
  Graph& g = keep.graph();
  using R = detail::SparseOf<X, typename T::shape, T::size>;
  return detail::ElementsLike<X, typename T::shape, T::size>{
      detail::sparse_from<R>(g, indices, values), {g, count.id}};
}

/// The elements in row-major order of their coordinates; elements of equal coordinates stay in
/// their order. A coordinate outside of its axis is an error of the run.
template <SparseExpr X>
constexpr auto sparse_reorder(const X& x,
                              std::source_location at = std::source_location::current()) {
  using T = detail::SparseTypes<X>;
  constexpr bool fits = detail::size_as_extent(T::shape::dims) != no_extent;
  static_assert(fits, "sparse_reorder(x): x may have tf::batch in one axis at most");
  const detail::SparseParts parts = detail::parts_of(x);
  ir::records(detail::graph_of_sparse(x)).source = source_line(at);
  if constexpr (fits) {
    const auto [indices, values] = detail::reordered(parts, T::shape::dims);
    return detail::rebuilt(x, indices, values);
  } else {
    return x;
  }
}

/// The elements inside of a window, with coordinates in it: {tensor, count}. Takes tf::range(begin,
/// end), tf::from(begin) or tf::whole for each axis, as slice: sparse_slice<tf::range(0, 2),
/// tf::from(1)>(x). Padding follows the elements.
template <AxisSlice... Slices, SparseExpr X>
constexpr auto sparse_slice(const X& x, std::source_location at = std::source_location::current()) {
  using T = detail::SparseTypes<X>;
  using S = typename T::shape;
  using Rule = detail::SliceRule<S, Slices...>;
  constexpr bool fits = [] {
    if (Rule::plan.problem != detail::SlicePlan::Problem::none || Rule::plan.reversed != 0 ||
        Rule::value.rank != S::rank) {
      return false;
    }
    for (int i = 0; i < S::rank; ++i) {
      if (Rule::plan.window.step[i] != 1 || Rule::plan.window.begin[i] < 0) return false;
      if (Rule::plan.size.extent[i] != Rule::value.extent[i]) return false;
    }
    return true;
  }();
  static_assert(fits,
                "sparse_slice<...>(x): each axis needs tf::whole, or a tf::range or tf::from "
                "inside of it with steps of 1");
  const detail::SparseParts parts = detail::parts_of(x);
  Graph& g = detail::graph_of_sparse(x);
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (fits) {
    AnyExpr begins[S::rank];
    AnyExpr keep{};
    const DType type = parts.indices.dtype();
    for (int i = 0; i < S::rank; ++i) {
      begins[i] = reshape_to(
          detail::constant_node(graph, type, Number{0, Rule::plan.window.begin[i]}), Dims{1, {1}});
      if (Rule::plan.size.extent[i] == S::dims.extent[i]) continue;
      const AnyExpr c = reshape_to(slice_along(parts.indices, 1, i, 1), parts.values.dims());
      const Extent begin = Rule::plan.window.begin[i];
      const auto bound = [&](Extent n) { return detail::constant_node(graph, type, Number{0, n}); };
      const AnyExpr inside = logical_and(greater_equal(c, bound(begin)),
                                         less(c, bound(begin + Rule::plan.size.extent[i])));
      keep = keep.exists() ? logical_and(keep, inside) : inside;
    }
    if (!keep.exists()) {
      keep = broadcast_to(detail::constant_node(graph, DType::boolean, Number{0, 1}),
                          parts.values.dims());
    }
    const detail::SparseParts moved{parts.indices - concat_to(begins, 0), parts.values,
                                    parts.valid};
    const auto [indices, values, count] = detail::retained(moved, keep);
    using R = detail::SparseOf<X, shape_of_t<Rule>, T::size>;
    return detail::ElementsLike<X, shape_of_t<Rule>, T::size>{
        detail::sparse_from<R>(g, indices, values), {g, count.id}};
  } else {
    return detail::ElementsLike<X, S, T::size>{};
  }
}

/// softmax along the last axis, over the elements of each row alone: where there is no element, the
/// result has none. Coordinates must be different. Gradients flow to the values.
template <SparseExpr X>
constexpr auto sparse_softmax(const X& x,
                              std::source_location at = std::source_location::current()) {
  using T = detail::SparseTypes<X>;
  constexpr Extent rows = detail::rows_of_shape<typename T::shape>;
  static_assert(contains(Domain::floating, dtype_of<typename T::element>),
                "sparse_softmax(x): x must be floating-point; convert the values with "
                "cast<float>(x)");
  static_assert(T::shape::rank >= 2 && rows != no_extent,
                "sparse_softmax(x): x must have two axes or more, and tf::batch in one of those in "
                "front of the last at most");
  const detail::SparseParts parts = detail::parts_of(x);
  ir::records(detail::graph_of_sparse(x)).source = source_line(at);
  if constexpr (T::shape::rank >= 2 && rows != no_extent) {
    const AnyExpr row = detail::row_of(parts, T::shape::dims);
    const auto rows_at = [&](const AnyExpr& of_rows) {
      return detail::gather_node(of_rows, row, 0, 0, Indexing::selection);
    };
    const AnyExpr y = detail::in_float(parts.values, [&](const AnyExpr& v) {
      const AnyExpr most = stop_gradient(
          detail::segment_extreme<ops::ScatterMax>(v, row, rows, Indexing::unsorted_segment_max));
      // Padding has the exponent 0, and its sum is replaced by 1.
      const AnyExpr e = exp(parts.or_else(v - rows_at(most), Number{}));
      const AnyExpr sum = detail::scatter_sum_node(row, e, rows, 0, 0, Indexing::selection);
      return parts.or_else(e / parts.or_else(rows_at(sum), Number{1, 1}), Number{});
    });
    return detail::rebuilt(x, parts.indices, y);
  } else {
    return x;
  }
}

/// x with the element `value` at [row, 0, ...] of each row, along axis 0, that has no element:
/// {tensor, count, empty}. The elements are in row-major order; padding follows them. There is room
/// for an element more for each row. `empty` has a boolean for each row.
template <SparseExpr X>
constexpr auto sparse_fill_empty_rows(
    const X& x, std::type_identity_t<typename detail::SparseTypes<X>::element> value,
    std::source_location at = std::source_location::current()) {
  using T = detail::SparseTypes<X>;
  using S = typename T::shape;
  constexpr Extent rows = S::dims.extent[0];
  constexpr Extent bound = sum_of(T::size, rows);
  constexpr bool fits = bound != no_extent && detail::size_as_extent(S::dims) != no_extent;
  static_assert(fits,
                "sparse_fill_empty_rows(x, value): the numbers of elements and of rows must both "
                "be numbers, or both multiples of tf::batch");
  Graph& g = detail::graph_of_sparse(x);
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const detail::SparseParts parts = detail::parts_of(x);
  using Filled =
      SparseFilled<S, Expr<typename T::index, Shape<fits ? bound : 1, S::rank>>,
                   Expr<typename T::element, Shape<fits ? bound : 1>>, Expr<bool, Shape<rows>>>;
  if constexpr (fits) {
    const Dims list{1, {rows}};
    const AnyExpr row = parts.or_else(
        cast_to(reshape_to(slice_along(parts.indices, 1, 0, 1), parts.values.dims()), DType::int64),
        Number{0, -1});
    const AnyExpr sizes =
        detail::scatter_sum_node(row, detail::int32_ones(row), rows, 0, 0, Indexing::selection);
    const AnyExpr empty = equal(sizes, 0);
    // The new elements: one for each row, which counts where the row is empty.
    const DType type = parts.indices.dtype();
    AnyExpr columns[2] = {cast_to(index_along(graph, Dims{2, {rows, 1}}, 0), type), AnyExpr{}};
    columns[1] =
        broadcast_to(detail::constant_node(graph, type, Number{}), Dims{2, {rows, S::rank - 1}});
    const AnyExpr coordinates =
        S::rank == 1 ? columns[0] : concat_to(std::span<const AnyExpr>(columns, 2), 1);
    const AnyExpr filler =
        broadcast_to(detail::constant_node(graph, parts.values.dtype(), number_from(value)), list);
    const AnyExpr all = broadcast_to(detail::constant_node(graph, DType::boolean, Number{0, 1}),
                                     parts.values.dims());
    const auto join = [](const AnyExpr& a, const AnyExpr& b) {
      return concat_to(std::array{a, b}, 0);
    };
    const detail::SparseParts joined{join(parts.indices, coordinates), join(parts.values, filler),
                                     join(parts.valid.exists() ? parts.valid : all, empty)};
    const auto [indices, values] = detail::reordered(joined, S::dims);
    const AnyExpr count = reduce<ops::Sum>(cast_to(joined.valid, DType::int32), 1u, false);
    // Behind the elements there are rows that are not empty: padding instead.
    const AnyExpr counts = less(index_along(graph, values.dims(), 0), count);
    const AnyExpr per_row = reshape_to(counts, Dims{2, {bound, 1}});
    const AnyExpr padded = where(per_row, indices, detail::constant_node(graph, type, Number{}));
    const AnyExpr values_or_zero =
        where(counts, values, detail::constant_node(graph, values.dtype(), Number{}));
    return Filled{{{g, padded.id}, {g, values_or_zero.id}}, {g, count.id}, {g, empty.id}};
  } else {
    return Filled{};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
