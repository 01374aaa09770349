// SPDX-License-Identifier: Apache-2.0

// A floating-point number with an integer tensor.

// expect: a + b: a floating-point number does not fit an integer tensor; use cast<T>(x)
// expect: Expr<int, Shape<3>
// expect: double

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
#ifdef CORRECTED
  auto y = n + 1;
#else
  auto y = n + 0.5;  // error here
#endif
  y.named("y");
}
