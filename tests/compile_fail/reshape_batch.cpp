// SPDX-License-Identifier: Apache-2.0

// A reshape that loses the run-time extent: [batch, 784] is not [784] for every batch.

// expect: reshape<D...>(x): the new shape must have as many elements as x
// expect: Shape<-1, 784>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
#ifdef CORRECTED
  auto flat = tf::reshape<784 * tf::batch>(x);
#else
  auto flat = tf::reshape<784>(x);  // error here
#endif
  flat.named("flat");
}
