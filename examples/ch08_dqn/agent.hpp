// SPDX-License-Identifier: Apache-2.0
#pragma once

// An agent that learns to walk in the grid world, with a net of any size.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include <typeflow/image.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"
#include "grid_world.hpp"
#include "model.hpp"
#include "replay.hpp"

namespace examples {

constexpr float first_epsilon = 1.0f;  // share of random actions
constexpr float last_epsilon = 0.1f;
constexpr int episode_steps = 50;
constexpr int steps_per_training = 4;

/// A net, its target net, and its memory.
template <DqnSettings S>
class Agent {
 public:
  explicit Agent(const Options& options)
      : options_(options), random_(options.seed), session_(variables_, {.seed = options.seed}) {
    session_.template run<"move_target">(tf::feed<"follow">(1.0f));  // equal at the beginning
  }

  /// Plays an episode with this share of random actions, and learns from it. Returns the sum of the
  /// rewards.
  double play() {
    GridWorld world(random_);
    double sum = 0;
    Transition step;
    step.after = world.picture();
    for (int i = 0; i < episode_steps; ++i, ++steps_) {
      step.before = step.after;
      step.action = act(step.before, epsilon());
      step.reward = world.step(static_cast<GridWorld::Action>(step.action), random_);
      step.after = world.picture();
      replay_.add(step);
      sum += static_cast<double>(step.reward);
      if (steps_ >= S.random_steps && steps_ % steps_per_training == 0) learn();
    }
    return sum;
  }

  /// The world in each step of an episode in which the agent takes its best actions. The smallest
  /// share of random actions remains, because otherwise it may walk up and down forever.
  std::vector<GridWorld::Picture> show() {
    GridWorld world(random_);
    std::vector<GridWorld::Picture> pictures;
    for (int i = 0; i < episode_steps; ++i) {
      pictures.push_back(world.picture());
      const std::int32_t action = act(pictures.back(), last_epsilon);
      world.step(static_cast<GridWorld::Action>(action), random_);
    }
    return pictures;
  }

  /// The present share of random actions.
  float epsilon() const {
    const auto share = static_cast<float>(steps_ - S.random_steps) / S.annealing_steps;
    return first_epsilon + (last_epsilon - first_epsilon) * std::clamp(share, 0.0f, 1.0f);
  }
  float loss() const { return loss_; }

 private:
  /// In this share of the calls a random action, otherwise the net's best one.
  std::int32_t act(const GridWorld::Picture& picture, float random_share) {
    if (std::generate_canonical<float, 24>(random_) < random_share) {
      return static_cast<std::int32_t>(random_() % GridWorld::actions);
    }
    std::int32_t action = 0;
    session_.template run<>(tf::feed<"before">(picture), tf::into<"best">(action));
    return action;
  }

  void learn() {
    replay_.sample(static_cast<std::size_t>(options_.batch), random_, batch_);
    loss_ = session_.template run<"loss", "train">(
        tf::feed<"before">(batch_.before), tf::feed<"action">(batch_.actions),
        tf::feed<"reward">(batch_.rewards), tf::feed<"after">(batch_.after),
        tf::feed<"rate">(options_.rate));
    session_.template run<"move_target">();
  }

  Options options_;
  std::mt19937_64 random_;
  tf::Variables variables_;
  tf::Session<dqn<S>> session_;
  Replay replay_{S.replay};
  TransitionBatch batch_;
  std::int64_t steps_ = 0;
  float loss_ = 0;
};

/// Pictures of 84x84 pixels in rows of ten.
inline tf::Image draw_strip(const std::vector<GridWorld::Picture>& pictures) {
  constexpr int cell = 12, gap = 4, columns = 10;
  constexpr int tile = GridWorld::picture_side * cell + gap;
  const int count = static_cast<int>(pictures.size());
  tf::Image strip{
      (count + columns - 1) / columns * tile - gap, std::min(count, columns) * tile - gap, 3, {}};
  strip.pixels.assign(static_cast<std::size_t>(strip.height * strip.width * 3), 128);
  for (int y = 0; y < strip.height; ++y) {
    for (int x = 0; x < strip.width; ++x) {
      const int picture = y / tile * columns + x / tile;
      const int row = y % tile / cell, column = x % tile / cell;
      if (picture >= count || row >= GridWorld::picture_side || column >= GridWorld::picture_side) {
        continue;  // between the pictures, or behind the last
      }
      const std::uint8_t* const from =
          &pictures[static_cast<std::size_t>(picture)]
                   [static_cast<std::size_t>((row * GridWorld::picture_side + column) * 3)];
      std::copy_n(from, 3, &strip.pixels[static_cast<std::size_t>((y * strip.width + x) * 3)]);
    }
  }
  return strip;
}

/// Trains for options.steps episodes, and draws another.
template <DqnSettings S>
void train_agent(const Options& options) {
  constexpr std::size_t last = 100;  // episodes of a mean
  Agent<S> agent(options);
  tf::Progress progress({.steps = options.steps});
  std::vector<double> rewards;
  const auto mean = [&] {
    const auto count = static_cast<std::ptrdiff_t>(std::min(last, rewards.size()));
    return std::accumulate(rewards.end() - count, rewards.end(), 0.0) / static_cast<double>(count);
  };
  for (std::int64_t episode = 1; episode <= options.steps; ++episode) {
    rewards.push_back(agent.play());
    progress.show(episode, static_cast<double>(agent.loss()));
    if (episode % static_cast<std::int64_t>(last) != 0) continue;
    progress.end_line();
    std::printf(
        "episodes %5lld   %.2f of the actions at random   mean reward of the last 100: %.1f\n",
        static_cast<long long>(episode), static_cast<double>(agent.epsilon()), mean());
    std::fflush(stdout);
  }
  tf::write_png(options.output, draw_strip(agent.show()));
  std::printf("an episode of %d steps: %s\n", episode_steps, options.output.c_str());
  std::printf("mean reward %.1f\n", mean());
}

}  // namespace examples
