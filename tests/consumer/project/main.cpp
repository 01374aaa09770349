// SPDX-License-Identifier: Apache-2.0

// A user's program: what it needs of flags must come with the target that it links.

#include <cstdio>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

int nodes_in_other_file();

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

// Beyond the default limits of g++ (262,144 iterations) and clang (1,048,576 steps).
constexpr int count_far() {
  int count = 0;
  for (int i = 0; i < 600000; ++i) ++count;
  return count;
}
static_assert(count_far() == 600000);

// a * b + c must round twice, whatever the processor: a * b is 1 - 2^-46, which rounds to 1.
bool is_contracted() {
  volatile float a = 1 + 0x1p-23f;
  volatile float b = 1 - 0x1p-23f;
  volatile float c = -1;
  const float x = a, y = b, z = c;
  return x * y + z != 0;
}

int main() {
  tf::Graph g;
  model(g);
  if (g.nodes.size() != node_count() || nodes_in_other_file() != node_count()) {
    std::puts("the model traced at run time differs from the constant");
    return 1;
  }
  if (is_contracted()) {
    std::puts("a * b + c is contracted to a fused multiply-add");
    return 1;
  }
  return 0;
}
