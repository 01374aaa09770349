// SPDX-License-Identifier: Apache-2.0

// Chapter 8: a net that keeps a pole upright on a cart, trained by policy gradients. Episodes are
// played with the net's probabilities, and actions of the better episodes become more probable. An
// episode lasts until the pole falls, without a time limit. Expected: a mean reward (the steps
// until the pole falls) of more than 200 within 1,000 episodes, for four of five seeds. With random
// pushes it falls after about 22 steps.
//
//   ch08_policy_gradient

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "cart_pole.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr double solved = 200;           // mean reward of the last batch of episodes
constexpr double discount = 0.99;        // of a reward, for each step before it
constexpr std::size_t longest = 20'000;  // steps of an episode, because the pole may never fall

constexpr void policy(tf::Graph& g) {
  auto observation = placeholder<float, tf::batch, 4>(g, "observation");
  auto right = placeholder<float, tf::batch>(g, "right");  // 1 where the cart was pushed right
  auto advantage = placeholder<float, tf::batch>(g, "advantage");
  auto rate = placeholder<float>(g, "rate", 0.1f);

  auto hidden = dense<50>(g, "hidden", observation, {.use_bias = false, .activation = tf::relu});
  auto logit = reshape<tf::batch>(dense<1>(g, "push", hidden, {.use_bias = false}));
  sigmoid(logit).named("probability");                         // probability of a push to the right
  auto log_likelihood = log_sigmoid((2 * right - 1) * logit);  // of the actions
  auto loss = -mean(log_likelihood * advantage);

  const tf::GradientSums sums(gradients(loss));
  sums.add().named("accumulate");
  (minimize(tf::Adam{.rate = rate}, sums.mean()) + sums.reset()).named("train");
}
static_assert(tf::parameters<policy>() == 250);

/// The observations and actions of an episode.
struct Episode {
  std::vector<float> observations;  // (steps,4)
  std::vector<float> right;         // (steps)

  std::size_t steps() const { return right.size(); }
};

Episode play(tf::Session<policy>& session, std::mt19937_64& random) {
  Episode episode;
  examples::CartPole cart_pole(random);
  while (!cart_pole.fallen() && episode.steps() < longest) {
    const auto observation = cart_pole.observe();
    float probability = 0;
    session.run<>(tf::feed<"observation">(observation), tf::into<"probability">(probability));
    const bool right = std::generate_canonical<float, 24>(random) < probability;
    cart_pole.push(right);
    episode.observations.insert(episode.observations.end(), observation.begin(), observation.end());
    episode.right.push_back(right ? 1.0f : 0.0f);
  }
  return episode;
}

/// How much better than the others each step was: the discounted rewards from it on, scaled to mean
/// 0 and deviation 1. The reward of each step is 1.
std::vector<float> advantages(std::size_t steps) {
  std::vector<double> returns(steps);
  double sum = 0;
  double squares = 0;
  double from_here = 0;
  for (std::size_t i = steps; i-- > 0;) {
    from_here = 1 + discount * from_here;
    returns[i] = from_here;
    sum += from_here;
    squares += from_here * from_here;
  }
  const double mean = sum / static_cast<double>(steps);
  const double deviation = std::sqrt(squares / static_cast<double>(steps) - mean * mean);
  std::vector<float> advantages;
  for (const double x : returns) {  // an episode has several steps, so the deviation is not 0
    advantages.push_back(static_cast<float>((x - mean) / deviation));
  }
  return advantages;
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  tf::Variables variables;
  tf::Session<policy> session(variables, {.seed = options.seed});
  double mean_reward = 0;
  for (std::int64_t done = 0; done < options.steps && mean_reward <= solved;) {
    double reward = 0;
    for (std::int64_t i = 0; i < options.batch; ++i) {
      const Episode episode = play(session, random);
      reward += static_cast<double>(episode.steps());
      session.run<"accumulate">(tf::feed<"observation">(episode.observations),
                                tf::feed<"right">(episode.right),
                                tf::feed<"advantage">(advantages(episode.steps())));
    }
    session.run<"train">(tf::feed<"rate">(options.rate));
    done += options.batch;
    mean_reward = reward / static_cast<double>(options.batch);
    std::printf("episodes %4lld   mean reward of the last %lld: %.1f\n",
                static_cast<long long>(done), static_cast<long long>(options.batch), mean_reward);
  }
  std::printf("mean reward %.1f\n", mean_reward);
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv,
      "A pole kept upright by policy gradients: chapter 8's first model. --steps counts episodes, "
      "--batch those of a training step; more than 200 ends the training.",
      {.steps = 1000, .batch = 25, .rate = 0.1f}, train);
}
