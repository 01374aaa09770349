// SPDX-License-Identifier: Apache-2.0

#include "agent.hpp"
#include "sizes.hpp"

namespace examples {

constexpr DqnSettings small = {
    .cell = 2,
    .white = 1,
    .layers = {{{16, 2, 2}, {32, 3, 1}, {32, 3, 1}, {64, 3, 1}}},
    .last_weights = tf::glorot_uniform,
    .replay = 20'000,
    .random_steps = 1'000,
    .annealing_steps = 5'000,
    .follow = 0.01f,
};

void train_small(const Options& options) { train_agent<small>(options); }

}  // namespace examples
