// SPDX-License-Identifier: Apache-2.0

// An assignment of another shape.

// expect: assign(variable, value): the value must have the variable's element type and broadcast
// expect: Shape<10>
// expect: Shape<3>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto v = tf::variable<float, 10>(g, "v");
#ifdef CORRECTED
  auto x = tf::placeholder<float, 1>(g, "x");
#else
  auto x = tf::placeholder<float, 3>(g, "x");
#endif
  assign(v, x).named("set");  // error here
}
