// SPDX-License-Identifier: Apache-2.0

// Chapter 6: the convolutions of AlexNet (Krizhevsky, Sutskever and Hinton, 2012), as the book
// times them: on random images, forward, and forward with the gradients for all ten variables; both
// with local response normalization and without. The book's GTX 1080 takes 0.026 s and 0.078 s for
// 32 images with it, 0.007 s and 0.025 s without.
//
//   ch06_alexnet --steps 100 --batch 32

#include <cstdint>
#include <cstdio>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "alexnet.hpp"
#include "common/program.hpp"
#include "common/time_steps.hpp"

namespace tf = typeflow;

template <bool HasLrn>
constexpr void timed(tf::Graph& g) {
  constexpr int size = alexnet::image_size;
  auto images = placeholder<float, tf::batch, size, size, 3>(g, "images");
  auto pool5 = alexnet::net<HasLrn>(g, images).named("pool5");
  // The norm needs every gradient, and spares a copy of each to the caller.
  global_norm(gradients(l2_loss(pool5))).named("gradient_norm");
}
static_assert(tf::parameters<timed<true>>() == 2'469'696);

template <bool HasLrn>
double time_net(const char* title, const examples::Options& options,
                const std::vector<float>& images) {
  tf::Variables variables;
  tf::Session<timed<HasLrn>> session(variables, {.seed = options.seed});
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
  const auto images = examples::noise_images(options.batch, alexnet::image_size, options.seed);
  const double without = time_net<false>("without local response normalization", options, images);
  const double with = time_net<true>("with local response normalization", options, images);
  std::printf("forward: local response normalization takes %.2f times as long\n", with / without);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Times the convolutions of AlexNet: chapter 6.",
                               {.steps = 100, .batch = 32, .rate = 0}, time_nets);
}
