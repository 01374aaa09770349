// SPDX-License-Identifier: Apache-2.0

// Shapes that do not broadcast: [100, 10] and [100].

// expect: a + b: the shapes do not broadcast
// expect: Shape<100, 10>
// expect: Shape<100>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto logits = tf::placeholder<float, 100, 10>(g, "logits");
#ifdef CORRECTED
  auto b = tf::variable<float, 10>(g, "b");
#else
  auto b = tf::variable<float, 100>(g, "b");
#endif
  auto y = logits + b;  // error here
  y.named("y");
}
