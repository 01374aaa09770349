// SPDX-License-Identifier: Apache-2.0

// A target net that has another layer than the online net.

// expect: blend: variable
// expect: target/fd/W
// expect: has no source

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  dense<2>(g, "online/fc", x);
#ifdef CORRECTED
  dense<2>(g, "target/fc", x);
#else
  dense<2>(g, "target/fd", x);
#endif
  tf::blend(g.variables("target"), g.variables("online"), 0.001).named("follow");
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
