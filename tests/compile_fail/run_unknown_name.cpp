// SPDX-License-Identifier: Apache-2.0

// A fetch of a name that the model has not.

// expect: no tensor
// expect: los
// expect: loss
// expect: did you mean

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
  session.run<"los">(tf::feed<"x">(x));  // error here
#endif
}
