// SPDX-License-Identifier: Apache-2.0
#pragma once

// The model that the benches compile and run: a chain of residual blocks, with its training step.

#include <typeflow/typeflow.hpp>

namespace bench {

inline constexpr int rows = 64;
inline constexpr int width = 256;

/// Blocks times h = relu(h + matmul(relu(matmul(h, W1) + b1), W2) + b2), with W of width x width.
template <int Blocks>
constexpr void residual_chain(typeflow::Graph& g) {
  namespace tf = typeflow;
  const auto initializer = tf::truncated_normal(0, 0.01);
  auto h = tf::placeholder<float, rows, width>(g, "x");  // (rows,width)
  auto middle = h;
  for (int i = 0; i < Blocks; ++i) {
    tf::Scope in(g, "block", i);
    auto W1 = tf::variable<float, width, width>(g, "W1", initializer);
    auto b1 = tf::variable<float, width>(g, "b1", tf::zeros());
    auto W2 = tf::variable<float, width, width>(g, "W2", initializer);
    auto b2 = tf::variable<float, width>(g, "b2", tf::zeros());
    h = relu(h + matmul(relu(matmul(h, W1) + b1), W2) + b2);
    if (i == Blocks / 2) middle = h;
  }
  middle.named("middle");
  auto loss = mean(square(h)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

}  // namespace bench
