// SPDX-License-Identifier: Apache-2.0

// A feed of a variable.

// expect: feed
// expect: a variable is set in
// expect: its store, not fed

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto W = tf::variable<float, 4, 2>(g, "W");
  mean(square(matmul(x, W))).named("loss");
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x(8);
#ifdef CORRECTED
  session.run<"loss">(tf::feed<"x">(x));
#else
  session.run<"loss">(tf::feed<"x">(x), tf::feed<"W">(x));  // error here
#endif
}
