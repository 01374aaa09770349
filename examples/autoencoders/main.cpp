// SPDX-License-Identifier: Apache-2.0

// Autoencoders of digits, one for each way of keeping a code from being a mere copy, by --size:
//
//   sparse      64 units, each rarely on: the Kullback-Leibler (KL) divergence of its mean
//               activation from 0.05 is a part of the loss (Ng, Sparse autoencoder, 2011)
//   denoising   three of ten pixels are missing, and must be restored (Vincent et al., 2008)
//   conv        two convolutions, and two transposed ones that enlarge the picture again
//   stacked     784-128-32-128-784, trained at once
//
// Expected: less than half of the error of the best constant picture, the mean of all. The
// denoising one is measured on test images with missing pixels.
//
//   autoencoders --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   autoencoders               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <typeflow/plots.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr std::size_t pixels = 784;

/// The mean square error, and the effect that makes it, and what is added to it, smaller.
template <class X, class Y, class... Penalty>
constexpr void learn(tf::Graph& g, const X& x, const Y& again, const Penalty&... penalty) {
  again.named("reconstruction");
  auto error = mean(square(again - x)).named("error");
  auto rate = placeholder<float>(g, "rate", 0.003f);
  tf::Adam{.rate = rate}.minimize((error + ... + penalty)).named("train");
}

constexpr void sparse(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, pixels>(g, "x");
  auto code = sigmoid(dense<64>(g, "encoder", x));
  const float wanted = 0.05f;
  auto on = mean<0>(code);  // (64), each unit's mean activation
  auto divergence = wanted * log(wanted / on) + (1 - wanted) * log((1 - wanted) / (1 - on));
  learn(g, x, sigmoid(dense<pixels>(g, "decoder", code)), 1e-4f * sum(divergence));
}

constexpr void denoising(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, pixels>(g, "x");
  auto uniform = random_uniform<float, tf::batch, pixels>(g, "uniform");
  auto seen = where(less(uniform, 0.3f), 0, x);
  auto code = relu(dense<128>(g, "encoder", seen));
  learn(g, x, sigmoid(dense<pixels>(g, "decoder", code)));
}

constexpr void convolutional(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, pixels>(g, "x");
  auto image = tf::reshape<tf::batch, 28, 28, 1>(x);
  auto a = relu(conv2d<8, 3, 2>(g, "a", image));           // (batch,14,14,8)
  auto code = relu(conv2d<4, 3, 2>(g, "b", a));            // (batch,7,7,4)
  auto c = relu(conv2d_transpose<8, 3, 2>(g, "c", code));  // (batch,14,14,8)
  auto again = sigmoid(conv2d_transpose<1, 3, 2>(g, "d", c));
  learn(g, x, tf::reshape<tf::batch, pixels>(again));
}

constexpr void stacked(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, pixels>(g, "x");
  auto a = relu(dense<128>(g, "encoder1", x));
  auto code = relu(dense<32>(g, "encoder2", a));
  auto b = relu(dense<128>(g, "decoder1", code));
  learn(g, x, sigmoid(dense<pixels>(g, "decoder2", b)));
}

/// The mean square error of the training images' mean as the reconstruction of every test image.
double error_of_mean(const tf::Datasets& digits) {
  std::vector<double> mean(pixels);
  const std::vector<float>& images = digits.train.images;
  const double share = static_cast<double>(pixels) / static_cast<double>(images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    mean[i % pixels] += static_cast<double>(images[i]) * share;
  }
  const std::vector<float>& test = digits.test.images;
  double sum = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    sum += std::pow(static_cast<double>(test[i]) - mean[i % pixels], 2);
  }
  return sum / static_cast<double>(test.size());
}

template <auto Model>
void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  tf::Variables variables;
  tf::Session<Model> session(variables, {.seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  tf::Curve errors{.name = options.size};
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const auto batch = batches.next();
    const auto error = static_cast<double>(session.template run<"error", "train">(
        tf::feed<"x">(batch.images), tf::feed<"rate">(options.rate)));
    progress.show(step, error);
    errors.y.push_back(error);
  }
  progress.finish();
  const double constant = error_of_mean(digits);
  const std::vector<double> of_mean(errors.y.size(), constant);
  const std::vector<tf::Curve> curves = {errors, {.name = "mean of all images", .y = of_mean}};
  tf::write_plot(options.output, tf::plot_curves(curves, {.title = "Autoencoder",
                                                          .x_label = "step",
                                                          .y_label = "mean square error"}));
  std::printf("errors: %s\n", options.output.c_str());
  const auto test_images = std::span<const float>(digits.test.images).first(1000 * pixels);
  const double error = session.template run<"error">(tf::feed<"x">(test_images));
  std::printf("test error %.4f, of the mean of all images %.4f\n", error, constant);
  std::printf("share of the error that is gone %.4f\n", 1 - error / constant);
}

void choose(const examples::Options& options) {
  if (options.size == "sparse") train<sparse>(options);
  if (options.size == "denoising") train<denoising>(options);
  if (options.size == "conv") train<convolutional>(options);
  if (options.size == "stacked") train<stacked>(options);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv,
                               "Autoencoders: sparse, denoising, convolutional, stacked.",
                               {.data_set = examples::mnist,
                                .steps = 600,
                                .batch = 100,
                                .rate = 0.003f,
                                .output = "errors.svg",
                                .sizes = {"sparse", "denoising", "conv", "stacked"}},
                               choose);
}
