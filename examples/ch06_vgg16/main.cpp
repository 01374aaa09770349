// SPDX-License-Identifier: Apache-2.0

// Chapter 6: VGG-16 (Simonyan and Zisserman, 2014, configuration D), as the book times it: on
// random images, forward to the class, and forward with the gradients for all 32 variables. The
// book's GTX 1080 takes 0.152 s and 0.617 s for 32 images.
//
//   ch06_vgg16 --steps 100 --batch 32

#include <cstdint>
#include <cstdio>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"
#include "common/time_steps.hpp"
#include "vgg16.hpp"

namespace tf = typeflow;

constexpr void vgg16(tf::Graph& g) {
  auto images = placeholder<float, tf::batch, vgg::image_size, vgg::image_size, 3>(g, "images");
  auto fc8 = vgg::net(g, images);
  argmax<1>(softmax(fc8)).named("prediction");
  // The norm needs every gradient, and spares a copy of each to the caller.
  global_norm(gradients(l2_loss(fc8))).named("gradient_norm");
}
static_assert(tf::parameters<vgg16>() == 138'357'544);

void time_net(const examples::Options& options) {
  const auto images = examples::noise_images(options.batch, vgg::image_size, options.seed);
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
