// SPDX-License-Identifier: Apache-2.0

// The same, of a lambda.

// expect: Session<model>: a model takes the graph by reference: void model(tf::Graph& g)

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

#ifdef CORRECTED
inline constexpr auto model = [](tf::Graph& g) {
#else
inline constexpr auto model = [](tf::Graph g) {
#endif
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  mean(x).named("loss");
};

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
