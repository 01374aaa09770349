// SPDX-License-Identifier: Apache-2.0

// Chapter 5: the convolutional net on MNIST: two convolutions with max-pools, a dense layer with
// dropout, softmax, trained by Adam. Expected: a test accuracy of at least 0.990 after 20,000 steps
// of 50, at least 0.97 after 2,000.
//
//   ch05_cnn --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch05_cnn               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <typeflow/image.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr void cnn(tf::Graph& g) {
  constexpr auto weights = tf::truncated_normal(0, 0.1);
  constexpr auto biases = tf::filled(0.1);
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 1e-4f);

  constexpr tf::LayerOptions options = {.weights = weights, .bias = biases, .activation = tf::relu};
  auto c1 = conv2d<32, 5>(g, "conv1", reshape<tf::batch, 28, 28, 1>(x), options);
  auto c2 = conv2d<64, 5>(g, "conv2", max_pool<2>(c1), options);  // (batch,14,14,64)
  auto h3 = dense<1024>(g, "dense", flatten(max_pool<2>(c2)), options);
  auto logits = dense<10>(g, "softmax", dropout(h3, {.keep = 0.5}),
                          {.weights = weights, .bias = biases});  // (batch,10)
  argmax<1>(logits).named("prediction");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::Adam{.rate = rate}.minimize(loss).named("train");
}

/// The classes of the images, 500 at a time. The layers of all images together would take
/// gigabytes.
std::vector<std::int32_t> predict(tf::Variables& variables, const tf::LabeledImages& images) {
  tf::Session<cnn, tf::inference> session(variables);  // without dropout
  std::vector<std::int32_t> classes;
  const std::span<const float> pixels = images.images;
  for (std::size_t first = 0; first < pixels.size(); first += 500 * 784) {
    const auto part =
        pixels.subspan(first, std::min<std::size_t>(500 * 784, pixels.size() - first));
    const auto prediction = session.run<"prediction">(tf::feed<"x">(part));
    classes.insert(classes.end(), prediction.begin(), prediction.end());
  }
  return classes;
}

double accuracy(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& classes) {
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += labels[i] == classes[i];
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<cnn> session(variables, {.seed = options.seed});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const tf::LabeledBatch batch = batches.next();
    const float loss = session.run<"loss", "train">(
        tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  // The filters of the first layer.  // (5,5,1,32) -> (32,5,5)
  const auto weights = variables.get<float>("conv1/W");
  std::vector<float> filters(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) filters[i % 32 * 25 + i / 32] = weights[i];
  tf::write_png(options.output, tf::tile_images(filters, 5, 5, {.columns = 8, .gap = 1}));

  const std::vector<std::int32_t> classes = predict(variables, digits.test);
  examples::print_confusion(digits.test.labels, classes);
  std::printf("the filters of the first layer: %s\n", options.output.c_str());
  std::printf("validation accuracy %.4f\n",
              accuracy(digits.validation.labels, predict(variables, digits.validation)));
  std::printf("test accuracy %.4f\n", accuracy(digits.test.labels, classes));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A convolutional net on MNIST: chapter 5's first model.",
                               {.data_set = examples::mnist,
                                .steps = 20000,
                                .batch = 50,
                                .rate = 1e-4f,
                                .output = "filters.png"},
                               train);
}
