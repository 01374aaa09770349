// SPDX-License-Identifier: Apache-2.0

// A second file of the program: the headers must not define anything twice.

#include "typeflow/graph.hpp"

namespace tf = typeflow;

int nodes_in_other_file() {
  tf::Graph g;
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto loss = mean(softmax_cross_entropy(tf::dense<10>(g, "fc", x), y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
  return g.nodes.size();
}
