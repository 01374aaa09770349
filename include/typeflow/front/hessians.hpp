// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whole Hessians, a row for each turn of a loop. hvp of derivatives.hpp is far cheaper where only
// products with a Hessian are needed.

#include <cstddef>
#include <source_location>
#include <tuple>
#include <utility>

#include "typeflow/front/gradients.hpp"
#include "typeflow/ops/control/scan.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/selection.hpp"
#include "typeflow/ops/reduce/reductions.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class S>
struct HessianRule {
  static constexpr Extent size = size_as_extent(S::dims);
  static constexpr bool fits = 2 * S::rank <= max_rank && size != no_extent;
  static constexpr Dims value = [] {
    Dims dims = S::dims;
    for (int i = 0; i < S::rank && fits; ++i) dims.append(S::dims.extent[i]);
    return dims;
  }();
};

template <TypedExpr Y, TypedExpr X>
constexpr auto hessian_of(const Y& y, const X& x, const std::source_location& at) {
  using Rule = HessianRule<typename X::shape>;
  static_assert(Rule::fits,
                "hessians(y, x...): x must have at most half of tf::max_rank axes, and tf::batch "
                "in one of them at most");
  using H = Expr<typename X::element, shape_of_t<Rule>>;
  if constexpr (Rule::fits) {
    mark(at, x);
    ir::Graph& graph = x.graph();
    const auto dx = gradients(y, x);
    const Dims square{2, {Rule::size, Rule::size}};
    const AnyExpr unit =
        cast_to(equal(index_along(graph, square, 0), index_along(graph, square, 1)), X::type.dtype);
    Dims units = X::shape::dims;
    for (int i = units.rank; i-- > 0;) units.extent[i + 1] = units.extent[i];
    units.extent[0] = Rule::size;
    ++units.rank;
    const auto rows = [&] {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using U = Expr<typename X::element, Shape<Rule::size, X::shape::dims.extent[I]...>>;
        const U basis(x.graph(), reshape_to(unit, units).id);
        return map([&](const auto& e) { return gradients_or_zero(sum(dx * e), x); }, basis, at);
      }(std::make_index_sequence<static_cast<std::size_t>(X::rank)>{});
    }();
    return H(x.graph(), reshape_to(rows.any(), H::shape::dims).id);
  } else {
    return H(x.graph(), x.id());
  }
}

}  // namespace detail

/// All second derivatives of a scalar for x: hessians(loss, w)[i..., k...] is the derivative of the
/// loss for w[i...] and w[k...]. Several x give a tuple with the Hessian of each.
/// () x (S)... -> (S,S)...
///
/// It costs a reverse pass through the gradient for each element of x, in a loop of the run. y must
/// depend on each x.
template <TypedExpr Y, TypedExpr X>
constexpr auto hessians(const Y& y, const X& x,
                        std::source_location at = std::source_location::current()) {
  static_assert(Y::rank == 0, "hessians(y, x...): y must be a scalar");
  static_assert(detail::all_floating<Y, X>, "hessians(y, x...): y and x must be floating-point");
  return detail::hessian_of(y, x, at);
}
template <TypedExpr Y, TypedExpr X1, TypedExpr X2, TypedExpr... More>
constexpr auto hessians(const Y& y, const X1& x1, const X2& x2, const More&... more) {
  static_assert(Y::rank == 0, "hessians(y, x...): y must be a scalar");
  static_assert(detail::all_floating<Y, X1, X2, More...>,
                "hessians(y, x...): y and x must be floating-point");
  const auto at = std::source_location::current();
  return std::tuple{detail::hessian_of(y, x1, at), detail::hessian_of(y, x2, at),
                    detail::hessian_of(y, more, at)...};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
