// SPDX-License-Identifier: Apache-2.0

// A feed of an intermediate value that was given no name.

// expect: feed: no tensor
// expect: .named(
// expect: hidden
// never: did you mean

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
#ifdef CORRECTED
  auto hidden = tanh(x).named("hidden");
#else
  auto hidden = tanh(x);
#endif
  mean(square(hidden)).named("y");
}

void use(tf::Variables& variables, const std::vector<float>& hidden) {
  tf::Session<model> session(variables);
  session.run<"y">(tf::feed<"hidden">(hidden));  // error here
}
