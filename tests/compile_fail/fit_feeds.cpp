// SPDX-License-Identifier: Apache-2.0

// A training whose batches are a feed, and no tuple of feeds.

// expect: fit(session, next_batch, options): next_batch() must return a std::tuple of feeds

#include <tuple>
#include <vector>

#include "typeflow/training.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  auto w = tf::variable<float>(g, "w");
  auto loss = mean(square(x - w)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x(8);
#ifdef CORRECTED
  const auto next = [&] { return std::tuple(tf::feed<"x">(x)); };
#else
  const auto next = [&] { return tf::feed<"x">(x); };
#endif
  tf::fit(session, next, {.steps_per_epoch = 3});  // error here
}
