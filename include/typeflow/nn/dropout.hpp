// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dropout. Source: Srivastava et al., JMLR 15 (2014).

#include <source_location>

#include "typeflow/front/cast.hpp"
#include "typeflow/front/random.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct DropoutOptions {
  Scalar keep = 0.5;  ///< the probability of an element to stay; a number or a scalar expression
  Label name = "";  ///< of the result; without one, the first, second... of its scope draws as such
};

/// In training, each element of x divided by `keep` with probability `keep`, else 0; drawn anew in
/// each run. In inference x itself. Names do not depend on which it is.
template <TypedExpr X>
constexpr auto dropout(const X& x, DropoutOptions options = {},
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "dropout(x): x must be floating-point; convert with cast<float>(x)");
  Graph& graph = x.graph();
  const std::uint64_t path = graph.add_random_path("dropout", options.name);
  if (!graph.training()) {
    return detail::same_type(x, detail::labelled(x.any(), options.name).id);
  }
  detail::mark(at, x);
  const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
    const AnyExpr keep = options.keep.is_expression()
                             ? cast_to(options.keep.expression(), v.dtype())
                             : detail::literal_node(graph, v.dtype(), options.keep.value());
    const AnyExpr uniform = detail::uniform_node(graph, path, Type(v.dtype(), v.dims()));
    return where(less(uniform, keep), v / keep, 0);
  });
  return detail::same_type(x, detail::labelled(y, options.name).id);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
