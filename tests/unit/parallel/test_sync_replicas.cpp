// SPDX-License-Identifier: Apache-2.0

// Rounds of workers: equal to the whole batch, with spare workers and stale gradients.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"
#include "unit/parallel/nets.hpp"

namespace {

namespace tf = typeflow;
using test::batch_of;
using test::loss_of;

constexpr tf::Momentum momentum{.rate = 0.1};

template <int Count>
constexpr void workers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  tf::rounds<Count>(g, momentum, [&](auto a, auto b) { return loss_of(g, a, b); }, x, y);
}
constexpr void whole(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  minimize(momentum, loss_of(g, x, y).named("loss")).named("train");
}
/// Half of a batch.
test::Batch half(const test::Batch& all, std::ptrdiff_t which) {
  const auto rows = static_cast<std::ptrdiff_t>(all.y.size() / 2);
  return {{all.x.begin() + 5 * rows * which, all.x.begin() + 5 * rows * (which + 1)},
          {all.y.begin() + rows * which, all.y.begin() + rows * (which + 1)}};
}

}  // namespace

TEST_CASE("a round of two workers is a step with both batches") {
  tf::Variables of_one;
  tf::Session<whole> one(of_one, {.seed = 5, .threads = 1});
  test::train(one, 12);
  tf::Variables variables;
  tf::Session<workers<2>> session(variables, {.seed = 5, .devices = tf::DeviceList::of(2)});
  tf::SyncReplicas replicas(session, {.replicas_to_aggregate = 2, .total_replicas = 2});
  const auto work = [&]<int I>(std::integral_constant<int, I>) {
    for (std::size_t k = 0; k < 20; ++k) {
      const test::Batch b = half(batch_of(12, k), I);
      CHECK(replicas.step<I>(tf::feed<"x">(b.x), tf::feed<"y">(b.y)));
    }
  };
  {
    std::jthread first([&] { work(std::integral_constant<int, 0>{}); });
    std::jthread second([&] { work(std::integral_constant<int, 1>{}); });
  }
  CHECK(test::difference(test::weights(variables), test::weights(of_one)) < 1e-5);
  CHECK(replicas.rounds() == 20);  // by rounds, not by workers' steps
  CHECK(replicas.dropped() == 0);
}

TEST_CASE("gradients of an earlier round are dropped") {
  tf::Variables variables;
  tf::Session<workers<3>> session(variables, {.threads = 1, .soft_placement = true});
  const test::Batch b = batch_of(6, 0);
  session.run<"worker_0/push">(tf::feed<"x">(b.x), tf::feed<"y">(b.y));
  session.run<"worker_1/push">(tf::feed<"x">(b.x), tf::feed<"y">(b.y));
  CHECK(session.run<"rounds/collected">() == 2);
  const std::vector<float> before = test::weights(variables);
  session.run<"rounds/apply">();
  const std::vector<float> after = test::weights(variables);
  CHECK(after != before);
  session.run<"worker_2/push">(tf::feed<"x">(b.x), tf::feed<"y">(b.y));
  CHECK(session.run<"rounds/collected">() == 0);
  CHECK(session.run<"rounds/dropped">() == 1);
  session.run<"worker_2/pull">(tf::feed<"rounds/token">(std::int64_t{1}));
  session.run<"worker_2/push">(tf::feed<"x">(b.x), tf::feed<"y">(b.y));
  CHECK(session.run<"rounds/collected">() == 1);
  CHECK(session.run<"rounds/dropped">() == 1);
  CHECK(test::weights(variables) == after);
}

TEST_CASE("two of three workers make a round, and closing ends all") {
  tf::Variables variables;
  tf::Session<workers<3>> session(variables, {.threads = 1, .soft_placement = true});
  tf::SyncReplicas replicas(session, {.replicas_to_aggregate = 2, .total_replicas = 3});
  std::atomic<std::int64_t> steps{0};
  const auto work = [&]<int I>(std::integral_constant<int, I>) {
    for (std::size_t k = I;; ++k, ++steps) {
      const test::Batch b = batch_of(6, k);
      if (!replicas.step<I>(tf::feed<"x">(b.x), tf::feed<"y">(b.y))) return;
      if (replicas.rounds() >= 50) replicas.close();
    }
  };
  {
    std::jthread first([&] { work(std::integral_constant<int, 0>{}); });
    std::jthread second([&] { work(std::integral_constant<int, 1>{}); });
    std::jthread third([&] { work(std::integral_constant<int, 2>{}); });
  }
  const std::int64_t rounds = replicas.rounds();
  CHECK(rounds >= 50);
  // Each gradient is in a round, in the one that was not completed, or dropped; a round has two at
  // least. Up to three steps ended without a token.
  const std::int64_t left = session.run<"rounds/collected">();
  CHECK(2 * rounds + left + replicas.dropped() <= steps + 3);
}

TEST_CASE("replicas that can't form rounds are refused") {
  tf::Variables variables;
  tf::Session<workers<2>> session(variables, {.threads = 1, .soft_placement = true});
  CHECK(message_of([&] {
          tf::SyncReplicas(session, {.replicas_to_aggregate = 0, .total_replicas = 2});
        }).find("SyncReplicas: replicas_to_aggregate") != std::string::npos);
}
