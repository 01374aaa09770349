// SPDX-License-Identifier: Apache-2.0
#pragma once

// All parts of a tensor along an axis: split, split_sizes, unstack. Each part is a slice of its
// own, so it is fused, dropped and folded by itself. To users they are one operation: descriptions
// and messages call it Split or Unstack, and tf::named (front/named.hpp) gives it one name.

#include <array>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <Extent Total, Extent... Sizes>
inline constexpr bool sizes_fit = [] {
  const Extent sizes[sizeof...(Sizes) + 1] = {Sizes..., 0};
  return sum_of(sizes, static_cast<int>(sizeof...(Sizes))) == Total;
}();

/// An operation that exists by name alone: its nodes are slices, which are parts of it.
constexpr ir::Op operation_of_slices(std::string_view name) {
  ir::Op op = record<ops::Slice>;
  op.name = name;
  op.kind = Kind::composite;
  op.expand = nullptr;
  return op;
}
inline constexpr ir::Op split_record = operation_of_slices("Split");
inline constexpr ir::Op unstack_record = operation_of_slices("Unstack");

/// The nodes that are made from here on are parts of one operation.
constexpr void mark_parts(const std::source_location& at, Graph& graph, const ir::Op& op) {
  ir::records(graph).source = source_line(at);
  ir::records(graph).source.make_part_of(op);
}

}  // namespace detail

/// n equal parts along an axis, as an array: auto xs = split<4, 0>(x). An axis of k*batch (or other
/// symbols) is split into parts of (k/n)*batch. (A,n*B) -> n of (A,B)
template <int N, int Axis, TypedExpr X>
constexpr auto split(const X& x, std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "split<n, axis>(x): x has no such axis");
  static_assert(N > 0, "split<n, axis>(x): n must be 1 or more");
  constexpr Extent extent = detail::extent_or_zero<typename X::shape, axis>;
  constexpr int parts = N > 0 ? N : 1;
  static_assert(
      factor_of(extent) % parts == 0,
      "split<n, axis>(x): n must divide the axis' extent; of a batch axis, k*batch, its k");
  constexpr Extent size = with_factor(extent, factor_of(extent) / parts);
  using E =
      Expr<typename X::element, shape_of_t<detail::ResizeRule<typename X::shape, axis, size>>>;
  detail::mark_parts(at, x.graph(), detail::split_record);
  std::array<E, static_cast<std::size_t>(parts)> result{};
  Extent begin = 0;
  for (E& part : result) {
    part = E(x.graph(), slice_along(x.any(), axis, begin, size).id);
    begin = sum_of(begin, size);
  }
  return result;
}

/// Parts of the given sizes along an axis, as a tuple: auto [a, b] = split_sizes<1, 3, 5>(x). The
/// sizes must add up to the extent of the axis; for a batch axis they are multiples of tf::batch.
/// (A,3+5) -> (A,3), (A,5)
template <int Axis, Extent... Sizes, TypedExpr X>
constexpr auto split_sizes(const X& x, std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "split_sizes<axis, sizes...>(x): x has no such axis");
  static_assert(detail::sizes_fit<detail::extent_or_zero<typename X::shape, axis>, Sizes...>,
                "split_sizes<axis, sizes...>(x): the sizes must add up to the axis' extent");
  detail::mark_parts(at, x.graph(), detail::split_record);
  Extent begin = 0;
  const auto part = [&]<Extent Size>(std::integral_constant<Extent, Size>) {
    using E =
        Expr<typename X::element, shape_of_t<detail::ResizeRule<typename X::shape, axis, Size>>>;
    const Id id = slice_along(x.any(), axis, begin, Size).id;
    begin = sum_of(begin, Size);
    return E(x.graph(), id);
  };
  return std::tuple{part(std::integral_constant<Extent, Sizes>{})...};  // braces: in this order
}

/// The tensors along an axis, as an array: unstack<1> of (B,T,H) is T of (B,H).
template <int Axis, TypedExpr X>
constexpr auto unstack(const X& x, std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "unstack<axis>(x): x has no such axis");
  constexpr Extent extent = detail::extent_or_zero<typename X::shape, axis>;
  static_assert(!is_symbolic(extent), "unstack<axis>(x): the axis' extent must be a number");
  using E = Expr<typename X::element, shape_of_t<detail::DropRule<typename X::shape, axis>>>;
  constexpr std::size_t count = is_symbolic(extent) ? 0 : static_cast<std::size_t>(extent);
  detail::mark_parts(at, x.graph(), detail::unstack_record);
  std::array<E, count> result{};
  for (std::size_t i = 0; i < count; ++i) {
    const AnyExpr taken = slice_along(x.any(), axis, static_cast<Extent>(i), 1);
    result[i] = E(x.graph(), reshape_to(taken, E::type.dims).id);
  }
  return result;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
