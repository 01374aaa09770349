// SPDX-License-Identifier: Apache-2.0

// A fetch of a resource.

// expect: lock
// expect: a resource is no tensor

#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) { acquire(tf::mutex(g, "lock")).named("take"); }

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
#ifdef CORRECTED
  session.run<"take">();
#else
  session.run<"lock">();  // error here
#endif
}
