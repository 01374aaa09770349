// SPDX-License-Identifier: Apache-2.0

// Chapter 3: softmax regression on MNIST. The settings are those of the book TensorFlow in
// Practice: weights from zero, 1000 steps of 100 images, gradient descent with rate 0.5. Expected:
// a test accuracy of about 0.92 (the book's figure), at least 0.910.
//
//   ch03_softmax_regression --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch03_softmax_regression               takes TYPEFLOW_DATA, otherwise trains on drawn digits
//   ch03_softmax_regression --summaries logs     writes its curves, too: tensorboard --logdir logs

#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include <typeflow/image.hpp>
#include <typeflow/records.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.5f);
  auto W = variable<float, 784, 10>(g, "W", tf::zeros());
  auto b = variable<float, 10>(g, "b", tf::zeros());
  auto logits = (matmul(x, W) + b).named("logits");  // (batch,10)
  auto prediction = argmax<1>(logits).named("prediction");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(prediction, argmax<1>(y)))).named("accuracy");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<softmax_regression> session(variables, {.seed = options.seed});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  std::optional<tf::EventWriter> summaries;
  if (!options.summaries.empty()) summaries.emplace(options.summaries);
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const tf::LabeledBatch batch = batches.next();
    const float loss = session.run<"loss", "train">(
        tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
    if (summaries) summaries->scalar("loss", static_cast<double>(loss), step);
  }

  const float validation = session.run<"accuracy">(tf::feed<"x">(digits.validation.images),
                                                   tf::feed<"y">(digits.validation.one_hot));
  const auto [test, prediction] = session.run<"accuracy", "prediction">(
      tf::feed<"x">(digits.test.images), tf::feed<"y">(digits.test.one_hot));
  examples::print_confusion(digits.test.labels, {prediction.data(), prediction.size()});

  // Each digit's weights as an image, bright where ink makes it likely.  // (784,10) -> (10,784)
  const auto weights = variables.get<float>("W");
  std::vector<float> images(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) images[i % 10 * 784 + i / 10] = weights[i];
  tf::write_png(options.output, tf::tile_images(images, 28, 28));
  std::printf("the weights of the ten digits: %s\n", options.output.c_str());
  if (summaries) {
    summaries->add(tf::Summary()
                       .histogram("W", weights)
                       .scalar("test accuracy", static_cast<double>(test))
                       .scalar("validation accuracy", static_cast<double>(validation)),
                   options.steps);
  }
  std::printf("validation accuracy %.4f\n", static_cast<double>(validation));
  std::printf("test accuracy %.4f\n", static_cast<double>(test));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Softmax regression on MNIST: chapter 3's first model.",
      {.data_set = examples::mnist, .output = "weights.png", .has_summaries = true}, train);
}
