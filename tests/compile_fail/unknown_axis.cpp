// SPDX-License-Identifier: Apache-2.0

// A reduction over an axis that the tensor does not have.

// expect: sum<axes...>(x): x has no such axis
// expect: Shape<100, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 100, 10>(g, "x");
#ifdef CORRECTED
  auto y = tf::sum<1>(x);
#else
  auto y = tf::sum<2>(x);  // error here
#endif
  y.named("y");
}
