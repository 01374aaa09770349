// SPDX-License-Identifier: Apache-2.0

// Chapter 6: ResNet v2. The book times the forward pass of 152 layers on 32 random images of 224 x
// 224 pixels; this program times a training step, too. ch06_resnet_v2 has the net of 50 layers,
// ch06_resnet_v2_large, a target of its own, those of 101, 152 and 200.
//
//   ch06_resnet_v2 --steps 100 --batch 32

#include <string>
#include <vector>

#include "time_net.hpp"

namespace {

void time_net(const examples::Options& options) {
  for (const resnet::Size& size : resnet::sizes()) {
    if (options.size == size.name) size.time(options);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  for (const resnet::Size& size : resnet::sizes()) names.push_back(size.name);
  return examples::run_program(argc, argv, "Times ResNet v2: chapter 6.",
                               {.steps = 100, .batch = 32, .rate = 0, .sizes = names}, time_net);
}
