// SPDX-License-Identifier: Apache-2.0

// A tensor as the condition of an if statement.

// expect: a tensor is not a condition
// expect: cond(x, f, g)

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto positive = greater(sum(x), 0.0f);
#ifdef CORRECTED
  x = cond(positive, [&] { return x * 2.0f; }, [&] { return x; });
#else
  if (positive) x = x * 2.0f;  // error here
#endif
  x.named("y");
}
