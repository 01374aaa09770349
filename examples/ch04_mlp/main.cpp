// SPDX-License-Identifier: Apache-2.0

// Chapter 4: a multilayer perceptron with one hidden layer and dropout on MNIST, trained by
// Adagrad. One model function gives two sessions, for training and for inference, on one store of
// variables. Draws the confusion matrix of the test as confusion.svg. Expected: a test accuracy of
// at least 0.975.
//
//   ch04_mlp --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch04_mlp               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <typeflow/image.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr void mlp(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.3f);
  auto hidden = relu(dense<300>(g, "hidden", x, {.weights = tf::truncated_normal(0, 0.1)}));
  // An inference session leaves it out.
  auto logits = dense<10>(g, "output", dropout(hidden, {.keep = 0.75}), {.weights = tf::zeros()});
  auto prediction = argmax<1>(logits).named("prediction");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(prediction, argmax<1>(y)))).named("accuracy");
  tf::Adagrad{.rate = rate}.minimize(loss).named("train");
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<mlp> session(variables, {.seed = options.seed});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  const auto next = [&] {
    const tf::LabeledBatch batch = batches.next();
    return std::tuple(tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot),
                      tf::feed<"rate">(options.rate));
  };
  tf::fit(session, next, {.steps_per_epoch = options.steps, .batch_size = options.batch});

  tf::Session<mlp, tf::inference> inference(variables);
  const float validation = inference.run<"accuracy">(tf::feed<"x">(digits.validation.images),
                                                     tf::feed<"y">(digits.validation.one_hot));
  const auto [test, prediction] = inference.run<"accuracy", "prediction">(
      tf::feed<"x">(digits.test.images), tf::feed<"y">(digits.test.one_hot));
  examples::print_confusion(digits.test.labels, {prediction.data(), prediction.size()});
  tf::write_plot("confusion.svg",
                 tf::plot_confusion(tf::confusion_counts(
                     digits.test.labels, {prediction.data(), prediction.size()}, 10)));

  // The weights of the first hundred hidden units.  // (784,300) -> (100,784)
  const auto weights = variables.get<float>("hidden/W");
  std::vector<float> images(std::size_t{100} * 784);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = weights[i % 784 * 300 + i / 784];
  tf::write_png(options.output, tf::tile_images(images, 28, 28, {.columns = 10}));
  std::printf("what the first hundred hidden units look at: %s\n", options.output.c_str());
  std::printf("validation accuracy %.4f\n", static_cast<double>(validation));
  std::printf("test accuracy %.4f\n", static_cast<double>(test));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "A perceptron with dropout on MNIST: chapter 4's second model.",
      {.data_set = examples::mnist, .steps = 3000, .rate = 0.3f, .output = "hidden.png"}, train);
}
