// SPDX-License-Identifier: Apache-2.0

// A transpose whose axes are no permutation.

// expect: transpose<axes...>(x): the axes must be a permutation of the axes of x
// expect: Shape<2, 3, 4>
// expect: 0, 2, 2

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 3, 4>(g, "x");
#ifdef CORRECTED
  auto y = tf::transpose<0, 2, 1>(x);
#else
  auto y = tf::transpose<0, 2, 2>(x);  // error here
#endif
  y.named("y");
}
