// SPDX-License-Identifier: Apache-2.0

// Axes of different symbols have no sum that is an extent.

// expect: concat<axis>(x...): the shapes must be equal but along the axis
// expect: Shape<-1, 10>
// expect: Shape<-1000000000000001, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
#ifdef CORRECTED
  auto y = tf::placeholder<float, 2 * tf::batch, 10>(g, "y");
#else
  auto y = tf::placeholder<float, tf::symbol<"time">, 10>(g, "y");
#endif
  concat<0>(x, y).named("z");  // error here
}
