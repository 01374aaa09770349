// SPDX-License-Identifier: Apache-2.0
#pragma once

// Embedding tables in several parts, rows clipped to a norm, and combining the rows of examples:
// the two steps of embedding_lookup_sparse, each with options.

#include <array>
#include <cstddef>
#include <limits>
#include <source_location>
#include <span>
#include <tuple>
#include <utility>

#include "typeflow/ops/index/embedding.hpp"
#include "typeflow/ops/index/stitch.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Which of P tables has a row.
enum class PartitionStrategy {
  mod,  ///< row id / P of table id mod P
  div,  ///< the tables one after another
};

/// What embedding_lookup does with its rows.
struct EmbeddingOptions {
  /// Rows with a larger Euclidean norm are scaled down to this one.
  double max_norm = std::numeric_limits<double>::infinity();
};

namespace detail {

/// x, with the parts along the axes after the first `rank` clipped to a norm.
constexpr AnyExpr clip_rows(const UntypedExpr auto& rows, int rank, EmbeddingOptions options) {
  const double limit = options.max_norm;
  if (!(limit > 0)) {
    Message message{};
    rows.graph->fail(
        message << "embedding_lookup(params, ids, options): max_norm must be positive");
  }
  if (!(limit < std::numeric_limits<double>::infinity())) return rows;
  return in_float(rows, [&](const auto& x) {
    const unsigned axes = all_axes(x.dims().rank) & ~all_axes(rank);
    const AnyExpr squares = axes == 0 ? x * x : reduce<ops::Sum>(x * x, axes, true);
    const AnyExpr is_long = greater(squares, limit * limit);
    const AnyExpr norm = sqrt(where(is_long, squares, 1));
    return where(is_long, x * limit / norm, x);
  });
}

/// The rows of a table in parts: each part gives its rows, and zeros for those of the others.
constexpr AnyExpr rows_of_parts(std::span<const AnyExpr> parts, const AnyExpr& ids,
                                PartitionStrategy strategy) {
  Extent rows = 0;
  for (const AnyExpr& part : parts) rows += part.dims().extent[0];
  Dims column = ids.dims();
  column.append(1);
  const AnyExpr id = ravel(reshape_to(ids, column), Dims{1, {rows}}, Indexing::embedding_lookup);
  const auto count = static_cast<int>(parts.size());
  AnyExpr y{};
  Extent begin = 0;
  for (int p = 0; p < count; ++p) {
    const AnyExpr& part = parts[static_cast<std::size_t>(p)];
    const Extent extent = part.dims().extent[0];
    AnyExpr row = id - begin;  // negative ones are left out
    if (strategy == PartitionStrategy::mod) {
      const AnyExpr quotient = id / count;
      row = where(equal(id - quotient * count, p), quotient, -1);
    } else {
      row = where(less(row, extent), row, -1);
    }
    const AnyExpr found = gather_node(part, row, 0, 0, Indexing::selection);
    y = p == 0 ? found : y + found;
    begin += extent;
  }
  return y;
}

/// The conditions for the parts of a table: alike but for their numbers of rows, which follow from
/// the strategy.
template <PartitionStrategy Strategy, class Tables, std::size_t... P>
constexpr bool are_parts(std::index_sequence<P...>) {
  if constexpr ((TypedExpr<std::tuple_element_t<P, Tables>> && ...)) {
    using First = std::tuple_element_t<0, Tables>;
    const Dims dims[] = {std::tuple_element_t<P, Tables>::shape::dims...};
    constexpr auto count = static_cast<Extent>(sizeof...(P));
    if (!same_elements<std::tuple_element_t<P, Tables>...> || !in_domain<Domain::numbers, First>) {
      return false;
    }
    Extent rows = 0;
    for (const Dims& d : dims) {
      if (d.rank == 0 || is_symbolic(d.extent[0])) return false;
      rows += d.extent[0];
    }
    for (Extent p = 0; p < count; ++p) {
      Dims expected = dims[0];
      expected.extent[0] =
          Strategy == PartitionStrategy::mod ? (rows - p + count - 1) / count : dims[p].extent[0];
      if (!(dims[p] == expected)) return false;
    }
    return true;
  } else {
    return false;
  }
}

template <class X, class I>
struct PartRowsRule {
  static constexpr Dims value = gathered(X::dims, I::dims, 0, 0);
};

}  // namespace detail

/// The rows of an embedding table for these ids, clipped to a norm: embedding_lookup(params, words,
/// {.max_norm = 1}). (N,R...) x (I...) -> (I...,R...)
///
/// Otherwise as embedding_lookup(params, ids). Gradients go through the clipping.
template <TypedExpr X, TypedExpr I>
constexpr auto embedding_lookup(const X& params, const I& ids, EmbeddingOptions options,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "embedding_lookup(params, ids, options): params must be floating-point numbers");
  const auto rows = embedding_lookup(params, ids, at);
  return detail::same_type(rows, detail::clip_rows(rows.any(), I::rank, options).id);
}

/// The same for a table in parts, a std::array or std::tuple of tensors:
/// embedding_lookup<tf::PartitionStrategy::div>(std::tuple{a, b, c}, ids). P times (Np,R...) x
/// (I...) -> (I...,R...)
///
/// With `mod`, the default, id i is row i / P of table i mod P; if P does not divide N, the sum of
/// all rows, the first tables have one row more. With `div` the tables follow one another. An id
/// outside of [0, N) is an error of the run. The gradient of each table is sparse.
template <PartitionStrategy Strategy = PartitionStrategy::mod, detail::TupleLike Tables,
          TypedExpr I>
  requires(!TypedExpr<Tables>)
constexpr auto embedding_lookup(const Tables& tables, const I& ids, EmbeddingOptions options = {},
                                std::source_location at = std::source_location::current()) {
  constexpr std::size_t count = std::tuple_size_v<Tables>;
  static_assert(count > 0, "embedding_lookup<strategy>(tables, ids): there must be a table");
  static_assert(
      detail::are_parts<Strategy, Tables>(std::make_index_sequence<count>{}),
      "embedding_lookup<strategy>(tables, ids): the tables must have one element type, of "
      "numbers, and one shape but for the number of rows; by mod the first ones have one "
      "row more than the others if the rows can't be shared out equally");
  static_assert(
      detail::are_indices<I> && I::rank < max_rank,
      "embedding_lookup<strategy>(tables, ids): the ids must be integers, with fewer than "
      "tf::max_rank axes");
  using First = std::tuple_element_t<0, Tables>;
  const auto& first = std::get<0>(tables);
  detail::mark(at, first);
  const auto parts =
      std::apply([](const auto&... table) { return std::array{table.any()...}; }, tables);
  using Rule = detail::PartRowsRule<typename First::shape, typename I::shape>;
  const AnyExpr rows = detail::rows_of_parts(parts, ids.any(), Strategy);
  return Expr<typename First::element, shape_of_t<Rule>>(
      first.graph(), detail::clip_rows(rows, I::rank, options).id);
}

/// Combines rows of n examples, any number for each, into one for each: embedding_combine<n,
/// combiner>(rows, segment_ids). Row k belongs to example segment_ids[k]. (K,R...) x (K) ->
/// (n,R...)
///
/// embedding_lookup_sparse does this with the rows of embedding_lookup. A negative segment id
/// leaves a row out; an example without rows is zero; segment ids of n or more are errors of the
/// run.
template <Extent N, Combiner C = Combiner::mean, TypedExpr X, TypedExpr S>
constexpr auto embedding_combine(const X& rows, const S& segment_ids,
                                 std::source_location at = std::source_location::current()) {
  static_assert(
      detail::are_sparse_ids<X, S, S> &&
          detail::SegmentRule<typename S::shape, typename X::shape, N>::value.valid(),
      "embedding_combine<n>(rows, segment_ids): segment_ids must be integers in one axis, "
      "one for each row");
  static_assert(detail::in_domain<Domain::floating, X>,
                "embedding_combine<n>(rows, segment_ids): rows must be floating-point numbers");
  detail::mark(at, rows);
  return Expr<typename X::element, shape_of_t<detail::EmbeddingRule<typename X::shape, N>>>(
      rows.graph(), detail::combine_rows(rows.any(), segment_ids.any(), AnyExpr{}, N, C).id);
}
/// The same, with a weight for each row. (K,R...) x (K) x (K) -> (n,R...)
template <Extent N, Combiner C = Combiner::mean, TypedExpr X, TypedExpr S, TypedExpr W>
constexpr auto embedding_combine(const X& rows, const S& segment_ids, const W& weights,
                                 std::source_location at = std::source_location::current()) {
  static_assert(detail::are_sparse_ids<X, S, S> &&
                    detail::SegmentRule<typename S::shape, typename X::shape, N>::value.valid(),
                "embedding_combine<n>(rows, segment_ids, weights): segment_ids must be integers in "
                "one axis, one for each row");
  static_assert(detail::in_domain<Domain::floating, X> && detail::same_elements<X, W> &&
                    W::shape::dims == S::shape::dims,
                "embedding_combine<n>(rows, segment_ids, weights): rows and weights must have one "
                "floating-point type, and the weights the shape of the segment ids");
  detail::mark(at, rows);
  return Expr<typename X::element, shape_of_t<detail::EmbeddingRule<typename X::shape, N>>>(
      rows.graph(), detail::combine_rows(rows.any(), segment_ids.any(), weights.any(), N, C).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
