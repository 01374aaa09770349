// SPDX-License-Identifier: Apache-2.0

// Two element types in a matrix product.

// expect: matmul(a, b): the element types must be equal, those of numbers; convert with cast<T>(x)
// expect: Shape<2, 3>
// expect: Shape<3, 4>
// expect: double

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 3>(g, "x");
  auto W = tf::variable<double, 3, 4>(g, "W");
#ifdef CORRECTED
  auto y = matmul(x, tf::cast<float>(W));
#else
  auto y = matmul(x, W);  // error here
#endif
  y.named("y");
}
