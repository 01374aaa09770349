// SPDX-License-Identifier: Apache-2.0

// Two element types in one operation: nothing is promoted silently.

// expect: a * b: the element types must be equal; convert with cast<T>(x)
// expect: Expr<float, Shape<3>
// expect: Expr<int, Shape<3>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
#ifdef CORRECTED
  auto y = x * tf::cast<float>(n);
#else
  auto y = x * n;  // error here
#endif
  y.named("y");
}
