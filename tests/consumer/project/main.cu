// SPDX-License-Identifier: Apache-2.0

// A user's program in CUDA: the same target must bring the same promises.

#include <cstdint>
#include <cstdio>

#include <typeflow/graph.hpp>

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto loss = mean(softmax_cross_entropy(tf::dense<10>(g, "fc", x), y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}
constexpr int node_count() {
  tf::Graph g;
  model(g);
  return g.nodes.size();
}
static_assert(node_count() > 10);

// Beyond the default limits of the compilers.
constexpr int count_far() {
  int count = 0;
  for (int i = 0; i < 600000; ++i) ++count;
  return count;
}
static_assert(count_far() == 600000);

int main() {
  tf::Graph g;
  model(g);
  if (g.nodes.size() != node_count()) {
    std::puts("the model traced at run time differs from the constant");
    return 1;
  }
  return 0;
}
