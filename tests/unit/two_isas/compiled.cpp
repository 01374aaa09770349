// SPDX-License-Identifier: Apache-2.0

// Compiled once for each instruction set; UNIT is the name of the function.

#include "compiled.hpp"

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
  auto W = tf::variable<float, 20, 30>(g, "W", tf::normal(0, 0.1));
  auto loss = mean(square(softmax(matmul(x, W)))).named("loss");
  tf::GradientDescent{.rate = 1.0f}.minimize(loss).named("train");
}

}  // namespace

isas::CompiledResult isas::UNIT(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables, {.threads = 2});
  session.run<"train">(tf::feed<"x">(x));
  return {session.run<"loss">(tf::feed<"x">(x)), tf::cpu_kernels::DefaultArch::name()};
}
