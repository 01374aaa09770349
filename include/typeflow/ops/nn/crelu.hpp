// SPDX-License-Identifier: Apache-2.0
#pragma once

// crelu: the positive and the negative parts side by side.

#include <source_location>

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// relu(x) and relu(-x), joined along an axis, the last by default. (.., C) -> (.., 2*C). (Shang et
/// al., arXiv:1603.05201.)
template <int Axis = -1, TypedExpr X>
constexpr auto crelu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(X::rank > 0 && detail::axes_exist<X::rank, Axis>,
                "crelu<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "crelu(x): x must be a tensor of numbers that have an order");
  return concat<Axis>(relu(x, at), relu(neg(x, at), at));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
