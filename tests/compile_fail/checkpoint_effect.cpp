// SPDX-License-Identifier: Apache-2.0

// What is computed again for its gradient would assign twice.

// expect: checkpointed(f): f assigns
// expect: and is computed again

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto count = tf::variable<float>(g, "count", tf::zeros());
  auto x = tf::placeholder<float>(g, "x");
  auto y = tf::checkpointed(
      [&](auto h) {
#ifndef CORRECTED
        assign_add(count, 1.0f);
#endif
        return h * h + count.read();
      },
      x);
  gradients(y, x).named("dx");
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);  // error here
  session.run<"dx">(tf::feed<"x">(1.0f));
}
