// SPDX-License-Identifier: Apache-2.0

// A gradient from outside that has another shape than its tensor.

// expect: gradients(y, grad_ys(dy), x): dy must have the element type and shape of y
// expect: Shape<-1, 10>
// expect: Shape<10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto W = tf::variable<float, 784, 10>(g, "W");
#ifdef CORRECTED
  auto dy = tf::placeholder<float, tf::batch, 10>(g, "dy");
#else
  auto dy = tf::placeholder<float, 10>(g, "dy");
#endif
  auto dW = gradients(matmul(x, W), grad_ys(dy), W);  // error here
  dW.named("dW");
}
