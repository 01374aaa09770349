// SPDX-License-Identifier: Apache-2.0

// A variable with the run-time extent.

// expect: variable<T, D...>: the extents of a variable must be numbers, not tf::batch
// expect: -1, 10

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
#ifdef CORRECTED
  tf::variable<float, 100, 10>(g, "W");
#else
  tf::variable<float, tf::batch, 10>(g, "W");  // error here
#endif
}
