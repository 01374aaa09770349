// SPDX-License-Identifier: Apache-2.0
#pragma once

// The network that one program trains and another one deploys.

#include <typeflow/typeflow.hpp>

namespace deploy {

namespace tf = typeflow;

constexpr void digits(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto W1 = variable<float, 784, 64>(g, "hidden/W", tf::glorot_uniform);
  auto b1 = variable<float, 64>(g, "hidden/b", tf::zeros());
  auto W2 = variable<float, 64, 10>(g, "output/W", tf::glorot_uniform);
  auto b2 = variable<float, 10>(g, "output/b", tf::zeros());
  auto hidden = relu(matmul(x, W1) + b1);   // (batch,64)
  auto logits = (matmul(hidden, W2) + b2);  // (batch,10)
  softmax(logits).named("probabilities");   // (batch,10)
  argmax<1>(logits).named("class");         // (batch)
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

}  // namespace deploy
