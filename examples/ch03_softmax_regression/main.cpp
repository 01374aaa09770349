// SPDX-License-Identifier: Apache-2.0

// Chapter 3: softmax regression on MNIST. The settings are the book's: weights from zero, 1000
// steps of 100 images, gradient descent with rate 0.5. Expected: a test accuracy of about 0.92 (the
// book's figure), at least 0.910.
//
//   ch03_softmax_regression --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch03_softmax_regression               takes TYPEFLOW_DATA, else trains on drawn digits

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/typeflow.hpp>

#include "options.hpp"
#include "report.hpp"

namespace tf = typeflow;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.5f);
  auto W = variable<float, 784, 10>(g, "W", tf::zeros);
  auto b = variable<float, 10>(g, "b", tf::zeros);
  auto logits = (matmul(x, W) + b).named("logits");  // (batch,10)
  auto prediction = argmax<1>(logits).named("prediction");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(prediction, argmax<1>(y)))).named("accuracy");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

void train(const Options& options) {
  const std::filesystem::path folder = tf::data_folder(options.data);
  if (folder.empty()) {
    std::printf(
        "No data: neither --data nor TYPEFLOW_DATA says where MNIST is. Training on DRAWN digits\n"
        "instead; the accuracy says nothing about MNIST.\n");
  }
  const tf::Datasets digits =
      folder.empty() ? tf::drawn_digits({.seed = options.seed}) : tf::read_mnist(folder);
  std::printf(
      "%s: %lld images for training, %lld for validation, %lld for the test\n",
      folder.empty() ? "drawn digits" : folder.c_str(), static_cast<long long>(digits.train.size()),
      static_cast<long long>(digits.validation.size()), static_cast<long long>(digits.test.size()));

  tf::Variables variables;
  tf::Session<softmax_regression> session(variables, {.seed = options.seed});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  Progress progress(options.steps, options.batch);
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const tf::LabeledBatch batch = batches.next();
    const float loss = session.run<"loss", "train">(
        tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  const float validation = session.run<"accuracy">(tf::feed<"x">(digits.validation.images),
                                                   tf::feed<"y">(digits.validation.one_hot));
  const auto [test, prediction] = session.run<"accuracy", "prediction">(
      tf::feed<"x">(digits.test.images), tf::feed<"y">(digits.test.one_hot));
  print_confusion(digits.test.labels, {prediction.data(), prediction.size()});

  // The weights of each digit as an image: bright where ink speaks for it.  // (784,10) -> (10,784)
  const auto weights = variables.get<float>("W");
  std::vector<float> images(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) images[i % 10 * 784 + i / 10] = weights[i];
  tf::write_png(options.output, tf::tile_images(images, 28, 28));
  std::printf("the weights of the ten digits: %s\n", options.output.c_str());
  std::printf("validation accuracy %.4f\n", static_cast<double>(validation));
  std::printf("test accuracy %.4f\n", static_cast<double>(test));
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  try {
    train(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
