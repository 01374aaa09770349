// SPDX-License-Identifier: Apache-2.0

// The book's first sample as printed: relu(matmul(W, x) + b) with W[784,100], x[100] and b[100].
// A vector is no matrix, and (784,100) x (100,1) would not fit b; what was meant is x W + b.

// expect: matmul(a, b): a and b must be matrices, tensors of two axes
// expect: Shape<784, 100>
// expect: Shape<100>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto W = tf::variable<float, 784, 100>(g, "W", tf::uniform(-1, 1));
  auto b = tf::variable<float, 100>(g, "b", tf::zeros());
#ifdef CORRECTED
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto h = relu(matmul(x, W) + b);
#else
  auto x = tf::placeholder<float, 100>(g, "x");
  auto h = relu(matmul(W, x) + b);  // error here
#endif
  h.named("h");
}
