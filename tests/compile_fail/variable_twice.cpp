// SPDX-License-Identifier: Apache-2.0

// Two variables of one name.

// expect: fc/W
// expect: declared
// expect: twice: variable_twice.cpp:17
// expect: and variable_twice.cpp:21

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  tf::Scope in(g, "fc");
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto W = tf::variable<float, 4, 2>(g, "W");
#ifdef CORRECTED
  auto V = tf::variable<float, 4, 2>(g, "V");
#else
  auto V = tf::variable<float, 4, 2>(g, "W");
#endif
  mean(matmul(x, W + V)).named("loss");
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
