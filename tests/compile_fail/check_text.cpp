// SPDX-License-Identifier: Apache-2.0

// A check whose text shows more tensors than there are.

// expect: check(condition, text, x...):
// expect: the text has more {} than
// expect: tensors follow it
// expect: (check_text.cpp:19)

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
#ifdef CORRECTED
  check(less(x, 1), "x is {}", x).named("small");
#else
  check(less(x, 1), "x is {}, the limit {}", x).named("small");
#endif
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
