// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products, extremes and means of segments: segment_prod and the like; sums are in segments.hpp.
// Ids are the same: sorted ones along one axis, or unsorted ones of any shape, where negative ids
// are left out.
//
// Segments without elements have TensorFlow's values: 1 for a product, 0 for a mean. For extremes
// with sorted ids it is 0, with unsorted ids the lowest or largest finite number of the element
// type.

#include <array>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/index/segments.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Folds the slices of values with the same index along axis 0, from the fold's identity on, in the
/// order of the indices. (I...,R...) x (I...) -> (extent,R...)
template <class Self, class Fold>
struct scatter_fold : custom {
  using fold = Fold;
  static constexpr Domain domain = Fold::domain;

  static constexpr Type infer(const Self& op, const Type& values, const Type& indices) {
    return {values.dtype, is_integer(indices.dtype)
                              ? detail::scattered(indices.dims, values.dims, op.extent, 0, 0)
                              : no_dims};
  }
  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    const HostTensor& values = *call.inputs[0];
    const HostTensor& indices = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    const detail::IndexLoops loops =
        detail::index_loops(detail::extents_of(y), detail::extents_of(indices), 0, 0);
    detail::check_indices(op.indexing, indices, loops.extent);
    detail::visit_widest(y.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (contains(domain, dtype_of<Wide>)) {
        std::vector<Wide> folded(static_cast<std::size_t>(y.size()),
                                 typeflow::to<Wide>(Fold::start_of(y.dtype)));
        detail::each_index(loops, indices, [&](std::int64_t to, std::int64_t from) {
          for (std::int64_t r = 0; r < loops.inner && to >= 0; ++r) {
            Wide& element = folded[static_cast<std::size_t>(to * loops.inner + r)];
            element = Fold{}(element, typeflow::to<Wide>(values[from * loops.inner + r]));
          }
        });
        for (std::int64_t i = 0; i < y.size(); ++i) {
          y[i] = detail::fitted(number_from(folded[static_cast<std::size_t>(i)]), y.dtype);
        }
      }
    });
  }
  static Error explain(const Self& op, const Failure& wrong, std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[1]));
  }
  static constexpr AnyExpr sum(const Self& op, const AnyExpr& values, const AnyExpr& indices) {
    return detail::scatter_sum_node(indices, values, op.extent, 0, 0, op.indexing);
  }
  static constexpr AnyExpr rows(const Self& op, const AnyExpr& x, const AnyExpr& indices) {
    return detail::gather_node(x, indices, 0, 0, op.indexing);
  }
  /// The gradient goes to the elements that are the extreme, in equal parts.
  static constexpr std::array<AnyExpr, 2> extreme_gradient(const Self& op, const auto& values,
                                                           const auto& indices, const auto& y,
                                                           const auto& dy) {
    const auto chosen = cast_to(equal(values, rows(op, y, indices)), values.dtype());
    const auto count = maximum(sum(op, chosen, indices), 1);
    return {chosen * rows(op, dy / count, indices), AnyExpr{}};
  }
};

struct ScatterProd : scatter_fold<ScatterProd, Prod> {
  static constexpr std::string_view name = "ScatterProd";
  Extent extent;
  Indexing indexing;

  /// dy times the product of the others: y / x. For the only zero in a segment it is the product of
  /// the other elements, as in TensorFlow. For one of two zeros it is the other zero times the
  /// rest.
  static constexpr std::array<AnyExpr, 2> gradient(ScatterProd op, auto values, auto indices,
                                                   auto y, auto dy) {
    const AnyExpr zero = equal(values, 0);
    // The number of zeros, with the gradient of their sum.
    const AnyExpr zeros = rows(op, sum(op, where(zero, 1 + values, 0), indices), indices);
    const AnyExpr rest =
        where(equal(zeros, 2), zeros - 2 - values, cast_to(equal(zeros, 1), y.dtype()));
    const AnyExpr others = where(zero, 1, values);
    const AnyExpr to_zero = rows(op, dy * apply(op, others, indices), indices);
    return {where(zero, rest * to_zero, rows(op, dy * y, indices) / others), AnyExpr{}};
  }
};
struct ScatterMax : scatter_fold<ScatterMax, Max> {
  static constexpr std::string_view name = "ScatterMax";
  Extent extent;
  Indexing indexing;
  static constexpr std::array<AnyExpr, 2> gradient(ScatterMax op, auto values, auto indices, auto y,
                                                   auto dy) {
    return extreme_gradient(op, values, indices, y, dy);
  }
};
struct ScatterMin : scatter_fold<ScatterMin, Min> {
  static constexpr std::string_view name = "ScatterMin";
  Extent extent;
  Indexing indexing;
  static constexpr std::array<AnyExpr, 2> gradient(ScatterMin op, auto values, auto indices, auto y,
                                                   auto dy) {
    return extreme_gradient(op, values, indices, y, dy);
  }
};

}  // namespace ops

namespace detail {

constexpr AnyExpr segment_prod_node(const UntypedExpr auto& values, const UntypedExpr auto& ids,
                                    Extent segments, Indexing indexing) {
  return in_float(values, [&](const auto& v) {
    return apply(ops::ScatterProd{{}, segments, indexing}, v, ids);
  });
}

/// The number of ids of each segment, in a shape that broadcasts to the result's.
constexpr AnyExpr segment_sizes(const UntypedExpr auto& ids, Extent segments, int rank,
                                Indexing indexing) {
  Dims dims{1, {segments}};
  while (dims.rank < rank) dims.append(1);
  return reshape_to(scatter_sum_node(ids, int32_ones(ids), segments, 0, 0, indexing), dims);
}

/// The lowest or the largest finite number of an element type.
constexpr AnyExpr finite_limit(std::same_as<ir::Graph> auto& graph, DType type, bool largest) {
  return visit_dtype(type, [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    return constant_node(graph, type, number_from(largest ? Limits::max() : Limits::lowest()));
  });
}

/// The extremes of segments, by ops::ScatterMax or ScatterMin.
template <class O>
constexpr AnyExpr segment_extreme(const AnyExpr& values, const AnyExpr& ids, Extent segments,
                                  Indexing indexing) {
  const auto y = apply(O{{}, segments, indexing}, values, ids);
  const bool sorted = rule_of(indexing).sorted;
  if (!sorted && is_integer(y.dtype())) return y;
  const AnyExpr none = equal(segment_sizes(ids, segments, y.dims().rank, indexing), 0);
  if (sorted) return where(none, 0, y);
  constexpr bool largest = std::is_same_v<O, ops::ScatterMin>;
  return where(none, finite_limit(*y.graph, y.dtype(), largest), y);
}

/// The sums of segments over their numbers of ids, or over the square roots of these.
constexpr AnyExpr segment_quotient(const UntypedExpr auto& values, const UntypedExpr auto& ids,
                                   Extent segments, Indexing indexing, bool root) {
  return in_float(values, [&](const auto& v) {
    const auto total = scatter_sum_node(ids, v, segments, 0, 0, indexing);
    const auto sizes = segment_sizes(ids, segments, total.dims().rank, indexing);
    const auto count = cast_to(maximum(sizes, 1), v.dtype());
    return total / (root ? sqrt(count) : count);
  });
}

}  // namespace detail

/// The products of the rows of `values` with the same id, for n ids: segment_prod<n>(values, ids).
/// (K,R...) x (K) -> (n,R...)
///
/// The ids are as for segment_sum. A segment without ids is 1. The gradient of an element is the
/// product of the others, computed by division as in TensorFlow; it is NaN for an infinite element.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto segment_prod(const V& values, const I& ids,
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, V>,
                "segment_prod<n>(values, ids): the values must be numbers");
  static_assert(detail::are_indices<I> && I::rank == 1,
                "segment_prod<n>(values, ids): the ids must be integers in one axis");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(I::rank != 1 || Rule::value.valid(),
                "segment_prod<n>(values, ids): the values must have as many rows as there are ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_prod_node(values.any(), ids.any(), N, Indexing::segment_prod).id);
}

/// The same for slices of `values` with ids in any order: unsorted_segment_prod<n>(values, ids).
/// (S...,R...) x (S...) -> (n,R...)
///
/// The ids are as for unsorted_segment_sum. A segment without ids is 1.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto unsorted_segment_prod(const V& values, const I& ids,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, V>,
                "unsorted_segment_prod<n>(values, ids): the values must be numbers");
  static_assert(detail::are_indices<I>,
                "unsorted_segment_prod<n>(values, ids): the ids must be integers");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(Rule::value.valid(),
                "unsorted_segment_prod<n>(values, ids): the first axes of the values must be the "
                "axes of the ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_prod_node(values.any(), ids.any(), N, Indexing::unsorted_segment_prod).id);
}

/// The largest elements of the rows of `values` with the same id, for n ids: segment_max<n>(values,
/// ids). (K,R...) x (K) -> (n,R...)
///
/// The ids are as for segment_sum. A segment without ids is 0, one with a NaN is NaN. Equal
/// extremes share the gradient equally.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto segment_max(const V& values, const I& ids,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, V>,
                "segment_max<n>(values, ids): the values must be real numbers");
  static_assert(detail::are_indices<I> && I::rank == 1,
                "segment_max<n>(values, ids): the ids must be integers in one axis");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(I::rank != 1 || Rule::value.valid(),
                "segment_max<n>(values, ids): the values must have as many rows as there are ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_extreme<ops::ScatterMax>(values.any(), ids.any(), N, Indexing::segment_max)
          .id);
}

/// The same for slices of `values` with ids in any order: unsorted_segment_max<n>(values, ids).
/// (S...,R...) x (S...) -> (n,R...)
///
/// The ids are as for unsorted_segment_sum. A segment without ids is the type's lowest finite
/// number.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto unsorted_segment_max(const V& values, const I& ids,
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, V>,
                "unsorted_segment_max<n>(values, ids): the values must be real numbers");
  static_assert(detail::are_indices<I>,
                "unsorted_segment_max<n>(values, ids): the ids must be integers");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(Rule::value.valid(),
                "unsorted_segment_max<n>(values, ids): the first axes of the values must be the "
                "axes of the ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(), detail::segment_extreme<ops::ScatterMax>(values.any(), ids.any(), N,
                                                               Indexing::unsorted_segment_max)
                          .id);
}

/// The smallest elements of the rows of `values` with the same id, for n ids:
/// segment_min<n>(values, ids). (K,R...) x (K) -> (n,R...)
///
/// The ids are as for segment_sum. A segment without ids is 0, one with a NaN is NaN. Equal
/// extremes share the gradient equally.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto segment_min(const V& values, const I& ids,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, V>,
                "segment_min<n>(values, ids): the values must be real numbers");
  static_assert(detail::are_indices<I> && I::rank == 1,
                "segment_min<n>(values, ids): the ids must be integers in one axis");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(I::rank != 1 || Rule::value.valid(),
                "segment_min<n>(values, ids): the values must have as many rows as there are ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_extreme<ops::ScatterMin>(values.any(), ids.any(), N, Indexing::segment_min)
          .id);
}

/// The same for slices of `values` with ids in any order: unsorted_segment_min<n>(values, ids).
/// (S...,R...) x (S...) -> (n,R...)
///
/// The ids are as for unsorted_segment_sum. A segment without ids is the type's largest finite
/// number.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto unsorted_segment_min(const V& values, const I& ids,
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, V>,
                "unsorted_segment_min<n>(values, ids): the values must be real numbers");
  static_assert(detail::are_indices<I>,
                "unsorted_segment_min<n>(values, ids): the ids must be integers");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(Rule::value.valid(),
                "unsorted_segment_min<n>(values, ids): the first axes of the values must be the "
                "axes of the ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(), detail::segment_extreme<ops::ScatterMin>(values.any(), ids.any(), N,
                                                               Indexing::unsorted_segment_min)
                          .id);
}

/// The means of the rows of `values` with the same id, for n ids: segment_mean<n>(values, ids).
/// (K,R...) x (K) -> (n,R...)
///
/// The ids are as for segment_sum. A segment without ids is 0.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto segment_mean(const V& values, const I& ids,
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, V>,
                "segment_mean<n>(values, ids): the values must be floating-point numbers");
  static_assert(detail::are_indices<I> && I::rank == 1,
                "segment_mean<n>(values, ids): the ids must be integers in one axis");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(I::rank != 1 || Rule::value.valid(),
                "segment_mean<n>(values, ids): the values must have as many rows as there are ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_quotient(values.any(), ids.any(), N, Indexing::segment_mean, false).id);
}

/// The same for slices of `values` with ids in any order: unsorted_segment_mean<n>(values, ids).
/// (S...,R...) x (S...) -> (n,R...)
///
/// The ids are as for unsorted_segment_sum. A segment without ids is 0.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto unsorted_segment_mean(const V& values, const I& ids,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, V>,
                "unsorted_segment_mean<n>(values, ids): the values must be floating-point numbers");
  static_assert(detail::are_indices<I>,
                "unsorted_segment_mean<n>(values, ids): the ids must be integers");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(Rule::value.valid(),
                "unsorted_segment_mean<n>(values, ids): the first axes of the values must be the "
                "axes of the ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_quotient(values.any(), ids.any(), N, Indexing::unsorted_segment_mean, false)
          .id);
}

/// The sums of the slices of `values` with the same id, over the square roots of their numbers:
/// unsorted_segment_sqrt_n<n>(values, ids). (S...,R...) x (S...) -> (n,R...)
///
/// The ids are as for unsorted_segment_sum. A segment without ids is 0.
template <Extent N, TypedExpr V, TypedExpr I>
constexpr auto unsorted_segment_sqrt_n(const V& values, const I& ids,
                                       std::source_location at = std::source_location::current()) {
  static_assert(
      detail::in_domain<Domain::floating, V>,
      "unsorted_segment_sqrt_n<n>(values, ids): the values must be floating-point numbers");
  static_assert(detail::are_indices<I>,
                "unsorted_segment_sqrt_n<n>(values, ids): the ids must be integers");
  using Rule = detail::SegmentRule<typename I::shape, typename V::shape, N>;
  static_assert(Rule::value.valid(),
                "unsorted_segment_sqrt_n<n>(values, ids): the first axes of the values must be the "
                "axes of the ids");
  detail::mark(at, values);
  return Expr<typename V::element, shape_of_t<Rule>>(
      values.graph(),
      detail::segment_quotient(values.any(), ids.any(), N, Indexing::unsorted_segment_sqrt_n, true)
          .id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
