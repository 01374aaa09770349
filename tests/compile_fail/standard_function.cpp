// SPDX-License-Identifier: Apache-2.0

// A function of the C++ library instead of typeflow's.

// expect: use tf::exp(x), not std::exp(x)

#include <cmath>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
#ifdef CORRECTED
  auto y = tf::exp(x);
#else
  auto y = std::exp(x);  // error here
#endif
  (x + y).named("z");
}
