// SPDX-License-Identifier: Apache-2.0

// What a Switch gives on one side, used beside what it gives on the other: one of them is dead.

// expect: the edge from Switch
// expect: (primitives_dead_value.cpp:18)
// expect: its value may be dead where
// expect: expected a Merge before

#include "typeflow/primitives.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
namespace p = tf::primitives;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto [no, yes] = p::switch_(x, greater(x, 0.0f));
#ifdef CORRECTED
  p::merge(-no, yes).named("y");
#else
  (yes - no).named("y");
#endif
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
  session.run<"y">(tf::feed<"x">(1.0f));
}
