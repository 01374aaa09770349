// SPDX-License-Identifier: Apache-2.0

// Chapter 6: the convolutions of AlexNet (Krizhevsky, Sutskever and Hinton, 2012), as the book
// times them: on random images, forward, and forward with the gradients for all ten variables; both
// with local response normalization and without. The book's GTX 1080 takes 0.026 s and 0.078 s for
// 32 images with it, 0.007 s and 0.025 s without.
//
//   ch06_alexnet --steps 100 --batch 32

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

constexpr auto normalized(const auto& x) {
  return lrn(x, {.depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75});
}

template <bool HasLrn>
constexpr void alexnet(tf::Graph& g) {
  constexpr tf::LayerOptions options = {.weights = tf::truncated_normal(0, 0.1),
                                        .activation = tf::relu};
  constexpr auto valid = tf::Padding::valid;
  auto images = placeholder<float, tf::batch, image_size, image_size, 3>(g, "images");
  auto conv1 = conv2d<64, 11, 4>(g, "conv1", images, options);
  static_assert(std::is_same_v<decltype(conv1)::shape, tf::Shape<tf::batch, 56, 56, 64>>);
  auto pool1 = [&] {
    if constexpr (HasLrn) {
      return tf::max_pool<3, 2, valid>(normalized(conv1));
    } else {
      return tf::max_pool<3, 2, valid>(conv1);
    }
  }();
  static_assert(std::is_same_v<typename decltype(pool1)::shape, tf::Shape<tf::batch, 27, 27, 64>>);
  auto conv2 = conv2d<192, 5>(g, "conv2", pool1, options);
  auto pool2 = [&] {
    if constexpr (HasLrn) {
      return tf::max_pool<3, 2, valid>(normalized(conv2));
    } else {
      return tf::max_pool<3, 2, valid>(conv2);
    }
  }();
  static_assert(std::is_same_v<typename decltype(pool2)::shape, tf::Shape<tf::batch, 13, 13, 192>>);
  auto conv3 = conv2d<384, 3>(g, "conv3", pool2, options);
  auto conv4 = conv2d<256, 3>(g, "conv4", conv3, options);
  auto conv5 = conv2d<256, 3>(g, "conv5", conv4, options);
  auto pool5 = tf::max_pool<3, 2, valid>(conv5).named("pool5");
  static_assert(std::is_same_v<typename decltype(pool5)::shape, tf::Shape<tf::batch, 6, 6, 256>>);

  // The norm needs every gradient, and spares a copy of each to the caller.
  global_norm(gradients(l2_loss(pool5))).named("gradient_norm");
}
static_assert(tf::parameters<alexnet<true>>() == 2'469'696);

template <bool HasLrn>
double time_net(const char* title, const examples::Options& options,
                const std::vector<float>& images) {
  tf::Variables variables;
  tf::Session<alexnet<HasLrn>> session(variables, {.seed = options.seed});
  std::printf("%s\n", title);
  const double forward = examples::time_steps(
      "Forward", options.steps, [&] { session.template run<"pool5">(tf::feed<"images">(images)); });
  const double both = examples::time_steps("Forward-backward", options.steps, [&] {
    session.template run<"gradient_norm">(tf::feed<"images">(images));
  });
  std::printf("forward %.3f s, forward and backward %.3f s\n", forward, both);
  return forward;
}

void time_nets(const examples::Options& options) {
  const auto images = examples::noise_images(options.batch, image_size, options.seed);
  const double without = time_net<false>("without local response normalization", options, images);
  const double with = time_net<true>("with local response normalization", options, images);
  std::printf("forward: local response normalization takes %.2f times as long\n", with / without);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Times the convolutions of AlexNet: chapter 6.",
                               {.steps = 100, .batch = 32, .rate = 0}, time_nets);
}
