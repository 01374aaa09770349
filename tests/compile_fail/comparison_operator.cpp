// SPDX-License-Identifier: Apache-2.0

// < between a tensor and a number.

// expect: a < b does not compare tensors: use less(a, b)
// expect: Expr<float

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
#ifdef CORRECTED
  auto below = less(sum(x), 0.0f);
#else
  auto below = sum(x) < 0.0f;  // error here
#endif
  below.named("below");
}
