// SPDX-License-Identifier: Apache-2.0

// Chapter 6: Inception V3. The book times its forward pass on 32 random images of 299 x 299 pixels,
// and finds it faster than VGG-16's though the images are larger. This program times a training
// step with both heads, too.
//
//   ch06_inception_v3 --steps 100 --batch 32

#include <cstdio>
#include <vector>

#include "common/time_steps.hpp"
#include "time_net.hpp"

namespace {

constexpr int image_size = 299;

void time_net(const examples::Options& options) {
  const auto images = examples::noise_images(options.batch, image_size, options.seed);
  const double forward = inception::time_forward(options, images);
  const double both = inception::time_training(options, images);
  std::printf("forward %.3f s, forward and backward %.3f s\n", forward, both);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Times Inception V3: chapter 6.",
                               {.steps = 100, .batch = 32, .rate = 0}, time_net);
}
