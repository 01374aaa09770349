// SPDX-License-Identifier: Apache-2.0
#pragma once

// Putting rows at indices, the counterparts of selection.hpp: dynamic_stitch reverses
// dynamic_partition, sparse_to_dense reverses where.
//
// Both take two steps: for each place of the result the last row that names it (LastPositions),
// then one Gather of rows at these positions, which makes zeros for -1, no row.

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/selection.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// For each element of a tensor of shape `extent`, the last row of indices that names it, or -1. A
/// row that begins with -1 names none. (N,R) -> (extents of R axes)
struct LastPositions : custom {
  static constexpr std::string_view name = "LastPositions";
  static constexpr Derivative derivative = Derivative::zero;
  Extent extent[max_rank];
  std::int32_t rank;
  std::int32_t stitches;  ///< 1: for dynamic_stitch, 0: for sparse_to_dense; in messages

  constexpr Dims dims() const {
    Dims out{};
    for (int i = 0; i < rank; ++i) out.append(extent[i]);
    return out;
  }
  static constexpr Type infer(const LastPositions& op, const Type& indices) {
    const bool fits =
        is_integer(indices.dtype) && indices.dims.rank == 2 && indices.dims.extent[1] == op.rank;
    return {DType::int32, fits ? op.dims() : no_dims};
  }
  TYPEFLOW_COLD static Error explain(const LastPositions& op, const Failure& wrong,
                                     std::span<const Dims>) {
    const auto [index, row, axis, extent] = wrong.number;
    const char* const operation = op.stitches != 0 ? "dynamic_stitch" : "sparse_to_dense";
    const std::string column = op.stitches != 0 ? "" : ", " + std::to_string(axis);
    return Error(operation, "index " + std::to_string(index) + " at [" + std::to_string(row) +
                                column + "] is not in [0, " + std::to_string(extent) + ")");
  }
  static void interpret(InterpretCall& call) {
    const LastPositions op = decode<LastPositions>(call.graph, call.node);
    const HostTensor& indices = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    for (Number& last : y.elements) last.integer = -1;
    for (std::int64_t row = 0; row < indices.dims.extent[0]; ++row) {
      if (detail::index_at(indices, row * op.rank) == -1) continue;
      std::int64_t place = 0;
      for (int axis = 0; axis < op.rank; ++axis) {
        const std::int64_t index = detail::index_at(indices, row * op.rank + axis);
        const std::int64_t extent = y.dims.extent[axis];
        if (index < 0 || index >= extent) {
          throw explain(op, {1, {index, row, axis, extent}}, {});
        }
        place = place * extent + index;
      }
      y[place].integer = row;
    }
  }
};

}  // namespace ops

namespace detail {

template <UntypedExpr X>
constexpr AnyExpr last_positions(const X& indices, const Dims& dims, bool stitches = false) {
  ops::LastPositions op{};
  for (int i = 0; i < dims.rank; ++i) op.extent[i] = dims.extent[i];
  op.rank = dims.rank;
  op.stitches = stitches;
  return apply(op, indices);
}

/// The indices, with -1 past the count. Unsigned ones become int64, which can hold -1.
template <UntypedExpr X>
constexpr AnyExpr counted(const X& indices, const AnyExpr& count) {
  const AnyExpr row = index_along(*indices.graph, Dims{1, {indices.dims()[0]}}, 0);
  Dims column{1, {indices.dims()[0]}};
  while (column.rank < indices.dims().rank) column.append(1);
  AnyExpr used = indices;
  if (is_unsigned(indices.dtype())) used = cast_to(indices, DType::int64);
  return where(reshape_to(less(row, count), column), used, -1);
}

template <class T>
constexpr auto values_of(const T& x) {
  if constexpr (requires { x.values; }) {
    return x.values;
  } else if constexpr (requires { x.indices; }) {
    return x.indices;
  } else {
    return x;
  }
}
template <class T>
using ValuesOf = decltype(values_of(std::declval<const T&>()));

/// A tensor, or one with a count.
template <class T>
concept MaybeCounted = TypedExpr<ValuesOf<T>>;

template <MaybeCounted T>
constexpr AnyExpr counted_of(const T& x) {
  if constexpr (requires { x.count; }) {
    return counted(values_of(x).any(), x.count.any());
  } else {
    return x.any();
  }
}

}  // namespace detail

/// Untyped: rows of several tensors, put at the indices.
constexpr AnyExpr dynamic_stitch(std::span<const AnyExpr> indices, std::span<const AnyExpr> data,
                                 Extent extent) {
  AnyExpr result{};
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const int rank = indices[k].dims().rank;
    const Extent size = detail::size_as_extent(indices[k].dims());
    const AnyExpr positions =
        detail::last_positions(reshape_to(indices[k], Dims{2, {size, 1}}), Dims{1, {extent}}, true);
    const AnyExpr rows = detail::slices_at(
        reshape_to(data[k], detail::with_axis(data[k].dims(), 0, rank, size)), positions, 0);
    if (result.exists()) {
      Dims column{1, {extent}};
      while (column.rank < rows.dims().rank) column.append(1);
      result = where(reshape_to(greater_equal(positions, 0), column), rows, result);
    } else {
      result = rows;
    }
  }
  return result;
}

/// Untyped: a tensor of these dims with values at the indices, elsewhere `otherwise` (0 if it does
/// not exist).
template <UntypedExpr X>
constexpr AnyExpr sparse_to_dense(const X& indices, const AnyExpr& values, const AnyExpr& otherwise,
                                  const Dims& dims) {
  const int rank = indices.dims().rank;
  const Extent size = rank == 0 ? 1 : indices.dims()[0];
  const AnyExpr positions =
      detail::last_positions(reshape_to(indices, Dims{2, {size, dims.rank}}), dims);
  const AnyExpr row = values.dims().rank == 0 ? broadcast_to(values, Dims{1, {size}}) : values;
  const Dims flat{1, {detail::size_as_extent(dims)}};
  const AnyExpr dense = reshape_to(detail::slices_at(row, reshape_to(positions, flat), 0), dims);
  return otherwise.exists() ? where(greater_equal(positions, 0), dense, otherwise) : dense;
}

namespace detail {

/// The axes of data behind those of its indices; no_dims if it does not begin with their shape.
constexpr Dims row_dims(const Dims& indices, const Dims& data) {
  Dims out{};
  if (data.rank < indices.rank) return no_dims;
  for (int i = 0; i < indices.rank; ++i) {
    if (data.extent[i] != indices.extent[i]) return no_dims;
  }
  for (int i = indices.rank; i < data.rank; ++i) out.append(data.extent[i]);
  return out;
}

template <class L>
concept TupleLike = requires { std::tuple_size<L>::value; };

template <Extent N, class I, class D, class S>
struct StitchRule;
template <Extent N, class I, class D, std::size_t... K>
struct StitchRule<N, I, D, std::index_sequence<K...>> {
  template <std::size_t J>
  using Index = ValuesOf<std::tuple_element_t<J, I>>;
  template <std::size_t J>
  using Data = ValuesOf<std::tuple_element_t<J, D>>;
  static constexpr bool integers = (in_domain<Domain::integers, Index<K>> && ...);
  static constexpr bool same = same_elements<Data<K>...>;
  static constexpr Dims row = row_dims(Index<0>::shape::dims, Data<0>::shape::dims);
  static constexpr bool fits =
      row.valid() && ((row_dims(Index<K>::shape::dims, Data<K>::shape::dims) == row) && ...);
  static constexpr bool are_axes = ((size_as_extent(Index<K>::shape::dims) != no_extent) && ...);
  static constexpr bool valid = integers && same && fits && are_axes;
  static constexpr Dims value = valid && max_rank > row.rank ? with_axis(row, 0, 0, N) : no_dims;
};

}  // namespace detail

/// The reverse of dynamic_partition: y[indices[k][i]] = data[k][i]. If several rows go to one
/// place, the last one of the last tensor wins. Places without an index are zero. K times (S) and
/// (S,B) -> (N,B)
///
///   dynamic_stitch<10>(std::tuple{i, j}, std::tuple{x, y})
///   dynamic_stitch<10>(dynamic_partition<2>(ids, p), dynamic_partition<2>(x, p))
///
/// Lists are std::tuples or std::arrays of tensors. One with a count ({values, count}) is used up
/// to it. Index -1 names no place; others outside of [0, N) are an Error of the run. (TensorFlow's
/// result is as long as the largest index needs, and undefined at places without an index.)
template <Extent N, class Indices, class Data>
  requires(detail::TupleLike<Indices> && detail::TupleLike<Data>)
constexpr auto dynamic_stitch(const Indices& indices, const Data& data,
                              std::source_location at = std::source_location::current()) {
  constexpr std::size_t count = std::tuple_size_v<Indices>;
  static_assert(count > 0 && count == std::tuple_size_v<Data>,
                "dynamic_stitch<n>(indices, data): as many tensors of data are needed as of "
                "indices, one or more");
  if constexpr (count > 0 && count == std::tuple_size_v<Data>) {
    using Rule = detail::StitchRule<N, Indices, Data, std::make_index_sequence<count>>;
    static_assert(Rule::integers, "dynamic_stitch<n>(indices, data): indices must be integers");
    static_assert(Rule::same,
                  "dynamic_stitch<n>(indices, data): the element types of data must be equal; "
                  "convert with cast<T>(x)");
    static_assert(Rule::fits,
                  "dynamic_stitch<n>(indices, data): the shape of each tensor of data must begin "
                  "with that of its indices, and go on alike for all");
    static_assert(Rule::are_axes,
                  "dynamic_stitch<n>(indices, data): no more than one axis of indices can be a "
                  "multiple of tf::batch");
    using E =
        Expr<typename detail::ValuesOf<std::tuple_element_t<0, Data>>::element, shape_of_t<Rule>>;
    if constexpr (Rule::valid) {
      return [&]<std::size_t... K>(std::index_sequence<K...>) {
        const auto first = detail::values_of(std::get<0>(data));
        detail::mark(at, first);
        const AnyExpr of_indices[] = {detail::counted_of(std::get<K>(indices))...};
        const AnyExpr of_data[] = {detail::values_of(std::get<K>(data)).any()...};
        return E(first.graph(), dynamic_stitch(of_indices, of_data, N).id);
      }(std::make_index_sequence<count>{});
    } else {
      return E{};
    }
  }
}

/// A tensor of shape D... with the values at the indices, elsewhere `otherwise`, a number or a
/// scalar tensor: sparse_to_dense<4, 5>(indices, values). (N,R) x (N) or () -> (D...), R axes. With
/// one axis, indices may be (N) or (), too.
///
/// Indices with a count (where's result) are used up to it. A row that begins with -1 names
/// nothing; others outside of the shape are an Error of the run. If several values go to one place,
/// the last wins, as in TensorFlow without validate_indices.
template <Extent... D, detail::MaybeCounted I, TypedExpr V, Operand O = int>
constexpr auto sparse_to_dense(const I& indices, const V& values, const O& otherwise = 0,
                               std::source_location at = std::source_location::current()) {
  using Index = detail::ValuesOf<I>;
  constexpr Dims of_indices = Index::shape::dims;
  constexpr Dims dims = Shape<D...>::dims;
  constexpr bool integers = detail::in_domain<Domain::integers, Index>;
  static_assert(integers, "sparse_to_dense<D...>(indices, values): indices must be integers");
  constexpr bool fits = (of_indices.rank == 2 && of_indices.extent[1] == dims.rank) ||
                        (of_indices.rank < 2 && dims.rank == 1);
  static_assert(fits,
                "sparse_to_dense<D...>(indices, values): indices must have a column for each axis "
                "of D...; for one axis a list or a scalar will do, too");
  constexpr bool rows =
      V::rank == 0 || (V::rank == 1 && V::shape::dims.extent[0] ==
                                           (of_indices.rank == 0 ? 1 : of_indices.extent[0]));
  static_assert(rows,
                "sparse_to_dense<D...>(indices, values): values must be a scalar, or a list with "
                "one value for each row of indices");
  constexpr bool is_axis = detail::size_as_extent(dims) != no_extent;
  static_assert(is_axis,
                "sparse_to_dense<D...>(indices, values): no more than one of D... can be a "
                "multiple of tf::batch");
  constexpr bool other = detail::same_elements<V, O> && detail::literals_fit<V, O> &&
                         detail::ShapeOf<O>::type::rank == 0;
  static_assert(
      other,
      "sparse_to_dense<D...>(indices, values, otherwise): otherwise must be a number or a "
      "scalar with the element type of values");
  using E = Expr<typename V::element, Shape<D...>>;
  if constexpr (integers && fits && rows && is_axis && other) {
    detail::mark(at, values);
    AnyExpr rest{values.any().graph, none};
    if constexpr (Literal<O>) {
      if (otherwise != O{}) rest = detail::literal_node(values.graph(), V::type.dtype, otherwise);
    } else {
      rest = otherwise.any();
    }
    return E(values.graph(),
             sparse_to_dense(detail::counted_of(indices), values.any(), rest, dims).id);
  } else {
    return E{};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
