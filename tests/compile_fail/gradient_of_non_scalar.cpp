// SPDX-License-Identifier: Apache-2.0

// The gradient of a tensor, without a gradient of its own.

// expect: gradients(y, x): y must be a scalar
// expect: Shape<-1, 10>
// expect: Shape<784, 10>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto W = tf::variable<float, 784, 10>(g, "W");
  auto y = matmul(x, W);
#ifdef CORRECTED
  auto dy = tf::placeholder<float, tf::batch, 10>(g, "dy");
  auto dW = gradients(y, grad_ys(dy), W);
#else
  auto dW = gradients(y, W);  // error here
#endif
  dW.named("dW");
}
