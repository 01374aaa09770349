// SPDX-License-Identifier: Apache-2.0

// Chapter 7: a bidirectional LSTM (long short-term memory), which reads MNIST's digits row by row,
// one cell from the top and one from the bottom. Expected: a test accuracy of at least 0.97 after
// 3,124 steps of 128.
//
//   ch07_bilstm --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch07_bilstm               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <typeflow/rnn.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr void bilstm(tf::Graph& g) {
  constexpr int rows = 28;    // the steps
  constexpr int pixels = 28;  // in a row, the inputs
  constexpr int units = 256;  // in each cell
  auto x = placeholder<float, tf::batch, rows * pixels>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.01f);

  const tf::BasicLSTM<pixels, units> down(g, "down");
  const tf::BasicLSTM<pixels, units> up(g, "up");
  auto both = bidirectional_rnn(down, up, reshape<tf::batch, rows, pixels>(x));
  // At the last row `down` has read the whole image, `up` a single row.
  auto last = concat<1>(select<1>(both.forward.outputs, -1), select<1>(both.backward.outputs, -1));
  auto logits = dense<10>(g, "softmax", last, {.weights = tf::normal(), .bias = tf::normal()});
  argmax<1>(logits).named("prediction");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::Adam{.rate = rate}.minimize(loss).named("train");
}

/// The classes of the images, 500 at a time.
std::vector<std::int32_t> predict(auto& session, const tf::LabeledImages& images) {
  std::vector<std::int32_t> classes;
  const std::span<const float> pixels = images.images;
  for (std::size_t first = 0; first < pixels.size(); first += 500 * 784) {
    const auto part =
        pixels.subspan(first, std::min<std::size_t>(500 * 784, pixels.size() - first));
    const auto prediction = session.template run<"prediction">(tf::feed<"x">(part));
    classes.insert(classes.end(), prediction.begin(), prediction.end());
  }
  return classes;
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<bilstm> session(variables, {.seed = options.seed});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const tf::LabeledBatch batch = batches.next();
    const float loss = session.run<"loss", "train">(
        tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  const std::vector<std::int32_t> classes = predict(session, digits.test);
  examples::print_confusion(digits.test.labels, classes);
  int right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) right += classes[i] == digits.test.labels[i];
  std::printf("test accuracy %.4f\n", right / static_cast<double>(classes.size()));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "A bidirectional LSTM on MNIST's rows: chapter 7.",
      {.data_set = examples::mnist, .steps = 3124, .batch = 128, .rate = 0.01f}, train);
}
