// SPDX-License-Identifier: Apache-2.0

// A training step that was given no name.

// expect: no tensor
// expect: .named(
// expect: train
// expect: gives a tensor
// never: did you mean

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto loss = mean(square(matmul(x, tf::variable<float, 4, 2>(g, "W")))).named("loss");
#ifdef CORRECTED
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
#else
  tf::GradientDescent{.rate = 0.5f}.minimize(loss);
#endif
}

void use(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables);
  session.run<"train">(tf::feed<"x">(x));  // error here
}
