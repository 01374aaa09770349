// SPDX-License-Identifier: Apache-2.0

// Chapter 5: the convolutional net on CIFAR-10, with local response normalization and weight decay.
// The model itself crops and mirrors images, and changes their brightness and contrast, anew in
// each step. Expected after 3,000 steps of 128: a test accuracy of at least 0.70.
//
//   ch05_cifar10 --data DIR    DIR, or DIR/cifar-10-batches-bin, has the six files of CIFAR-10's
//                              binary version
//   ch05_cifar10               takes TYPEFLOW_DATA, otherwise trains on drawn shapes
//   ch05_cifar10 --queue       16 threads crop and change images, and put them into a queue that
//                              shuffles them, as the book's program does. Batches of 128 only
//   ch05_cifar10 --pipeline    reads and shuffles the files while it trains, by a tf::Dataset, from
//                              which the model takes its batches

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/images.hpp>
#include <typeflow/iterators.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/queues.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

/// The parts of 24 x 24 pixels that the net sees: at a random place in training, from the middle in
/// a test.
constexpr auto look(tf::Graph& g, const auto& bytes) {
  auto x = cast<float>(bytes);
  if (!g.training()) return per_image_standardization(crop_or_pad<24, 24>(x));
  auto part = random_flip_left_right(random_crop<24, 24>(x));
  return per_image_standardization(random_contrast(random_brightness(part, 63), 0.2, 1.8));
}

/// The net for parts of images.  // (N,24,24,3), (N)
constexpr void net(tf::Graph& g, const auto& parts, const auto& labels) {
  constexpr tf::LrnOptions lrn_options = {
      .depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75};
  auto rate = placeholder<float>(g, "rate", 0.001f);

  auto c1 = conv2d<64, 5>(g, "conv1", parts,
                          {.weights = tf::truncated_normal(0, 0.05), .activation = tf::relu});
  auto n1 = lrn(max_pool<3, 2>(c1), lrn_options);  // (N,12,12,64)
  auto c2 = conv2d<64, 5>(
      g, "conv2", n1,
      {.weights = tf::truncated_normal(0, 0.05), .bias = tf::filled(0.1), .activation = tf::relu});
  auto p2 = max_pool<3, 2>(lrn(c2, lrn_options));  // (N,6,6,64)

  constexpr tf::LayerOptions local = {.weights = tf::truncated_normal(0, 0.04),
                                      .bias = tf::filled(0.1),
                                      .regularizer = tf::l2_regularizer(0.004),
                                      .activation = tf::relu};
  auto h4 = dense<192>(g, "local4", dense<384>(g, "local3", flatten(p2), local), local);
  auto logits = dense<10>(g, "softmax", h4, {.weights = tf::truncated_normal(0, 1.0 / 192)});

  argmax<1>(logits).named("prediction");
  g.add_loss(mean(softmax_cross_entropy(logits, labels)));
  auto loss = tf::total_loss(g).named("loss");  // with the regularisers' losses
  tf::Adam{.rate = rate}.minimize(loss).named("train");
}

/// The net for images of a dataset, or for those that a run is fed with.
constexpr void cifar_net(tf::Graph& g) {
  const auto [images, labels] = tf::iterator<tf::ElementPart<std::uint8_t, tf::batch, 32, 32, 3>,
                                             tf::ElementPart<std::int32_t, tf::batch>>(g, "photos");
  net(g, look(g, images.named("images")), labels.named("labels"));
}

// The same from a queue, with the book's sizes: the least number of elements that it mixes, and
// room for three batches more.
constexpr std::int64_t queue_batch = 128;
using Parts =
    tf::Queue<tf::Shuffle{.capacity = 20'000 + 3 * queue_batch, .min_after_dequeue = 20'000},
              tf::Item<float, 24, 24, 3>, tf::Item<std::int32_t>>;

constexpr void fill_queue(tf::Graph& g) {
  auto images = placeholder<std::uint8_t, tf::batch, 32, 32, 3>(g, "images");
  auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
  enqueue_many(tf::queue<Parts>(g, "parts"), look(g, images), labels).named("enqueue");
}
constexpr void queued_net(tf::Graph& g) {
  const auto [parts, labels] = dequeue_many<queue_batch>(tf::queue<Parts>(g, "parts"));
  net(g, parts, labels);
}

/// Shapes with random places, sizes and colours, one shape for each class: a substitute for
/// photographs.
tf::Cifar10Images draw_shapes(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  tf::Cifar10Images out;
  for (int i = 0; i < count; ++i) {
    const int kind = static_cast<int>(random() % 10);
    const double size = uniform(6, 9);
    const double centre_x = uniform(12, 20);
    const double centre_y = uniform(12, 20);
    std::array<double, 3> back{};
    std::array<double, 3> front{};
    for (std::size_t c = 0; c < 3; ++c) {
      back[c] = uniform(30, 120);
      front[c] = back[c] + uniform(60, 120);
    }
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        const double x = (column - centre_x) / size;
        const double y = (row - centre_y) / size;
        const double ax = std::abs(x);
        const double ay = std::abs(y);
        const double radius = std::hypot(x, y);
        const bool inside[] = {
            radius < 1,                                                  // disc
            radius < 1 && radius > 0.6,                                  // ring
            std::max(ax, ay) < 0.9,                                      // square
            std::max(ax, ay) < 0.9 && std::max(ax, ay) > 0.55,           // frame
            ay < 0.9 && ax < 0.25,                                       // upright bar
            ax < 0.9 && ay < 0.25,                                       // level bar
            std::max(ax, ay) < 0.9 && std::min(ax, ay) < 0.25,           // cross
            ay < 0.9 && 2 * ax < y + 0.9,                                // triangle
            ay < 0.9 && 2 * ax < 0.9 - y,                                // the same upside down
            std::max(ax, ay) < 0.9 && std::lround(3 * y + 9) % 2 == 0};  // three stripes
        for (std::size_t c = 0; c < 3; ++c) {
          const double value = (inside[kind] ? front[c] : back[c]) + uniform(-12, 12);
          out.images.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
        }
      }
    }
    out.labels.push_back(kind);
  }
  return out;
}

tf::Cifar10 load(const examples::Options& options) {
  const std::filesystem::path folder = tf::data_folder(options.data);
  if (tf::has_cifar10(folder)) {
    std::printf("CIFAR-10 of %s\n", folder.c_str());
    return tf::read_cifar10(folder);
  }
  std::printf(
      "No data: neither --data nor TYPEFLOW_DATA says where CIFAR-10 is. Training on DRAWN shapes\n"
      "instead; the accuracy says nothing about CIFAR-10.\n");
  return {draw_shapes(4000, options.seed), draw_shapes(1000, options.seed + 1)};
}

/// The share of test images that the net classifies correctly.
double accuracy(tf::Variables& variables, const tf::Cifar10Images& test) {
  tf::Session<cifar_net, tf::inference> session(variables);
  const std::span<const std::uint8_t> all = test.images;
  constexpr std::size_t part = 500 * tf::Cifar10Images::image_size;
  std::size_t i = 0;
  int right = 0;
  for (std::size_t first = 0; first < all.size(); first += part) {
    const auto images = all.subspan(first, std::min(part, all.size() - first));
    for (const std::int32_t guess : session.run<"prediction">(tf::feed<"images">(images))) {
      right += guess == test.labels[i++];
    }
  }
  return static_cast<double>(right) / static_cast<double>(test.size());
}

/// Batches of the training images, for one thread or several.
class Reader {
 public:
  Reader(const tf::Cifar10Images& from, std::int64_t batch, std::uint64_t seed)
      : from_(from), sampler_(from.size(), {.size = batch, .seed = seed}) {}

  void read(std::vector<std::uint8_t>& images, std::vector<std::int32_t>& labels) {
    const std::lock_guard lock(mutex_);
    const auto rows = sampler_.next();
    tf::copy_rows<std::uint8_t>(from_.images, tf::Cifar10Images::image_size, rows, images);
    tf::copy_rows<std::int32_t>(from_.labels, 1, rows, labels);
  }

 private:
  const tf::Cifar10Images& from_;
  tf::BatchSampler sampler_;
  std::mutex mutex_;
};

void train_on_feeds(const examples::Options& options, tf::Variables& variables,
                    const tf::Cifar10Images& images_of) {
  tf::Session<cifar_net> session(variables, {.seed = options.seed});
  Reader reader(images_of, options.batch, options.seed);
  std::vector<std::uint8_t> images;
  std::vector<std::int32_t> labels;
  const auto next = [&] {
    reader.read(images, labels);
    return std::tuple(tf::feed<"images">(images), tf::feed<"labels">(labels),
                      tf::feed<"rate">(options.rate));
  };
  tf::fit(session, next, {.steps_per_epoch = options.steps, .batch_size = options.batch});
}

void train_on_pipeline(const examples::Options& options, tf::Variables& variables,
                       const tf::Cifar10Images& images_of) {
  tf::DataSession<cifar_net> session(variables, {.seed = options.seed});
  const std::string folder = tf::data_folder(options.data);
  // Drawn shapes are in no file.
  const auto images =
      tf::has_cifar10(folder)
          ? tf::from_elements(tf::cifar10_training_files(folder)).flat_map(tf::cifar10_records)
          : tf::zip(tf::from_rows(images_of.images, tf::Cifar10Images::image_size),
                    tf::from_elements(images_of.labels));
  session.bind<"photos">(images.shuffle({.buffer = 10000, .seed = options.seed})
                             .repeat()
                             .batch(options.batch)
                             .prefetch(4));
  const auto next = [&] { return std::tuple(tf::feed<"rate">(options.rate)); };
  tf::fit(session, next, {.steps_per_epoch = options.steps, .batch_size = options.batch});
}

void train_on_queue(const examples::Options& options, tf::Variables& variables,
                    const tf::Cifar10Images& images_of) {
  if (options.batch != queue_batch) {
    throw tf::Error("--queue", "--batch " + std::to_string(queue_batch),
                    "--batch " + std::to_string(options.batch));
  }
  tf::Session<fill_queue> filling(variables, {.seed = options.seed, .threads = 1});
  tf::Session<queued_net> session(variables, {.seed = options.seed});
  Reader reader(images_of, 16, options.seed);
  tf::Coordinator coordinator;
  tf::QueueRunner runner(variables.resource<Parts>("parts"), 16, [&] {
    thread_local std::vector<std::uint8_t> images;
    thread_local std::vector<std::int32_t> labels;
    reader.read(images, labels);
    filling.run<"enqueue">(tf::feed<"images">(images), tf::feed<"labels">(labels));
  });
  runner.start(coordinator);
  const auto next = [&] { return std::tuple(tf::feed<"rate">(options.rate)); };
  tf::fit(session, next, {.steps_per_epoch = options.steps, .batch_size = options.batch});
  coordinator.request_stop();
  coordinator.join();
}

void train(const examples::Options& options) {
  const tf::Cifar10 data = load(options);
  tf::Variables variables;
  const auto start = std::chrono::steady_clock::now();
  const auto train_on = options.queue      ? train_on_queue
                        : options.pipeline ? train_on_pipeline
                                           : train_on_feeds;
  train_on(options, variables, data.train);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  // The first layer's filters, a row each for red, green and blue.  // (5,5,3,64) -> (192,5,5)
  const auto weights = variables.get<float>("conv1/W");
  std::vector<float> filters(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) filters[i % 192 * 25 + i / 192] = weights[i];
  tf::write_png(options.output, tf::tile_images(filters, 5, 5, {.columns = 64, .gap = 1}));
  std::printf("the filters of the first layer, a row each of red, green and blue: %s\n",
              options.output.c_str());
  std::printf("%.0f samples/s, %.3f s a batch\n",
              static_cast<double>(options.steps * options.batch) / seconds,
              seconds / static_cast<double>(options.steps));
  std::printf("test accuracy %.4f\n", accuracy(variables, data.test));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv,
                               "A convolutional net on CIFAR-10: chapter 5's second model.",
                               {.data_set = {"CIFAR-10's binary version", tf::has_cifar10},
                                .steps = 3000,
                                .batch = 128,
                                .rate = 0.001f,
                                .output = "filters.png",
                                .queue_help = "16 threads fill a queue, which shuffles",
                                .pipeline_help = "read files while training, by a tf::Dataset"},
                               train);
}
