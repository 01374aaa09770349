// SPDX-License-Identifier: Apache-2.0

// Run-time extents have names of the library's.

// expect: symbol
// expect: constraints not satisfied

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
#ifdef CORRECTED
  auto x = tf::placeholder<float, tf::batch, tf::symbol<"time">>(g, "x");
#else
  auto x = tf::placeholder<float, tf::batch, tf::symbol<"words">>(g, "x");  // error here
#endif
  sum(x).named("sum");
}
