// SPDX-License-Identifier: Apache-2.0

// Chapter 6: VGG-16 (Simonyan and Zisserman, 2014, configuration D), as the book times it: on
// random images, forward to the class, and forward with the gradients for all 32 variables. The
// book's GTX 1080 takes 0.152 s and 0.617 s for 32 images.
//
//   ch06_vgg16 --steps 100 --batch 32

#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"
#include "common/time_steps.hpp"

namespace tf = typeflow;

constexpr int image_size = 224;

/// Convolutions of 3x3, then a pool that halves the image.
template <int Filters, int Layers>
constexpr auto block(tf::Graph& g, tf::Label name, const auto& x) {
  const auto h = repeat<Layers>(g, name, x, [](tf::Graph& in, tf::Label layer, auto v) {
    return conv2d<Filters, 3>(in, layer, v,
                              {.weights = tf::glorot_uniform, .activation = tf::relu});
  });
  return tf::max_pool<2>(h);
}

constexpr void vgg16(tf::Graph& g) {
  constexpr tf::LayerOptions full = {
      .weights = tf::glorot_uniform, .bias = tf::filled(0.1), .activation = tf::relu};
  auto images = placeholder<float, tf::batch, image_size, image_size, 3>(g, "images");
  auto h1 = block<64, 2>(g, "conv1", images);
  auto h2 = block<128, 2>(g, "conv2", h1);
  auto h3 = block<256, 3>(g, "conv3", h2);
  auto h4 = block<512, 3>(g, "conv4", h3);
  auto h5 = block<512, 3>(g, "conv5", h4);
  static_assert(std::is_same_v<decltype(h1)::shape, tf::Shape<tf::batch, 112, 112, 64>>);
  static_assert(std::is_same_v<decltype(h3)::shape, tf::Shape<tf::batch, 28, 28, 256>>);
  static_assert(std::is_same_v<decltype(h5)::shape, tf::Shape<tf::batch, 7, 7, 512>>);
  auto fc6 = dropout(dense<4096>(g, "fc6", flatten(h5), full), {.keep = 0.5});
  auto fc7 = dropout(dense<4096>(g, "fc7", fc6, full), {.keep = 0.5});
  auto fc8 = dense<1000>(g, "fc8", fc7, full);  // with a relu, as the book's
  argmax<1>(softmax(fc8)).named("prediction");

  // The norm needs every gradient, and spares a copy of each to the caller.
  global_norm(gradients(l2_loss(fc8))).named("gradient_norm");
}
static_assert(tf::parameters<vgg16>() == 138'357'544);

void time_net(const examples::Options& options) {
  const auto images = examples::noise_images(options.batch, image_size, options.seed);
  tf::Variables variables;
  tf::Session<vgg16, tf::inference> inference(variables, {.seed = options.seed});
  const double forward = examples::time_steps(
      "Forward", options.steps, [&] { inference.run<"prediction">(tf::feed<"images">(images)); });
  tf::Session<vgg16> training(variables, {.seed = options.seed});
  const double both = examples::time_steps("Forward-backward", options.steps, [&] {
    training.run<"gradient_norm">(tf::feed<"images">(images));
  });
  std::printf("forward %.3f s, forward and backward %.3f s\n", forward, both);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Times VGG-16: chapter 6.",
                               {.steps = 100, .batch = 32, .rate = 0}, time_net);
}
