// SPDX-License-Identifier: Apache-2.0

// Mistakes of calls with forests.

#include <cstdint>

#include "typeflow/estimators/forest_operations.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void mistakes(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
  auto targets = placeholder<float, tf::batch, 2>(g, "targets");
  auto forest = tf::random_forest<3>(g, "forest");
  auto numbers = tf::regression_forest<2>(g, "numbers");
  grow(forest, x, labels);
  grow(numbers, x, targets);
  infer(forest, x);
#ifndef CORRECTED
  // clang-format off
  tf::random_forest<1>(g, "one");  // error: random_forest<classes>(g, name): there must be at least 2 classes
  tf::regression_forest<0>(g, "none");  // error: regression_forest<outputs>(g, name): there must be at least 1 output
  grow(forest, labels, labels);  // error: grow(forest, x, y): x must be a matrix of floats, (N,features)
  grow(forest, x, targets);  // error: grow(forest, x, labels): labels must be N std::int32_t for N rows of x
  grow(numbers, x, labels);  // error: grow(forest, x, targets): targets must be floats, (N,outputs) for N rows of x
  infer(forest, labels);  // error: infer(forest, x): x must be a matrix of floats, (N,features)
  // clang-format on
#endif
}
