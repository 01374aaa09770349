// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <typeflow/typeflow.hpp>

namespace isas {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
  auto W = tf::variable<float, 20, 30>(g, "W", tf::ones);
  auto y = softmax(tanh(matmul(x, W)) * 3);
  auto loss = mean(square(y)).named("loss");
  sum<0>(y).named("columns");
  tf::GradientDescent{.rate = 1.0f}.minimize(loss).named("train");
}

/// The loss, and the name of the instruction set that computed it.
struct Result {
  float loss;
  const char* arch;
};
Result run_baseline(const std::vector<float>& x);
Result run_wide(const std::vector<float>& x);

template <class Unused>
Result run(const std::vector<float>& x) {
  tf::Variables variables;
  tf::Session<model> session(variables, {.threads = 1});
  session.run<"train">(tf::feed<"x">(x));
  return {session.run<"loss">(tf::feed<"x">(x)), tf::simd::DefaultArch::name()};
}

}  // namespace isas
