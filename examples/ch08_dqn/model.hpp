// SPDX-License-Identifier: Apache-2.0
#pragma once

// The dueling double deep Q-network of chapter 8, of any size. Sources: Mnih et
// al., "Human-level control through deep reinforcement learning", Nature 518 (2015); van Hasselt,
// Guez and Silver, "Deep reinforcement learning with double Q-learning", AAAI 2016; Wang et al.,
// "Dueling network architectures for deep reinforcement learning", ICML 2016.

#include <array>
#include <cstdint>

#include <typeflow/images.hpp>
#include <typeflow/typeflow.hpp>

#include "grid_world.hpp"

namespace examples {

namespace tf = typeflow;

/// A convolution without padding and bias, followed by relu.
struct ConvSize {
  int filters;
  int kernel;
  int stride;
};

/// The size of the net, and how it learns.
struct DqnSettings {
  int cell;                        ///< width of a cell, in the pixels that the net sees
  float white;                     ///< value of the brightest color
  std::array<ConvSize, 4> layers;  ///< the last sees the whole picture
  tf::Initializer last_weights;    ///< for the dense layers
  int replay;                      ///< remembered transitions
  int random_steps;                ///< steps before the training
  int annealing_steps;             ///< steps in which random actions become rare
  float follow;                    ///< share by which the target net follows in a training step
};

constexpr float discount = 0.99f;

template <ConvSize Size>
inline constexpr tf::ConvOptions<2> windows{.strides = {Size.stride, Size.stride},
                                            .padding = tf::Padding::valid};

/// The Q of every action for pictures. // (batch,7,7,3) -> (batch,4)
template <DqnSettings S>
constexpr auto q_net(tf::Graph& g, tf::Label name) {
  constexpr auto L = S.layers;
  constexpr tf::LayerOptions options = {.use_bias = false, .activation = tf::relu};
  constexpr tf::LayerOptions last = {.weights = S.last_weights, .use_bias = false};
  tf::Scope in(g, name);
  tf::Conv2d<3, L[0].filters, L[0].kernel, windows<L[0]>> conv1(g, "conv1", options);
  tf::Conv2d<L[0].filters, L[1].filters, L[1].kernel, windows<L[1]>> conv2(g, "conv2", options);
  tf::Conv2d<L[1].filters, L[2].filters, L[2].kernel, windows<L[2]>> conv3(g, "conv3", options);
  tf::Conv2d<L[2].filters, L[3].filters, L[3].kernel, windows<L[3]>> conv4(g, "conv4", options);
  tf::Dense<L[3].filters / 2, GridWorld::actions> advantage(g, "advantage", last);
  tf::Dense<L[3].filters / 2, 1> value(g, "value", last);
  return [=](auto picture) {
    constexpr int side = GridWorld::picture_side * S.cell;
    auto pixels =
        tf::resize<side, side, tf::ResizeOptions{.method = tf::Interpolation::nearest}>(picture);
    auto x = cast<float>(pixels) * (S.white / 255.0f);
    auto [for_advantage, for_value] = split<2, 1>(flatten(conv4(conv3(conv2(conv1(x))))));
    auto advantages = advantage(for_advantage);
    return value(for_value) + (advantages - mean<1>(advantages, tf::keep_dims));
  };
}

template <DqnSettings S>
constexpr void dqn(tf::Graph& g) {
  constexpr int side = GridWorld::picture_side;
  auto online = q_net<S>(g, "online");
  auto target = q_net<S>(g, "target");
  auto before = placeholder<std::uint8_t, tf::batch, side, side, 3>(g, "before");
  auto after = placeholder<std::uint8_t, tf::batch, side, side, 3>(g, "after");
  auto action = placeholder<std::int32_t, tf::batch>(g, "action");
  auto reward = placeholder<float, tf::batch>(g, "reward");
  auto rate = placeholder<float>(g, "rate", 1e-4f);
  auto follow = placeholder<float>(g, "follow", S.follow);

  auto q = online(before);
  argmax<1>(q).named("best");
  // The online net chooses the best next action, the target net values it.
  auto then = gather<tf::GatherOptions{.batch_dims = 1}>(target(after), argmax<1>(online(after)));
  auto goal = stop_gradient(reward + discount * then);
  auto loss =
      mean(square(goal - gather<tf::GatherOptions{.batch_dims = 1}>(q, action))).named("loss");
  tf::Adam{.rate = rate}.minimize(loss, g.trainable("online")).named("train");
  tf::blend(g.variables("target"), g.variables("online"), follow).named("move_target");
}

}  // namespace examples
