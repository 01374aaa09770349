// SPDX-License-Identifier: Apache-2.0

// The value of a tensor, while the model is traced.

// expect: a tensor is not a number
// expect: fetch it with session.run

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
#ifdef CORRECTED
  auto y = sum(x);
#else
  float y = sum(x);  // error here
#endif
  (x * y).named("z");
}
