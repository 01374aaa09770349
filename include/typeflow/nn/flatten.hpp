// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images as rows, for dense layers after convolutions.

#include <source_location>

#include "typeflow/ops/shape/concat.hpp"  // a rule of sums is there
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
template <class S>
struct FlattenRule {
  static constexpr bool has_axes = S::rank > 0;
  static constexpr Extent features = [] {
    Dims behind{};
    for (int i = 1; i < S::rank; ++i) behind.append(S::dims.extent[i]);
    return extent_of(count_of(behind));
  }();
  static constexpr bool holds = has_axes && features != no_extent;
  static constexpr Dims value =
      holds ? Dims{2, {S::dims.extent[S::rank > 0 ? 0 : 1], features}} : S::dims;
};
}  // namespace detail

/// x with all axes after the first as one, in row-major order. (N,A,B,..) -> (N,A*B*..)
template <TypedExpr X>
constexpr auto flatten(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::FlattenRule<typename X::shape>;
  static_assert(Rule::has_axes, "flatten(x): x must have an axis to keep, that of the batch");
  static_assert(!Rule::has_axes || Rule::holds,
                "flatten(x): no more than one of the axes behind the first may be a multiple of a "
                "symbol");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                     reshape_to(x.any(), Rule::value).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
