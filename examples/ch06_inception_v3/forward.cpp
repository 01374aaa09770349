// SPDX-License-Identifier: Apache-2.0

#include "common/time_steps.hpp"
#include "inception_v3.hpp"
#include "time_net.hpp"

namespace inception {

constexpr void forward(tf::Graph& g) {
  auto images = placeholder<float, tf::batch, image_size, image_size, 3>(g, "images");
  softmax(heads(g, images).logits).named("probabilities");
}
static_assert(tf::parameters<forward>() == 23'817'352);

double time_forward(const examples::Options& options, const std::vector<float>& images) {
  tf::Variables variables;
  tf::Session<forward, tf::inference> session(variables, {.seed = options.seed});
  return examples::time_steps("Forward", options.steps,
                              [&] { session.run<"probabilities">(tf::feed<"images">(images)); });
}

}  // namespace inception
