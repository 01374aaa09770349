// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include "common/time_steps.hpp"
#include "model.hpp"

namespace inception {

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
