// SPDX-License-Identifier: Apache-2.0

// Chapter 8: a dueling double deep Q-network. It learns from pictures to walk in a grid world, to
// goals and around fires. Expected: within 6,000 episodes a mean reward of at least 15 in the last
// 100. Walking at random gives about 2.
//
//   ch08_dqn --steps 6000                            takes more than an hour
//   ch08_dqn --size small --steps 600 --rate 0.0006  a small net of small pictures, in seconds

#include "common/program.hpp"
#include "sizes.hpp"

void train(const examples::Options& options) {
  (options.size == "full" ? examples::train_full : examples::train_small)(options);
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv,
      "A dueling double deep Q-network in a grid world: chapter 8's second model. --steps counts "
      "episodes.",
      {.steps = 10000,
       .batch = 32,
       .rate = 1e-4f,
       .output = "episode.png",
       .sizes = {"full", "small"}},
      train);
}
