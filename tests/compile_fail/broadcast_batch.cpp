// SPDX-License-Identifier: Apache-2.0

// Only 1 broadcasts against tf::batch: a fixed number of rows does not.

// expect: maximum(a, b): the shapes do not broadcast
// expect: Shape<-1, 10>
// expect: Shape<100, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
#ifdef CORRECTED
  auto y = tf::placeholder<float, 1, 10>(g, "y");
#else
  auto y = tf::placeholder<float, 100, 10>(g, "y");
#endif
  maximum(x, y).named("z");  // error here
}
