// SPDX-License-Identifier: Apache-2.0

// A name for results that are no tensors.

// expect: named(name, results)
// expect: must be tensors

#include <array>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
#ifdef CORRECTED
  tf::named("both", std::array{x, x + 1.0f});
#else
  (void)x;
  tf::named("both", std::array{1.0f, 2.0f});  // error here
#endif
}

void use(tf::Variables& variables) { tf::Session<model> session(variables); }
