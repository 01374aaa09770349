// SPDX-License-Identifier: Apache-2.0

// A fetch of a result that an operation does not have.

// expect: no tensor
// expect: parts:7
// expect: 4 results
// expect: parts:0
// expect: parts:3

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  tf::named("parts", tf::split<4, 1>(x));
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x(8);
#ifdef CORRECTED
  session.run<"parts:3">(tf::feed<"x">(x));
#else
  session.run<"parts:7">(tf::feed<"x">(x));  // error here
#endif
}
