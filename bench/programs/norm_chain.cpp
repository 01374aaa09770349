// SPDX-License-Identifier: Apache-2.0

// A deep model whose compile time is watched: BLOCKS blocks of layer normalization, two products,
// gelu and dropout, with gradients.

#include <vector>

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

constexpr void norm_chain(tf::Graph& g) {
  auto h = placeholder<float, tf::batch, 256>(g, "x");
  for (int i = 0; i < BLOCKS; ++i) {
    const tf::Scope block(g, "block", i);
    auto W1 = variable<float, 256, 256>(g, "W1", tf::glorot_uniform);
    auto W2 = variable<float, 256, 256>(g, "W2", tf::glorot_uniform);
    auto inner = gelu(matmul(layer_norm(g, "norm", h), W1));
    h = h + dropout(matmul(inner, W2), {.keep = 0.9f});
  }
  auto loss = mean(square(h)).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

int main() {
  tf::Variables variables;
  tf::Session<norm_chain> session(variables, {.seed = 1});
  const std::vector<float> x(64 * 256);
  session.run<"train">(tf::feed<"x">(x));
}
