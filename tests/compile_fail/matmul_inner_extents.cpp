// SPDX-License-Identifier: Apache-2.0

// A matrix product whose inner extents differ: (100,784) x (785,10).

// expect: matmul(a, b): the columns of a must equal the rows of b
// expect: Shape<100, 784>
// expect: Shape<785, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
#ifdef CORRECTED
  auto W = tf::variable<float, 784, 10>(g, "W");
#else
  auto W = tf::variable<float, 785, 10>(g, "W");
#endif
  auto x = tf::placeholder<float, 100, 784>(g, "x");
  auto y = matmul(x, W);  // error here
  y.named("y");
}
