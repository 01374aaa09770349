// SPDX-License-Identifier: Apache-2.0

// A model that prints while it is traced.

// expect: Session<model>: the compiler can't run the model: it must be constexpr, and call only

#include <cstdio>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

template <int Columns>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, Columns>(g, "x");
#ifndef CORRECTED
  std::printf("%d columns\n", Columns);
#endif
  mean(x).named("loss");
}

void use(tf::Variables& variables) {
  tf::Session<model<4>> session(variables);  // error here
}
