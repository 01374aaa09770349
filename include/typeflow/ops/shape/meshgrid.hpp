// SPDX-License-Identifier: Apache-2.0
#pragma once

// meshgrid: the coordinates of the points of a grid.

#include <cstddef>
#include <source_location>
#include <tuple>
#include <utility>

#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The order of the axes of meshgrid.
enum class GridOrder {
  xy,  ///< Cartesian: the second list is along axis 0, the first along axis 1
  ij,  ///< that of matrices: each list is along the axis of its number
};

namespace detail {
template <GridOrder Order, class... X>
struct GridRule {
  static constexpr int axis_of(int i) {
    return Order == GridOrder::xy && i < 2 && sizeof...(X) > 1 ? 1 - i : i;
  }
  static constexpr Dims value = [] {
    const Extent lengths[] = {X::shape::dims.extent[0]...};
    Dims dims{};
    for (int i = 0; i < static_cast<int>(sizeof...(X)); ++i) dims.append(lengths[axis_of(i)]);
    return dims;
  }();
};
}  // namespace detail

/// For each list a tensor with its elements along one axis, equal along the others. With two lists
/// auto [a, b] = meshgrid(std::tuple{x, y}) has x along the columns and y along the rows, as NumPy
/// and TensorFlow have it; meshgrid<tf::GridOrder::ij>(...) has x along the rows.
/// (N), (M) -> (M,N), (M,N)
template <GridOrder Order = GridOrder::xy, TypedExpr... X>
constexpr auto meshgrid(const std::tuple<X...>& x,
                        std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(X) > 0 && sizeof...(X) <= max_rank,
                "meshgrid(x): there must be a list, and no more than tf::max_rank");
  static_assert(((X::rank == 1) && ...), "meshgrid(x): each tensor must have one axis");
  using Rule = detail::GridRule<Order, X...>;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto spread = [&]<int Axis, class L>(const L& list) {
      detail::mark(at, list);
      Dims column{};
      for (int i = 0; i < Rule::value.rank; ++i) {
        column.append(i == Axis ? L::shape::dims.extent[0] : 1);
      }
      return Expr<typename L::element, shape_of_t<Rule>>(
          list.graph(), broadcast_to(reshape_to(list.any(), column), Rule::value).id);
    };
    return std::tuple {
      spread.template operator()<Rule::axis_of(static_cast<int>(I))>(std::get<I>(x))...
    };
  }(std::index_sequence_for<X...>{});
}

}  // namespace typeflow::inline TYPEFLOW_ISA
