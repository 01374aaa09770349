// SPDX-License-Identifier: Apache-2.0

// A model that builds into a copy of the graph.

// expect: Session<model>: a model takes the graph by reference: void model(tf::Graph& g)

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

#ifdef CORRECTED
constexpr void model(tf::Graph& g) {
#else
constexpr void model(tf::Graph g) {
#endif
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  mean(x).named("loss");
}

void use(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables);  // error here
  session.run<"loss">(tf::feed<"x">(x));
}
