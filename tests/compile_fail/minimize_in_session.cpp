// SPDX-License-Identifier: Apache-2.0

// One loss a row instead of their mean, in a file that also opens the session: the compiler comes
// to the model by way of the session's class.

// expect: minimize(loss): the loss must be a scalar; take mean(loss)
// expect: Shape<-1, 2>
// never: gradients(y)

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto losses = square(matmul(x, tf::variable<float, 4, 2>(g, "W")));
#ifdef CORRECTED
  tf::Adam{.rate = 0.5f}.minimize(mean(losses)).named("train");
#else
  tf::Adam{.rate = 0.5f}.minimize(losses).named("train");  // error here
#endif
}

void use(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables);
  session.run<"train">(tf::feed<"x">(x));
}
