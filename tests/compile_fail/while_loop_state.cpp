// SPDX-License-Identifier: Apache-2.0

// A state that changes its element type, in a loop inside a branch.

// expect: while_loop(condition, body, init): the body must give a state of the structure
// never: both branches
// never: constant expression

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  const auto below = [](auto y) { return tf::less(y, 100.0f); };
#ifdef CORRECTED
  const auto doubled = [](auto y) { return y * 2.0f; };
#else
  const auto doubled = [](auto y) { return tf::cast<double>(y); };
#endif
  const auto loop = [&] {
    tf::while_loop(below, doubled, x);  // error here
    return x;
  };
  tf::cond(tf::less(x, 0.0f), [&] { return x; }, loop).named("y");
}
