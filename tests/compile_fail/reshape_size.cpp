// SPDX-License-Identifier: Apache-2.0

// A reshape to another number of elements: 784 is not 28 * 27.

// expect: reshape<D...>(x): the new shape must have as many elements as x
// expect: Shape<100, 784>
// expect: 100, 28, 27

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 100, 784>(g, "x");
#ifdef CORRECTED
  auto image = tf::reshape<100, 28, 28>(x);
#else
  auto image = tf::reshape<100, 28, 27>(x);  // error here
#endif
  image.named("image");
}
