// SPDX-License-Identifier: Apache-2.0

// An MLP with dropout: one function, a session that trains and one that infers, one store.

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "support/plain_nets.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

constexpr void mlp(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 6>(g, "x");
  auto y = placeholder<float, tf::batch, 3>(g, "y");
  auto h = dropout(relu(dense<5>(g, "fc1", x, {.weights = tf::truncated_normal(0, 0.1)})),
                   {.keep = 0.75f});
  auto logits = dense<3>(g, "fc2", h, {.weights = tf::zeros()}).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::GradientDescent{.rate = 0.3f}.minimize(loss).named("train");
}
static_assert(tf::parameters<mlp>() == 6 * 5 + 5 + 5 * 3 + 3);

}  // namespace

TEST_CASE("an MLP trains with dropout, and infers without from the same variables") {
  tf::Variables variables;
  tf::Session<mlp> training(variables, {.seed = 1});
  tf::Session<mlp, tf::inference> inference(variables);

  // Four samples whose class is the largest of their first three features.
  const std::vector<float> x{2, 0, 0, 1,  -1, 1, 0, 2, 0, 1, 1, -1,
                             0, 0, 2, -1, 1,  1, 0, 2, 0, 0, 1, 0};
  const std::vector<float> y{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0};
  const auto train = [&] {
    return static_cast<double>(training.run<"loss", "train">(tf::feed<"x">(x), tf::feed<"y">(y)));
  };
  CHECK(std::abs(train() - std::log(3.0)) < 1e-6);  // logits of 0
  // The gradient for the last bias is mean(softmax - y), whatever dropout dropped.
  const test::Numbers bias = test::variable(variables, "fc2/b");
  CHECK(test::largest_difference(bias, {0.3 * (1.0 / 4 - 1.0 / 3), 0.3 * (2.0 / 4 - 1.0 / 3),
                                        0.3 * (1.0 / 4 - 1.0 / 3)}) < 1e-7);
  for (int step = 0; step < 300; ++step) train();

  const auto logits = inference.run<"logits">(tf::feed<"x">(x));
  const test::Numbers inputs(x.begin(), x.end());
  const test::Numbers expected =
      test::dense(test::relu(test::dense(inputs, variables, "fc1")), variables, "fc2");
  CHECK(test::largest_difference(test::as_numbers(logits), expected) < 1e-5);
  CHECK(static_cast<double>(inference.run<"loss">(tf::feed<"x">(x), tf::feed<"y">(y))) < 0.2);
}
