// SPDX-License-Identifier: Apache-2.0

// The first graph of the TensorFlow white paper and of chapter 1 of TensorFlow in Practice: a
// hidden layer relu(W x + b), of which a cost is computed, and ten runs that print the step and the
// cost. The printed program multiplies a (784,100) matrix by a vector of 100 and adds a bias of
// 100, which fits no shapes; tests/compile_fail/book_sample.cpp shows the message. Here the image
// has 784 pixels. Expected: ten lines, the last "step 10 cost C".

#include <cstddef>
#include <cstdio>
#include <vector>

#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 784>(g, "x");
  auto W = tf::variable<float, 784, 100>(g, "W", tf::uniform(-1, 1));
  auto b = tf::variable<float, 100>(g, "b", tf::zeros());
  auto hidden = relu(matmul(x, W) + b);  // (1,784) x (784,100) -> (1,100)
  mean(square(hidden)).named("cost");
}

void train(const examples::Options& options) {
  tf::Variables variables;
  tf::Session<model> session(variables, {.seed = options.seed});
  std::vector<float> image(784);
  for (int step = 1; step <= 10; ++step) {
    for (std::size_t i = 0; i < image.size(); ++i) {  // a gradient that moves from run to run
      image[i] = static_cast<float>((i + 28 * static_cast<std::size_t>(step)) % 784) / 784;
    }
    std::printf("step %d cost %.4f\n", step,
                static_cast<double>(session.run<"cost">(tf::feed<"x">(image))));
  }
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "The sample graph of the TensorFlow white paper.",
                               {.steps = 0, .batch = 0, .rate = 0}, train);
}
