// SPDX-License-Identifier: Apache-2.0

// A run of a read_only session that changes a resource.

// expect: the run changes the
// expect: steps
// expect: read_only

#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto w = tf::variable<float, 2>(g, "w", tf::ones());
  next(tf::counter(g, "steps")).named("number");
  (w + 1).named("y");
}

void use(const tf::Variables& variables) {
  tf::Session<model, tf::inference | tf::read_only> session(variables);
#ifdef CORRECTED
  session.run<"y">();
#else
  session.run<"number">();  // error here
#endif
}
