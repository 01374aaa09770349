// SPDX-License-Identifier: Apache-2.0

// A share of elements to keep that is none.

// expect: dropout(x)
// expect: dropout_keep.cpp:19
// expect: keep must
// expect: in (0, 1)

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
#ifdef CORRECTED
  mean(dropout(x, {.keep = 0.25})).named("loss");
#else
  mean(dropout(x, {.keep = 1.25})).named("loss");
#endif
}

void use(tf::Variables& variables) {
  tf::Session<model, tf::inference> session(variables);  // error here
}
