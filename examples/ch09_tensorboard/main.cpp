// SPDX-License-Identifier: Apache-2.0

// Chapter 9: a perceptron on MNIST whose training TensorBoard shows: scalars, distributions and
// images of each training step, the same for the test set every ten steps, the graph, the times of
// a step every hundred steps, and the hidden layer's view of 1,000 test images in the projector.
// Expected: a test accuracy of at least 0.96.
//
//   ch09_tensorboard --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch09_tensorboard               takes TYPEFLOW_DATA, otherwise trains on drawn digits
//   tensorboard --logdir logs      shows what it has written, also while it trains

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/image.hpp>
#include <typeflow/saving.hpp>
#include <typeflow/summaries.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

/// The summaries of a tensor, as the book's variable_summaries.
template <class X>
constexpr void watch(tf::Graph& g, tf::Summaries& summaries, tf::Label name, const X& x) {
  tf::NameScope of(g, name);
  tf::NameScope in(g, "summaries");
  const auto average = summaries.scalar("mean", mean(x));
  summaries.scalar("stddev", sqrt(mean(square(x - average))));
  summaries.scalar("max", max(x));
  summaries.scalar("min", min(x));
  summaries.histogram("histogram", x);
}

/// A dense layer with summaries of all that it has. (batch,inputs) -> (batch,Units)
template <int Units, int Inputs, class X, class F>
constexpr auto layer(tf::Graph& g, tf::Summaries& summaries, tf::Label name, const X& x,
                     const F& activation) {
  tf::Scope in(g, name);
  auto weights = variable<float, Inputs, Units>(g, "weights", tf::truncated_normal(0, 0.1));
  watch(g, summaries, "weights", weights);
  auto biases = variable<float, Units>(g, "biases", tf::filled(0.1));
  watch(g, summaries, "biases", biases);
  const auto sums = summaries.histogram("pre_activations", matmul(x, weights) + biases);
  return summaries.histogram("activations", activation(sums));
}

constexpr void mlp(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.001f);
  auto keep = placeholder<float>(g, "keep", 0.9f);

  tf::Summaries summaries(g);
  summaries.image("input", reshape<tf::batch, 28, 28, 1>(x), 10);
  auto hidden = layer<500, 784>(g, summaries, "layer1", x, [](const auto& v) { return relu(v); });
  hidden.named("hidden");
  auto dropped = [&] {
    tf::NameScope in(g, "dropout");
    summaries.scalar("dropout_keep_probability", keep);
    return dropout(hidden, {.keep = keep});
  }();
  auto logits = layer<10, 500>(g, summaries, "layer2", dropped, [](const auto& v) { return v; });
  auto loss = [&] {
    tf::NameScope in(g, "cross_entropy");
    return mean(softmax_cross_entropy(logits, y));
  }();
  summaries.scalar("cross_entropy", loss.named("loss"));
  auto accuracy = [&] {
    tf::NameScope in(g, "accuracy");
    return mean(cast<float>(equal(argmax<1>(logits), argmax<1>(y))));
  }();
  summaries.scalar("accuracy", accuracy.named("share"));
  tf::Adam{.rate = rate}.minimize(loss).named("train");
  summaries.merge().named("summaries");
}

/// Writes the values of the hidden layer for the first images, with the images and their digits.
void write_points(const std::filesystem::path& folder, tf::Session<mlp>& session,
                  const tf::LabeledImages& images) {
  constexpr int side = 32;  // of the square grid of images
  const std::int64_t count = std::min<std::int64_t>(images.size(), 1000);
  const auto pixels =
      std::span(images.images).first(static_cast<std::size_t>(count) * std::size_t{784});
  const auto hidden = session.run<"hidden">(tf::feed<"x">(pixels));
  const std::vector<std::uint8_t> sprite =
      tf::encode_png(tf::tile_images(pixels, 28, 28, {.columns = side, .gap = 0}));
  std::vector<std::string> digits;
  std::vector<std::string> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    digits.push_back(std::to_string(images.labels[static_cast<std::size_t>(i)]));
    numbers.push_back(std::to_string(i));
  }
  tf::write_projector(folder, {{.name = "hidden",
                                .values = {hidden.data(), hidden.size()},
                                .dimensions = 500,
                                .columns = {{"digit", digits}, {"image", numbers}},
                                .sprite = sprite,
                                .image_width = 28,
                                .image_height = 28}});
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<mlp> session(variables, {.seed = options.seed});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  const std::filesystem::path logs = options.summaries;
  tf::EventWriter of_training(logs / "train");
  tf::EventWriter of_test(logs / "test");
  of_training.graph(session);
  tf::Checkpoints saver(logs / "checkpoints");
  tf::Trace trace;

  const auto test = [&](std::int64_t step) {  // all units stay
    const auto [summaries, accuracy] = session.run<"summaries", "share">(
        tf::feed<"x">(digits.test.images), tf::feed<"y">(digits.test.one_hot),
        tf::feed<"keep">(1.0f));
    of_test.add(summaries, step);
    return accuracy;
  };
  for (std::int64_t step = 0; step < options.steps; ++step) {
    if (step % 10 == 0) {
      const float accuracy = test(step);
      if (step % 100 == 0) {
        std::printf("step %4lld, test accuracy %.4f\n", static_cast<long long>(step),
                    static_cast<double>(accuracy));
      }
    }
    const bool traced = step % 100 == 99;
    if (traced) {
      trace.clear();
      session.trace(&trace);
    }
    const tf::LabeledBatch batch = batches.next();
    of_training.add(
        session.run<"summaries", "train">(tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot),
                                          tf::feed<"rate">(options.rate)),
        step);
    if (traced) {
      session.trace<tf::Trace>(nullptr);
      of_training.run_metadata(session, trace, "step " + std::to_string(step), step, options.batch);
      saver.save(variables, step);
    }
  }
  write_points(logs / "train", session, digits.test);
  const float accuracy = test(options.steps);
  of_training.flush();
  of_test.flush();
  std::printf("tensorboard --logdir %s\n", logs.c_str());
  std::printf("test accuracy %.4f\n", static_cast<double>(accuracy));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "A perceptron on MNIST in TensorBoard: chapter 9's first model.",
      {.data_set = examples::mnist, .rate = 0.001f, .has_summaries = true, .summaries = "logs"},
      train);
}
