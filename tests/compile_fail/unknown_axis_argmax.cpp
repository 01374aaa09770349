// SPDX-License-Identifier: Apache-2.0

// argmax over an axis that the tensor does not have.

// expect: argmax<axes...>(x): x has no such axis
// expect: Shape<-1, 10>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
#ifdef CORRECTED
  auto y = tf::argmax<-1>(x);
#else
  auto y = tf::argmax<-3>(x);  // error here
#endif
  y.named("y");
}
