// SPDX-License-Identifier: Apache-2.0

// What random tensors refuse.

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  tf::random_uniform<float, 3>(g, "right");
#ifndef CORRECTED
  // clang-format off
  tf::random_uniform<std::int32_t, 3>(g, "a");  // error: random_uniform<T, D...>: T must be float or double
  tf::random_uniform<bool>(g, "b");             // error: random_uniform<T, D...>: T must be float or double
  // clang-format on
#endif
}
