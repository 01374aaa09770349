// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors that depend on their shape only: zeros, ones, ranges, one-hot rows, masks; and shapes as
// tensors. They are broadcast constants and positions along axes, so they cost nothing: the kernels
// that use them compute them.

#include <cstdint>
#include <limits>
#include <source_location>
#include <type_traits>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> filled_with(Graph& g, int number, const std::source_location& at) {
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const AnyExpr scalar = constant_node(graph, dtype_of<T>, number_from(static_cast<T>(number)));
  return {g, broadcast_to(scalar, Shape<D...>::dims).id};
}

/// Indices with a new axis, and the positions along it, from 0 to below the extent. Both have a
/// type that holds every index and position, so that they can be compared.
struct IndexAndPosition {
  AnyExpr index;
  AnyExpr position;
};
constexpr IndexAndPosition along_new_axis(const AnyExpr& indices, const Dims& expanded, int axis,
                                          Extent extent) {
  Dims positions{};
  for (int i = 0; i < expanded.rank; ++i) positions.append(i == axis ? extent : 1);
  const DType type = size_of(indices.dtype()) < 4 ? DType::int32 : indices.dtype();
  return {cast_to(reshape_to(indices, expanded), type),
          cast_to(index_along(*indices.graph, positions, axis), type)};
}

/// Indices of 8 bytes as int32, so that they are compared in the kernels of elements of 4 bytes.
/// Those outside of [0, extent) stay outside.
constexpr AnyExpr narrow_indices(const UntypedExpr auto& indices, Extent extent) {
  constexpr Extent most = std::numeric_limits<std::int32_t>::max();
  if (size_of(indices.dtype()) < 8 || extent > most) return indices;
  const AnyExpr end = constant_node(*indices.graph, indices.dtype(), Number{0, extent});
  const auto below = minimum(indices, end);
  const auto inside = is_unsigned(indices.dtype()) ? below : maximum(below, -1);
  return cast_to(inside, DType::int32);
}

/// count as an int32 scalar. With symbols it is computed from a floating constant, which double
/// holds exactly.
constexpr AnyExpr count_node(ir::Graph& graph, const Count& count) {
  if (count.powers == 0) {
    return constant_node(graph, DType::int32, Number{0, count.coefficient});
  }
  const Number coefficient{static_cast<double>(count.coefficient), 0};
  return cast_to(constant_node(graph, DType::float64, coefficient, count.powers), DType::int32);
}

}  // namespace detail

/// A tensor of zeros: zeros<float, 2, 3>(g). (tf::zeros() is an initializer.)
template <Element T, Extent... D>
constexpr auto zeros(Graph& g, std::source_location at = std::source_location::current()) {
  return detail::filled_with<T, D...>(g, 0, at);
}
/// A tensor of ones: ones<float, 2, 3>(g).
template <Element T, Extent... D>
constexpr auto ones(Graph& g, std::source_location at = std::source_location::current()) {
  return detail::filled_with<T, D...>(g, 1, at);
}

/// Zeros with the type and shape of x. x gets no gradient.
template <TypedExpr X>
constexpr auto zeros_like(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  const AnyExpr zero = detail::constant_node(x.graph(), X::type.dtype, Number{});
  return detail::same_type(x, broadcast_to(zero, X::shape::dims).id);
}
template <UntypedExpr X>
constexpr AnyExpr zeros_like(const X& x) {
  return broadcast_to(detail::constant_node(*x.graph, x.dtype(), Number{}), x.dims());
}
/// Ones with the type and shape of x. x gets no gradient.
template <TypedExpr X>
constexpr auto ones_like(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  const AnyExpr one = detail::constant_node(x.graph(), X::type.dtype, Number{1, 1});
  return detail::same_type(x, broadcast_to(one, X::shape::dims).id);
}
template <UntypedExpr X>
constexpr AnyExpr ones_like(const X& x) {
  return broadcast_to(detail::constant_node(*x.graph, x.dtype(), Number{1, 1}), x.dims());
}

/// A tensor of shape [D...] with a scalar tensor everywhere: fill<2, 3>(x). () -> (2,3)
template <Extent... D, TypedExpr X>
constexpr auto fill(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(X::rank == 0, "fill<D...>(x): x must be a scalar");
  detail::mark(at, x);
  return Expr<typename X::element, Shape<D...>>(x.graph(),
                                                broadcast_to(x.any(), Shape<D...>::dims).id);
}

/// N numbers start, start + delta, ... Both are numbers or scalar tensors of type T. range<float,
/// 4>(g, 1, 0.5) is 1, 1.5, 2, 2.5. N may be tf::batch.
template <Element T, Extent N, Operand Start, Operand Delta>
constexpr auto range(Graph& g, const Start& start, const Delta& delta,
                     std::source_location at = std::source_location::current()) {
  using E = Expr<T, Shape<N>>;
  static_assert(contains(Domain::numbers, dtype_of<T>), "range<T, n>: T must be a type of numbers");
  static_assert(detail::same_elements<E, Start, Delta> && detail::literals_fit<E, Start, Delta>,
                "range<T, n>(g, start, delta): start and delta must be of type T");
  static_assert(detail::ShapeOf<Start>::type::rank == 0 && detail::ShapeOf<Delta>::type::rank == 0,
                "range<T, n>(g, start, delta): start and delta must be scalars");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  // 16-bit numbers are computed in float: not every position is one.
  constexpr DType type = dtype_of<detail::Computed<T>>;
  const AnyExpr first{&graph, detail::operand_id(graph, dtype_of<T>, start)};
  const AnyExpr step{&graph, detail::operand_id(graph, dtype_of<T>, delta)};
  const AnyExpr position = cast_to(index_along(graph, Shape<N>::dims, 0), type);
  return E(g, cast_to(position * cast_to(step, type) + cast_to(first, type), dtype_of<T>).id);
}

/// N evenly spaced numbers from `from` to `to`; the last is exactly `to`. Both are numbers or
/// scalar tensors of type T. linspace<float, 5>(g, 0, 1) is 0, 0.25, 0.5, 0.75, 1.
template <Element T, Extent N, Operand From, Operand To>
constexpr auto linspace(Graph& g, const From& from, const To& to,
                        std::source_location at = std::source_location::current()) {
  using E = Expr<T, Shape<N>>;
  static_assert(is_floating(dtype_of<T>), "linspace<T, n>: T must be a floating-point type");
  static_assert(N > 0, "linspace<T, n>: n must be a number, 1 or more");
  static_assert(detail::same_elements<E, From, To> && detail::literals_fit<E, From, To>,
                "linspace<T, n>(g, from, to): from and to must be of type T");
  static_assert(detail::ShapeOf<From>::type::rank == 0 && detail::ShapeOf<To>::type::rank == 0,
                "linspace<T, n>(g, from, to): from and to must be scalars");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const AnyExpr first{&graph, detail::operand_id(graph, dtype_of<T>, from)};
  if constexpr (N <= 1) {
    return E(g, reshape_to(first, Shape<N>::dims).id);
  } else {
    constexpr DType type = dtype_of<detail::Computed<T>>;
    const AnyExpr last = cast_to({&graph, detail::operand_id(graph, dtype_of<T>, to)}, type);
    const AnyExpr begin = cast_to(first, type);
    const AnyExpr index = index_along(graph, Shape<N>::dims, 0);
    const AnyExpr back = static_cast<int>(N - 1) - index;
    // From the nearer end, and in halves: last - begin may be too large.
    const AnyExpr half = (0.5 * last - 0.5 * begin) / static_cast<double>(N - 1);
    const AnyExpr lower = begin + cast_to(2 * index, type) * half;
    const AnyExpr upper = last - cast_to(2 * back, type) * half;
    return E(g, cast_to(where(less(index, back), lower, upper), dtype_of<T>).id);
  }
}

/// The number of axes of x, an int32 constant.
template <TypedExpr X>
constexpr auto rank(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  return Expr<std::int32_t>(x.graph(), detail::count_node(x.graph(), Count{X::rank, 0}).id);
}

/// The number of elements of x, an int32 constant. If it depends on tf::batch, it is computed when
/// a run starts.
template <TypedExpr X>
constexpr auto size(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  return Expr<std::int32_t>(x.graph(), detail::count_node(x.graph(), count_of(X::shape::dims)).id);
}

/// The extents of x, as int32 constants. Multiples of tf::batch are computed when a run starts.
/// (A,B) -> (2)
template <TypedExpr X>
constexpr auto shape(const X& x, std::source_location at = std::source_location::current()) {
  detail::mark(at, x);
  ir::Graph& graph = x.graph();
  const Dims& dims = X::shape::dims;
  using E = Expr<std::int32_t, Shape<static_cast<Extent>(X::rank)>>;
  if constexpr (X::rank == 0) {
    return E(x.graph(), broadcast_to(detail::count_node(graph, Count{0, 0}), E::type.dims).id);
  } else {
    AnyExpr extents[X::rank];
    for (int i = 0; i < X::rank; ++i) {
      Count count{};
      count.multiply(dims.extent[i]);
      extents[i] = reshape_to(detail::count_node(graph, count), Dims{1, {1}});
    }
    return E(x.graph(), concat_to(extents, 0).id);
  }
}

/// Rows of length Depth with `on` at the position of each index and `off` elsewhere, along a new
/// axis, by default the last. An index outside of [0, Depth) gives a row of `off`.
/// one_hot<10>(labels): (B) -> (B,10); one_hot<10, 0>(labels): (B) -> (10,B).
template <Extent Depth, int Axis = -1, Element T = float, TypedExpr X>
constexpr auto one_hot(const X& indices, std::type_identity_t<T> on = T(1),
                       std::type_identity_t<T> off = T(0),
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::integers, X>,
                "one_hot<depth>(indices): the indices must be integers");
  static_assert(!is_symbolic(Depth), "one_hot<depth>(indices): the depth must be a number");
  using Expanded = detail::ExpandRule<Axis, typename X::shape>;
  static_assert(Expanded::value.valid(),
                "one_hot<depth, axis>(indices): the result has no such axis");
  constexpr int axis = Expanded::axis;
  using Rule = detail::StackRule<Axis, typename X::shape, Depth>;
  detail::mark(at, indices);
  ir::Graph& graph = indices.graph();
  const AnyExpr labels =
      size_of(dtype_of<T>) <= 4 ? detail::narrow_indices(indices.any(), Depth) : indices.any();
  const auto [index, position] = detail::along_new_axis(labels, Expanded::value, axis, Depth);
  const AnyExpr yes = detail::constant_node(graph, dtype_of<T>, number_from(on));
  const AnyExpr no = detail::constant_node(graph, dtype_of<T>, number_from(off));
  return Expr<T, shape_of_t<Rule>>(indices.graph(), where(equal(index, position), yes, no).id);
}

/// Whether a position lies before a length: the first lengths[i] elements of row i are true.
/// sequence_mask<5>(lengths): (B) -> (B,5), booleans.
template <Extent MaxLength, TypedExpr X>
constexpr auto sequence_mask(const X& lengths,
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::integers, X>,
                "sequence_mask<max_length>(lengths): the lengths must be integers");
  static_assert(!is_symbolic(MaxLength),
                "sequence_mask<max_length>(lengths): the longest length must be a number");
  using Expanded = detail::ExpandRule<-1, typename X::shape>;
  static_assert(Expanded::value.valid(),
                "sequence_mask<max_length>(lengths): the lengths have too many axes");
  using Rule = detail::StackRule<-1, typename X::shape, MaxLength>;
  detail::mark(at, lengths);
  const auto [length, position] =
      detail::along_new_axis(lengths.any(), Expanded::value, X::rank, MaxLength);
  return Expr<bool, shape_of_t<Rule>>(lengths.graph(), less(position, length).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
