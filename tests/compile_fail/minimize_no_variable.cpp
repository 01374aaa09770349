// SPDX-License-Identifier: Apache-2.0

// A loss of inputs alone: there is nothing to train.

// expect: minimize(loss)
// expect: loss
// expect: minimize_no_variable.cpp:23
// expect: depends on no
// expect: trainable

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto w = tf::variable<float, 4>(g, "w", tf::ones());
#ifdef CORRECTED
  auto loss = mean(square(x * w)).named("loss");
#else
  auto loss = mean(square(x)).named("loss");
#endif
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

void use(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables);  // error here
  session.run<"train">(tf::feed<"x">(x));
}
