// SPDX-License-Identifier: Apache-2.0

// Training steps whose kernels a session's threads share: equal bits of losses, gradients,
// variables and an optimiser's slots for 1, 2, 3 and 8 threads, and however the loops are divided.

#include <doctest/doctest.h>

#include <typeflow/attention.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

/// A step down the gradient of a loss.
constexpr void descend(const auto& y) {
  auto loss = mean(square(y - 0.3f)).named("loss");
  tf::GradientDescent{.rate = 0.1}.minimize(loss).named("train");
}

constexpr void lstm(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 70>(g, "x");
  descend(dynamic_rnn(tf::BasicLSTM<70, 96>(g, "cell"), x).outputs);
}

constexpr void attention(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 21, 64>(g, "x");
  descend(tf::multi_head_attention<4>(g, "attention", x));
}

constexpr void batch_norm(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13, 15, 24>(g, "x");
  auto w = tf::variable<float, 24>(g, "w");
  descend(relu(tf::batch_norm(g, "norm", x * w)));
}

constexpr void adam(tf::Graph& g) {
  auto w = tf::variable<float, 407, 301>(g, "w", tf::truncated_normal(0, 1));
  auto x = tf::placeholder<float, 407, 301>(g, "x");
  auto loss = mean(square(w - x)).named("loss");
  tf::Adam{.rate = 0.01}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("threads share training steps") {
  SUBCASE("of an LSTM") { CHECK(test::check_threads<lstm>(37) >= 6); }
  SUBCASE("of attention") { CHECK(test::check_threads<attention>(19) >= 10); }
  SUBCASE("of batch norm") { CHECK(test::check_threads<batch_norm>(11) >= 3); }
  SUBCASE("by an optimiser with slots") { CHECK(test::check_threads<adam>(1) >= 2); }
}
