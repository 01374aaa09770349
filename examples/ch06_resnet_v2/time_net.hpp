// SPDX-License-Identifier: Apache-2.0
#pragma once

// How long a residual net takes. Each depth is a source file, so that they compile side by side.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <typeflow/losses.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"
#include "common/time_steps.hpp"
#include "resnet.hpp"

namespace resnet {

/// A training step: the loss with the weights' regularisers, and Momentum. (The book times the
/// forward pass alone.)
template <class N>
constexpr void training(tf::Graph& g) {
  auto images = tf::placeholder<float, tf::batch, 224, 224, 3>(g, "images");
  auto labels = tf::placeholder<std::int32_t, tf::batch>(g, "labels");
  g.add_loss(mean(softmax_cross_entropy(N::logits(g, images), labels)));
  auto loss = tf::total_loss(g).named("loss");
  tf::Momentum{.rate = 0.01f, .momentum = 0.9f}.minimize(loss).named("train");
}

template <class N>
void time_net(const examples::Options& options) {
  const auto images = examples::noise_images(options.batch, 224, options.seed);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(options.batch));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 1000);
  tf::Variables variables;
  tf::Session<N::forward, tf::inference> inference(variables, {.seed = options.seed});
  const double forward = examples::time_steps("Forward", options.steps, [&] {
    inference.template run<"probabilities">(tf::feed<"images">(images));
  });
  tf::Session<training<N>> session(variables, {.seed = options.seed});
  const double both = examples::time_steps("Forward-backward", options.steps, [&] {
    session.template run<"train">(tf::feed<"images">(images), tf::feed<"labels">(labels));
  });
  std::printf("forward %.3f s, forward and backward %.3f s\n", forward, both);
}

/// A depth that a program has.
struct Size {
  const char* name;
  void (*time)(const examples::Options&);
};
std::vector<Size> sizes();

}  // namespace resnet
