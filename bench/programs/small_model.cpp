// SPDX-License-Identifier: Apache-2.0

// A small model whose compile time and code are watched: softmax regression with its training step.

#include <vector>

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto W = variable<float, 784, 10>(g, "W", tf::zeros());
  auto b = variable<float, 10>(g, "b", tf::zeros());
  auto logits = (matmul(x, W) + b).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(argmax<1>(logits), argmax<1>(y)))).named("accuracy");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

int main() {
  tf::Variables variables;
  tf::Session<softmax_regression> session(variables, {.seed = 1});
  const std::vector<float> x(78400), y(1000);
  session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
}
