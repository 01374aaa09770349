// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>

#include "common/time_steps.hpp"
#include "inception_v3.hpp"
#include "time_net.hpp"

namespace inception {

constexpr void training(tf::Graph& g) {
  auto images = placeholder<float, tf::batch, image_size, image_size, 3>(g, "images");
  auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss(g, images, labels)).named("train");
}
static_assert(tf::parameters<training>() == 27'143'152);

double time_training(const examples::Options& options, const std::vector<float>& images) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(options.batch));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 1000);
  tf::Variables variables;
  tf::Session<training> session(variables, {.seed = options.seed});
  return examples::time_steps("Forward-backward", options.steps, [&] {
    session.run<"train">(tf::feed<"images">(images), tf::feed<"labels">(labels));
  });
}

}  // namespace inception
