// SPDX-License-Identifier: Apache-2.0

// A function of real numbers, of integers.

// expect: softmax(x): x must be floating-point; convert with cast<float>(x)
// expect: Expr<int, Shape<-1, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t, tf::batch, 10>(g, "n");
#ifdef CORRECTED
  auto y = softmax(tf::cast<float>(n));
#else
  auto y = softmax(n);  // error here
#endif
  y.named("y");
}
