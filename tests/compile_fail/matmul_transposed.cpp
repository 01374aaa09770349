// SPDX-License-Identifier: Apache-2.0

// A matrix product whose inner extents differ once b is read transposed: (batch,784) x (784,10)^T.

// expect: matmul(a, b): the columns of a must equal the rows of b
// expect: Shape<-1, 784>
// expect: Shape<784, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto W = tf::variable<float, 784, 10>(g, "W");
#ifdef CORRECTED
  auto y = matmul<tf::transpose_a>(W, transpose(x));
#else
  auto y = matmul<tf::transpose_b>(x, W);  // error here
#endif
  y.named("y");
}
