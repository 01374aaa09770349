// SPDX-License-Identifier: Apache-2.0

// A run of a read_only session that assigns a variable.

// expect: the run assigns the variable
// expect: scope/w
// expect: read_only

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  tf::Scope in(g, "scope");
  auto w = variable<float, 2>(g, "w", tf::ones());
  assign(w, w + 1).value().named("more");
  (w + 1).named("y");
}

void use(const tf::Variables& variables) {
  tf::Session<model, tf::inference | tf::read_only> session(variables);
#ifdef CORRECTED
  session.run<"scope/y">();
#else
  session.run<"scope/more">();  // error here
#endif
}
