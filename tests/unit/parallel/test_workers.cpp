// SPDX-License-Identifier: Apache-2.0

// Workers: asynchronous training in simultaneous runs, and groups of towers.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "unit/parallel/nets.hpp"

namespace {

namespace tf = typeflow;
using test::batch_of;
using test::difference;
using test::loss_of;

/// Linear regression, a convex problem. (B,4), (B) -> ()
constexpr auto line(tf::Graph& g, auto x, auto y) {
  auto w = tf::variable<float, 4>(g, "w", tf::zeros());
  return mean(square(sum<1>(x * w) - y));
}
constexpr std::array<float, 4> solution = {1, -2, 0.5f, 3};

template <int Count>
constexpr void lines(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto y = tf::placeholder<float, tf::batch>(g, "y");
  auto workers = tf::asynchronous<Count>(g, [&](auto a, auto b) { return line(g, a, b); }, x, y);
  workers.train(tf::GradientDescent{.rate = 0.05});
}

/// One step of a worker on rows of its own.
template <int I, class Session>
std::int64_t step(Session& session, int number) {
  std::vector<float> x;
  std::vector<float> y(8, 0);
  for (std::size_t r = 0; r < 8; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      const auto place = 0.7 * static_cast<double>(r) + number + 17 * I;
      x.push_back(static_cast<float>(std::sin(static_cast<double>(1 + c * c) * place)));
      y[r] += x.back() * solution[c];
    }
  }
  if constexpr (I == 0) {
    return session.template run<"worker_0/staleness">(tf::feed<"x">(x), tf::feed<"y">(y));
  } else if constexpr (I == 1) {
    return session.template run<"worker_1/staleness">(tf::feed<"x">(x), tf::feed<"y">(y));
  } else {
    return session.template run<"worker_2/staleness">(tf::feed<"x">(x), tf::feed<"y">(y));
  }
}

}  // namespace

TEST_CASE("asynchronous workers: all updates count, and they find the solution") {
  constexpr int steps = 400;
  const auto check = [&](int devices) {
    tf::Variables variables;
    tf::Session<lines<3>> session(
        variables,
        {.threads = 1, .devices = tf::DeviceList::of(devices), .soft_placement = devices < 3});
    std::atomic<std::int64_t> stale{0};
    {
      std::vector<std::jthread> threads;
      const auto start = [&]<int I>(std::integral_constant<int, I>) {
        threads.emplace_back([&] {
          for (int k = 0; k < steps; ++k) stale += step<I>(session, k);
        });
      };
      start(std::integral_constant<int, 0>{});
      start(std::integral_constant<int, 1>{});
      start(std::integral_constant<int, 2>{});
    }
    CHECK(session.run<"workers/updates">() == 3 * steps);
    // Between a worker's two updates, those of the others are stale for it: each update of the
    // others is counted once by each worker that makes one afterwards.
    CHECK(stale > 0);
    CHECK(stale <= 2 * 3 * steps);
    const auto w = variables.get<float>("w");
    for (std::size_t i = 0; i < 4; ++i) CHECK(w[i] == doctest::Approx(solution[i]).epsilon(1e-3));
  };
  check(3);
  check(1);  // several steps at a time on one device
}

TEST_CASE("a worker alone trains as no worker does; staleness counts the others' updates") {
  tf::Variables variables;
  tf::Session<lines<3>> session(variables, {.threads = 1, .soft_placement = true});
  CHECK(step<0>(session, 0) == 0);
  CHECK(step<0>(session, 1) == 0);
  const float before = variables.get<float>("w")[0];
  CHECK(step<1>(session, 0) == 2);  // from the initial values
  CHECK(step<2>(session, 0) == 3);
  CHECK(step<0>(session, 2) == 2);
  CHECK(variables.get<float>("w")[0] != before);
  session.run<"worker_1/pull">();
  CHECK(std::ranges::equal(session.states().get<float>("worker_1/w"), variables.get<float>("w")));
  CHECK(step<1>(session, 1) == 0);
  CHECK(variables.names() == std::vector<std::string>{"w"});
}

namespace {

constexpr tf::Momentum momentum{.rate = 0.1};

/// Two groups of two towers.
constexpr void groups(tf::Graph& g) {
  auto x = tf::placeholder<float, 2 * tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, 2 * tf::batch>(g, "y");
  auto workers = tf::asynchronous<2, 2>(g, [&](auto a, auto b) { return loss_of(g, a, b); }, x, y);
  workers.train(momentum);
}
constexpr void whole(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  minimize(momentum, loss_of(g, x, y).named("loss")).named("train");
}

}  // namespace

TEST_CASE("groups: synchronous inside, asynchronous among each other") {
  tf::Variables variables;
  tf::Session<groups> session(variables, {.seed = 5, .devices = tf::DeviceList::of(4)});
  tf::Variables of_one;
  tf::Session<whole> one(of_one, {.seed = 5, .threads = 1});
  const std::vector<float> expected = test::train(one, 12);
  // In turn, with the latest variables, both groups together are one device with the whole batch.
  std::vector<float> got;
  for (std::size_t k = 0; k < 20; ++k) {
    const test::Batch batch = batch_of(12, k);
    if (k % 2 == 0) {
      session.run<"worker_0/pull">();
      got.push_back(session.run<"worker_0/loss", "worker_0/train">(tf::feed<"x">(batch.x),
                                                                   tf::feed<"y">(batch.y)));
    } else {
      session.run<"worker_1/pull">();
      got.push_back(session.run<"worker_1/loss", "worker_1/train">(tf::feed<"x">(batch.x),
                                                                   tf::feed<"y">(batch.y)));
    }
  }
  const std::vector<float> trained = test::weights(variables);
  got.insert(got.end(), trained.begin(), trained.end());
  CHECK(difference(got, expected) < 1e-5);
  CHECK(session.run<"workers/updates">() == 20);  // one a round of a group

  // At the same time.
  std::atomic<int> rounds{0};
  {
    const auto rows = [&](std::size_t k) { return batch_of(12, k); };
    std::jthread first([&] {
      for (std::size_t k = 0; k < 60; ++k, ++rounds) {
        const test::Batch b = rows(k);
        session.run<"worker_0/train">(tf::feed<"x">(b.x), tf::feed<"y">(b.y));
      }
    });
    std::jthread second([&] {
      for (std::size_t k = 0; k < 60; ++k, ++rounds) {
        const test::Batch b = rows(k + 1);
        session.run<"worker_1/train">(tf::feed<"x">(b.x), tf::feed<"y">(b.y));
      }
    });
  }
  CHECK(session.run<"workers/updates">() == 20 + rounds);
  CHECK(rounds == 120);
}
