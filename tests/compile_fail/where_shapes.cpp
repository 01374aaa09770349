// SPDX-License-Identifier: Apache-2.0

// A condition that does not broadcast with what it chooses between.

// expect: where(condition, a, b): the shapes do not broadcast
// expect: Expr<bool, Shape<3>
// expect: Expr<float, Shape<2>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
#ifdef CORRECTED
  auto y = tf::placeholder<float, 3>(g, "y");
#else
  auto y = tf::placeholder<float, 2>(g, "y");
#endif
  auto z = where(greater(x, 0), y, 0);  // error here
  z.named("z");
}
