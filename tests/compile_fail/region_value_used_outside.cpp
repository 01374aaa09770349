// SPDX-License-Identifier: Apache-2.0

// What a branch computes, used outside of it: where it is not taken, there is no such value.

// expect: it uses what is computed
// expect: inside of a branch or a loop

#include <vector>

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto flag = tf::placeholder<bool>(g, "flag");
  auto twice = x;
  tf::Expr<float, tf::Shape<4>> inner = x;
  auto y = cond(
      flag,
      [&] {
        inner = x * 2.0f;
        return inner;
      },
      [&] { return -twice; });
#ifdef CORRECTED
  inner = y;
#endif
  (inner + twice).named("sum");
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);  // error here
  const std::vector<float> x(4);
  session.run<"sum">(tf::feed<"x">(x), tf::feed<"flag">(true));
}
