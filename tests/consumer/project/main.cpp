// SPDX-License-Identifier: Apache-2.0

// A user's program: what it needs of flags and libraries must come with the target that it links.

#include <cmath>
#include <cstdio>
#include <vector>

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

float trained_in_other_file(const std::vector<float>& x, const std::vector<float>& y);

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 1>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 1>(g, "y");
  auto w = tf::variable<float, 1, 1>(g, "w", tf::zeros());
  auto loss = mean(square(matmul(x, w) - y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

// Beyond the default limits of g++ (262,144 iterations) and clang (1,048,576 steps).
constexpr int count_far() {
  int count = 0;
  for (int i = 0; i < 600000; ++i) ++count;
  return count;
}
static_assert(count_far() == 600000);

int main() {
  const std::vector<float> x{1, 0.5f, -1, 0};
  const std::vector<float> y{2, 1, -2, 0};
  tf::Variables variables;
  tf::Session<model> session(variables);
  for (int step = 0; step < 50; ++step) session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
  const float w = variables.get<float>("w")[0];
  if (!(std::abs(w - 2) < 1e-3f)) {
    std::printf("w is %g instead of 2\n", static_cast<double>(w));
    return 1;
  }
  if (trained_in_other_file(x, y) != w) {
    std::puts("two files of one program compute differently");
    return 1;
  }
  return 0;
}
