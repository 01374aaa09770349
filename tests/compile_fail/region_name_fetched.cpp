// SPDX-License-Identifier: Apache-2.0

// A fetch of what a loop's body computes: there is one in each iteration.

// expect: half
// expect: is computed inside of a
// expect: branch or a loop: to fetch it,

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  tf::fori_loop(
      0, 5, [](auto, auto state) { return (0.5f * state).named("half") + 1.0f; }, x)
      .named("last");
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
#ifdef CORRECTED
  session.run<"last">(tf::feed<"x">(1.0f));
#else
  session.run<"half">(tf::feed<"x">(1.0f));  // error here
#endif
}
