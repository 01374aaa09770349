// SPDX-License-Identifier: Apache-2.0

// == between tensors.

// expect: a == b does not compare tensors: use equal(a, b)
// expect: Shape<3>
// expect: Shape<2, 3>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 3>(g, "a");
  auto b = tf::placeholder<float, 2, 3>(g, "b");
#ifdef CORRECTED
  equal(a, b).named("same");
#else
  a == b;  // error here
#endif
}
