// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dropout. Source: Srivastava et al., JMLR 15 (2014).

#include <source_location>

#include "typeflow/front/cast.hpp"
#include "typeflow/front/random.hpp"

namespace typeflow {

struct DropoutOptions {
  Scalar keep = 0.5;  ///< the probability of an element to stay; a number or a scalar expression
  Label name = "dropout";
};

/// In training, each element of x divided by `keep` with probability `keep`, else 0; drawn anew in
/// each run. In inference x itself. The names of variables do not depend on which it is.
template <TypedExpr X>
constexpr auto dropout(const X& x, DropoutOptions options = {},
                       std::source_location at = std::source_location::current()) {
  static_assert(std::is_floating_point_v<typename X::element>,
                "dropout(x): x must be float or double");
  Graph& graph = x.graph();
  if (!graph.training()) return detail::same_type(x, x.id());
  detail::mark(at, x);
  const DType type = X::type.dtype;
  const AnyExpr keep = options.keep.is_expression()
                           ? cast_to(options.keep.expression(), type)
                           : detail::literal_node(graph, type, options.keep.value());
  const AnyExpr uniform = random_uniform(graph, options.name, X::type);
  return detail::same_type(x, where(less(uniform, keep), x.any() / keep, 0).id);
}

}  // namespace typeflow
