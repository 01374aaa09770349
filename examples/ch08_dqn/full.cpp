// SPDX-License-Identifier: Apache-2.0

#include "agent.hpp"
#include "sizes.hpp"

namespace examples {

constexpr DqnSettings full = {
    .cell = 12,
    .white = 255,
    .layers = {{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}, {512, 7, 1}}},
    .last_weights = tf::normal(),
    .replay = 50'000,
    .random_steps = 10'000,
    .annealing_steps = 10'000,
    .follow = 0.001f,
};
static_assert(tf::parameters<dqn<full>>() == 2 * 1'682'688);  // both nets

void train_full(const Options& options) { train_agent<full>(options); }

}  // namespace examples
