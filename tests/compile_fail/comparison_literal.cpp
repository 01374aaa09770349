// SPDX-License-Identifier: Apache-2.0

// A comparison of an integer tensor with a floating-point number.

// expect: greater_equal(a, b): a floating-point number does not fit an integer tensor
// expect: Expr<int, Shape<-4, 10>
// expect: double

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t, 4 * tf::batch, 10>(g, "n");
#ifdef CORRECTED
  auto y = greater_equal(tf::cast<float>(n), 0.5);
#else
  auto y = greater_equal(n, 0.5);  // error here
#endif
  y.named("y");
}
