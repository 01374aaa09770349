// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slices at rows of coordinates: gather_nd, scatter_nd. The indexed axes are merged into one, and
// rows of coordinates become positions along it.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "typeflow/ops/index/gather.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Rows of K coordinates as row-major positions in a tensor. The tensor's shape is that of the
/// second input, without its last axis, which is empty. (It is an input because a shape may depend
/// on the batch, and attributes can't.) (I...,K) x (D1,...,DK,0) -> (I...)
struct RavelIndex : custom {
  static constexpr std::string_view name = "RavelIndex";
  static constexpr Domain domain = Domain::any;
  static constexpr Derivative derivative = Derivative::zero;
  Indexing indexing;

  static constexpr Type infer(const RavelIndex&, const Type& indices, const Type& shape) {
    Dims dims = indices.dims;
    const bool fits = is_integer(indices.dtype) && dims.rank > 0 &&
                      dims.extent[dims.rank - 1] == shape.dims.rank - 1;
    --dims.rank;
    return {DType::int64, fits ? dims : no_dims};
  }
  /// The position of a row with the coordinates at(row * K), at(row * K + 1)... `shape` ends with
  /// the empty axis. Mistakes in coordinates are stored in `wrong`.
  template <class At>
  static std::int64_t position(std::int64_t row, const At& at, std::span<const std::int64_t> shape,
                               Failure& wrong) {
    std::int64_t position = 0;
    const auto depth = static_cast<std::int64_t>(shape.size()) - 1;
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t extent = shape[static_cast<std::size_t>(k)];
      const std::int64_t index = at(row * depth + k);
      if (index < 0 || index >= extent) {
        wrong = {1, {row, k, index, extent}};
        return -1;
      }
      position = position * extent + index;
    }
    return position;
  }
  TYPEFLOW_COLD static Error explain(const RavelIndex& op, const Failure& wrong,
                                     std::span<const Dims> operands) {
    const auto [row, k, index, extent] = wrong.number;
    const std::span<const std::int64_t> indices = detail::extents_of(operands[0]);
    const bool confusion = op.indexing == Indexing::confusion_matrix;
    const bool alone = op.indexing == Indexing::embedding_lookup;  // ids, as rows of one
    const std::string place = confusion || alone
                                  ? detail::place_of(row, indices.first(indices.size() - 1))
                                  : detail::place_of(row * indices.back() + k, indices);
    const detail::IndexingRule& rule = detail::rule_of(op.indexing);
    return detail::out_of_range(rule.name, confusion && k == 1 ? "prediction" : rule.index, index,
                                place, extent);
  }
  static void interpret(InterpretCall& call) {
    const RavelIndex op = decode<RavelIndex>(call.graph, call.node);
    const HostTensor& indices = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    for (std::int64_t row = 0; row < y.size(); ++row) {
      Failure wrong;
      y[row].integer = position(
          row, [&](std::int64_t i) { return detail::index_at(indices, i); },
          detail::extents_of(*call.inputs[1]), wrong);
      if (wrong.what != 0) throw explain(op, wrong, std::array{indices.dims});
    }
  }
};

}  // namespace ops

namespace detail {

/// The first `count` extents as one; no_dims if that is no extent, as batch * batch.
constexpr Dims flattened(const Dims& x, int count) {
  Count size{};
  for (int i = 0; i < count; ++i) size.multiply(x.extent[i]);
  if (extent_of(size) == no_extent) return no_dims;
  Dims out{};
  out.append(extent_of(size));
  for (int i = count; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}

/// The rows of indices as positions in a tensor with the first extents of `dims`.
template <UntypedExpr X>
constexpr AnyExpr ravel(const X& indices, const Dims& dims, Indexing indexing) {
  Dims shape{};
  for (int i = 0; i < indices.dims().extent[indices.dims().rank - 1]; ++i) {
    shape.append(dims.extent[i]);
  }
  shape.append(0);
  const AnyExpr empty =
      broadcast_to(constant_node(*indices.graph, DType::boolean, Number{}), shape);
  return apply(ops::RavelIndex{{}, indexing}, indices, empty);
}

}  // namespace detail

/// Untyped: the slices of x at rows of coordinates.
template <UntypedExpr X>
constexpr AnyExpr gather_nd(const X& x, const X& indices) {
  const auto depth = static_cast<int>(indices.dims().extent[indices.dims().rank - 1]);
  return detail::gather_node(reshape_to(x, detail::flattened(x.dims(), depth)),
                             detail::ravel(indices, x.dims(), Indexing::gather_nd), 0, 0,
                             Indexing::gather_nd);
}
/// Untyped: zeros of a shape, plus the values at rows of coordinates.
template <UntypedExpr X>
constexpr AnyExpr scatter_nd(const X& indices, const X& values, const Dims& dims) {
  if (values.dtype() == DType::boolean) {
    return cast_to(scatter_nd(indices, cast_to(values, DType::int32), dims), DType::boolean);
  }
  const auto depth = static_cast<int>(indices.dims().extent[indices.dims().rank - 1]);
  const AnyExpr positions = detail::ravel(indices, dims, Indexing::scatter_nd);
  const Extent extent = detail::flattened(dims, depth).extent[0];
  return reshape_to(detail::scatter_sum_node(positions, values, extent, 0, 0, Indexing::scatter_nd),
                    dims);
}

namespace detail {

/// The number of coordinates in a row of indices; -1 if it is not in [1, most].
template <class I>
constexpr int index_depth(int most) {
  if (I::rank == 0) return -1;
  const Extent depth = I::dims.extent[I::rank == 0 ? 0 : I::rank - 1];
  return depth < 1 || depth > most || depth >= max_rank ? -1 : static_cast<int>(depth);
}

/// indices[:-1] + x[K:]
constexpr Dims gathered_nd(const Dims& x, const Dims& indices, int depth) {
  if (depth < 0 || indices.rank - 1 + x.rank - depth > max_rank) return no_dims;
  Dims out{};
  for (int i = 0; i < indices.rank - 1; ++i) out.append(indices.extent[i]);
  for (int i = depth; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}
template <class X, class I>
struct GatherNdRule {
  static constexpr int depth = index_depth<I>(X::rank);
  static constexpr Dims value = gathered_nd(X::dims, I::dims, depth);
  static constexpr bool flattens = depth < 0 || flattened(X::dims, depth).valid();
};

}  // namespace detail

/// The slices of x at rows of K coordinates. With indices (B,2): the elements x[i,j] of a matrix.
/// (D1,...,DK,R...) x (I...,K) -> (I...,R...)
///
/// A coordinate outside of its axis is an error of the run.
template <TypedExpr X, TypedExpr I>
constexpr auto gather_nd(const X& x, const I& indices,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<I>, "gather_nd(x, indices): the indices must be integers");
  using Rule = detail::GatherNdRule<typename X::shape, typename I::shape>;
  static_assert(Rule::depth > 0,
                "gather_nd(x, indices): the last axis of the indices must have as many elements as "
                "axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || Rule::value.valid(),
                "gather_nd(x, indices): the result would have more axes than tf::max_rank");
  static_assert(Rule::flattens,
                "gather_nd(x, indices): only one of the axes that are indexed may have tf::batch");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                     gather_nd(x.any(), indices.any()).id);
}

/// Zeros of shape [D...], plus the values at rows of K coordinates; duplicates add up (booleans:
/// or): scatter_nd<100, 3>(indices, values). (I...,K) x (I...,D[K:]...) -> (D...)
///
/// A coordinate outside of its axis is an error of the run.
template <Extent... D, TypedExpr I, TypedExpr V>
constexpr auto scatter_nd(const I& indices, const V& values,
                          std::source_location at = std::source_location::current()) {
  using S = Shape<D...>;
  static_assert(detail::are_indices<I>,
                "scatter_nd<D...>(indices, values): the indices must be integers");
  using Rule = detail::GatherNdRule<S, typename I::shape>;
  static_assert(Rule::depth > 0,
                "scatter_nd<D...>(indices, values): the last axis of the indices must have as many "
                "elements as axes of the result are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || Rule::value == V::shape::dims,
                "scatter_nd<D...>(indices, values): the values must have the shape of the indices "
                "without the last axis, and then that of a slice of the result");
  static_assert(Rule::flattens,
                "scatter_nd<D...>(indices, values): only one of the axes that are indexed may have "
                "tf::batch");
  detail::mark(at, values);
  return Expr<typename V::element, S>(values.graph(),
                                      scatter_nd(indices.any(), values.any(), S::dims).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
