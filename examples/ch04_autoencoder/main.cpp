// SPDX-License-Identifier: Apache-2.0

// Chapter 4: an autoencoder on MNIST with additive Gaussian noise. It learns to reconstruct an
// image from 200 numbers. Each pixel is scaled to mean 0 and deviation 1. Expected: after 20 epochs
// the mean cost of a batch has fallen from about 19,000 to at most 9,500.
//
//   ch04_autoencoder --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch04_autoencoder               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <typeflow/image.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr std::size_t pixels = 784;
constexpr std::size_t units = 200;

constexpr void autoencoder(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto rate = placeholder<float>(g, "rate", 0.001f);
  auto noise = random_normal<float, 784>(g, "noise");  // one for the batch, as in the book
  auto hidden = softplus(dense<200>(g, "encoder", x + 0.01f * noise)).named("hidden");
  auto reconstruction =
      dense<784>(g, "decoder", hidden, {.weights = tf::zeros()}).named("reconstruction");
  auto cost = (0.5f * sum(square(reconstruction - x))).named("cost");
  tf::Adam{.rate = rate}.minimize(cost).named("train");
}

/// Scales pixels to mean 0 and deviation 1, and back. A pixel that never changes keeps its
/// deviation of 0.
class StandardScaler {
 public:
  explicit StandardScaler(std::span<const float> images) : mean_(pixels), deviation_(pixels) {
    const double count = static_cast<double>(images.size() / pixels);
    std::vector<double> sum(pixels);
    std::vector<double> squares(pixels);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto x = static_cast<double>(images[i]);
      sum[i % pixels] += x;
      squares[i % pixels] += x * x;
    }
    for (std::size_t p = 0; p < pixels; ++p) {
      const double mean = sum[p] / count;
      const double variance = std::max(squares[p] / count - mean * mean, 0.0);
      mean_[p] = static_cast<float>(mean);
      deviation_[p] = variance < 1e-12 ? 1.0f : static_cast<float>(std::sqrt(variance));
    }
  }
  std::vector<float> scale(std::span<const float> images) const {
    std::vector<float> out(images.begin(), images.end());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = (out[i] - mean_[i % pixels]) / deviation_[i % pixels];
    }
    return out;
  }
  /// Appends the images as they were before scaling, within the range of grey values.
  void unscale(std::span<const float> images, std::vector<float>& out) const {
    for (std::size_t i = 0; i < images.size(); ++i) {
      out.push_back(std::clamp(images[i] * deviation_[i % pixels] + mean_[i % pixels], 0.0f, 1.0f));
    }
  }

 private:
  std::vector<float> mean_;
  std::vector<float> deviation_;
};

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  const StandardScaler scaler(digits.train.images);
  const std::vector<float> images = scaler.scale(digits.train.images);
  const std::vector<float> test = scaler.scale(digits.test.images);
  const auto count = static_cast<std::size_t>(digits.train.size());
  const auto batch = static_cast<std::size_t>(options.batch);
  if (count < batch) throw std::runtime_error("the batch is larger than the training set");

  tf::Variables variables;
  tf::Session<autoencoder> session(variables, {.seed = options.seed});
  std::mt19937_64 random(options.seed);
  const auto next = [&] {  // consecutive images, from a random one on
    const std::size_t first = random() % (count - batch + 1);
    const auto block = std::span<const float>(images).subspan(first * pixels, batch * pixels);
    return std::tuple(tf::feed<"x">(block), tf::feed<"rate">(options.rate));
  };
  double sum = 0;  // the sum of the epoch's costs
  double first = 0;
  double last = 0;
  const auto add = [&](std::int64_t, double cost) {
    sum += cost;
    return true;
  };
  const auto end_epoch = [&] {
    last = sum / static_cast<double>(count) * static_cast<double>(batch);
    if (first == 0) first = last;
    std::printf("mean cost of a batch in this epoch %.1f\n", last);
    sum = 0;
    return last;
  };
  tf::fit<"cost">(session, next,
                  {.epochs = options.steps,
                   .steps_per_epoch = static_cast<std::int64_t>(count / batch),
                   .batch_size = options.batch,
                   .on_step = add,
                   .validate = end_epoch});
  const float test_cost = session.run<"cost">(tf::feed<"x">(test));

  // Ten test images, their reconstructions, and ten images made from random hidden units.
  const auto ten = std::span<const float>(test).first(10 * pixels);
  const auto [again, codes] = session.run<"reconstruction", "hidden">(tf::feed<"x">(ten));
  std::vector<float> code(10 * units);
  std::normal_distribution<float> normal;
  for (float& unit : code) unit = normal(random);
  const auto made = session.run<"reconstruction">(tf::feed<"hidden">(code));  // without the encoder
  std::vector<float> rows;
  scaler.unscale(ten, rows);
  scaler.unscale({again.data(), again.size()}, rows);
  scaler.unscale({made.data(), made.size()}, rows);
  tf::write_png(options.output, tf::tile_images(rows, 28, 28, {.columns = 10}));
  std::printf("ten images, what the net says of them, ten that it makes up: %s\n",
              options.output.c_str());
  std::printf("the first image's code begins with %.3f %.3f %.3f\n",
              static_cast<double>(codes(0, 0)), static_cast<double>(codes(0, 1)),
              static_cast<double>(codes(0, 2)));
  std::printf("cost first %.1f last %.1f test %.1f\n", first, last, static_cast<double>(test_cost));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "An autoencoder on MNIST: chapter 4's first model. --steps counts epochs.",
      {.data_set = examples::mnist,
       .steps = 20,
       .batch = 128,
       .rate = 0.001f,
       .output = "reconstructions.png"},
      train);
}
