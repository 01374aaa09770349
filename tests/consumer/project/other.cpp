// SPDX-License-Identifier: Apache-2.0

// A second file of the program, with the same kernels: the headers must define nothing twice.

#include <vector>

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 1>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 1>(g, "y");
  auto w = tf::variable<float, 1, 1>(g, "w", tf::zeros());
  auto loss = mean(square(matmul(x, w) - y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}
}  // namespace

float trained_in_other_file(const std::vector<float>& x, const std::vector<float>& y) {
  tf::Variables variables;
  tf::Session<model> session(variables);
  for (int step = 0; step < 50; ++step) session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
  return variables.get<float>("w")[0];
}
