// SPDX-License-Identifier: Apache-2.0

// Chapter 9: towers, copies of a net on two virtual devices, each with half of a batch, beside one
// device with the whole batch.
//
//   ch09_towers --data DIR           the convolutional net of chapter 5 on CIFAR-10, synchronous:
//                                    the towers' gradients are averaged. --batch is a tower's rows
//   ch09_towers                      takes TYPEFLOW_DATA, otherwise trains on made pictures
//   ch09_towers --size classes       five whole numbers, two classes, on made rows; synchronous
//   ch09_towers --size classes-async the same, asynchronous: each tower updates when it is ready
//
// Expected: "loss of towers A, of one device B", within 1 % after 1,000 synchronous steps.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include "classes.hpp"
#include "common/program.hpp"
#include "speed.hpp"

namespace tf = typeflow;

namespace {

constexpr int towers = 2;

/// The loss of chapter 5's net: cross entropy, and the penalty of the dense layers' weights. The
/// towers and one device must see the same pictures, so the middle 24 x 24 pixels are taken.
/// (B,32,32,3), (B) -> ()
constexpr auto loss_of(tf::Graph& g, auto images, auto labels) {
  constexpr tf::LrnOptions lrn_options = {
      .depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75};
  auto part =
      cast<float>(tf::slice<tf::whole, tf::range(4, 28), tf::range(4, 28), tf::whole>(images));
  auto x = (part - 120) / 64;
  auto c1 = conv2d<64, 5>(g, "conv1", x,
                          {.weights = tf::truncated_normal(0, 0.05), .activation = tf::relu});
  auto n1 = lrn(max_pool<3, 2>(c1), lrn_options);  // (B,12,12,64)
  auto c2 = conv2d<64, 5>(
      g, "conv2", n1,
      {.weights = tf::truncated_normal(0, 0.05), .bias = tf::filled(0.1), .activation = tf::relu});
  auto p2 = max_pool<3, 2>(lrn(c2, lrn_options));  // (B,6,6,64)
  constexpr tf::LayerOptions local = {.weights = tf::truncated_normal(0, 0.04),
                                      .bias = tf::filled(0.1),
                                      .regularizer = tf::l2_regularizer(0.004),
                                      .activation = tf::relu};
  auto h4 = dense<192>(g, "local4", dense<384>(g, "local3", flatten(p2), local), local);
  auto logits = dense<10>(g, "softmax", h4, {.weights = tf::truncated_normal(0, 1.0 / 192)});
  return mean(softmax_cross_entropy(logits, labels)) + tf::regularization_loss(g);
}

constexpr void tower_net(tf::Graph& g) {
  auto images = placeholder<std::uint8_t, towers * tf::batch, 32, 32, 3>(g, "images");
  auto labels = placeholder<std::int32_t, towers * tf::batch>(g, "labels");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  auto net = tf::data_parallel<towers>(
      g, [&](auto x, auto y) { return loss_of(g, x, y).named("loss"); }, images, labels);
  net.loss().named("loss");
  minimize(tf::GradientDescent{.rate = rate}, net.gradients()).named("train");
}
constexpr void whole_net(tf::Graph& g) {
  auto images = placeholder<std::uint8_t, tf::batch, 32, 32, 3>(g, "images");
  auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  auto loss = loss_of(g, images, labels).named("loss");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

/// Made pictures: stripes of ten directions, with noise.
tf::Cifar10Images draw_stripes(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  tf::Cifar10Images out;
  for (int i = 0; i < count; ++i) {
    const int kind = static_cast<int>(random() % 10);
    const int shift = static_cast<int>(random() % 8);
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        const int place = row * kind + column * (9 - kind) + 9 * shift;
        const int light = place / 9 % 8 < 4 ? 160 : 80;
        for (int c = 0; c < 3; ++c) {
          out.images.push_back(static_cast<std::uint8_t>(light + static_cast<int>(random() % 40)));
        }
      }
    }
    out.labels.push_back(kind);
  }
  return out;
}

tf::Cifar10Images load(const examples::Options& options) {
  const std::filesystem::path folder = tf::data_folder(options.data);
  if (tf::has_cifar10(folder)) {
    std::printf("CIFAR-10 of %s\n", folder.c_str());
    return tf::read_cifar10(folder).train;
  }
  std::printf(
      "No data: neither --data nor TYPEFLOW_DATA says where CIFAR-10 is. Training on DRAWN "
      "stripes\n"
      "instead.\n");
  return draw_stripes(4000, options.seed);
}

/// Trains on the same batches in the same order as any other call with these options. Calls
/// run(images, labels) for each step.
template <class Run>
void train(const examples::Options& options, const tf::Cifar10Images& data, const Run& run) {
  tf::BatchSampler sampler(data.size(), {.size = towers * options.batch, .seed = options.seed});
  std::vector<std::uint8_t> images;
  std::vector<std::int32_t> labels;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const auto rows = sampler.next();
    tf::copy_rows<std::uint8_t>(data.images, tf::Cifar10Images::image_size, rows, images);
    tf::copy_rows<std::int32_t>(data.labels, 1, rows, labels);
    run(step, images, labels);
  }
}

void train_pictures(const examples::Options& options) {
  const tf::Cifar10Images data = load(options);
  // The mean loss of the last steps, at most 50: one batch alone says little.
  const std::int64_t counted = std::min<std::int64_t>(options.steps, 50);
  tf::Variables of_one;
  tf::Session<whole_net> one(of_one, {.seed = options.seed, .threads = towers});
  double loss_of_one = 0;
  std::printf("one device\n");
  const Speed speed_of_one;
  train(options, data, [&](std::int64_t step, const auto& images, const auto& labels) {
    const float loss = one.run<"loss", "train">(
        tf::feed<"images">(images), tf::feed<"labels">(labels), tf::feed<"rate">(options.rate));
    if (step > options.steps - counted) loss_of_one += loss;
    if (step % 100 == 0) {
      std::printf("step %lld loss %.4f\n", static_cast<long long>(step), static_cast<double>(loss));
    }
  });
  speed_of_one.print(options.steps, towers * options.batch);

  tf::Variables variables;
  tf::Session<tower_net> session(variables,
                                 {.seed = options.seed, .devices = tf::DeviceList::of(towers)});
  double loss_of_towers = 0;
  std::printf("two towers\n");
  const Speed speed;
  train(options, data, [&](std::int64_t step, const auto& images, const auto& labels) {
    const auto [loss, first, second] = session.run<"loss", "tower_0/loss", "tower_1/loss", "train">(
        tf::feed<"images">(images), tf::feed<"labels">(labels), tf::feed<"rate">(options.rate));
    if (step > options.steps - counted) loss_of_towers += loss;
    if (step % 100 == 0) {
      std::printf("step %lld loss of tower 0 %.4f, of tower 1 %.4f\n", static_cast<long long>(step),
                  static_cast<double>(first), static_cast<double>(second));
    }
  });
  speed.print(options.steps, towers * options.batch);
  std::printf("loss of towers %.4f, of one device %.4f\n",
              loss_of_towers / static_cast<double>(counted),
              loss_of_one / static_cast<double>(counted));
}

void run(const examples::Options& options) {
  if (options.size == "cifar") {
    train_pictures(options);
  } else {
    train_classes(options, options.size == "classes");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Towers on two devices, beside one device.",
                               {.data_set = {"CIFAR-10's binary version", tf::has_cifar10},
                                .steps = 1000,
                                .batch = 128,
                                .rate = 0.1f,
                                .sizes = {"cifar", "classes", "classes-async"}},
                               run);
}
