// SPDX-License-Identifier: Apache-2.0

// Operations of one run that wait for each other. A run that held its thread while it waits would
// never end.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "typeflow/control_flow.hpp"
#include "typeflow/queues.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

using Numbers = tf::Queue<tf::Fifo{.capacity = 2}, tf::Item<std::int64_t>>;
using Number = tf::Expr<std::int64_t>;

/// 100 dequeues, each from a queue of its own, that all wait for the enqueue that the model has
/// last.
constexpr void relay(tf::Graph& g) {
  auto to = tf::queue<Numbers>(g, "last");
  auto last = dequeue(to);
  tf::Effect all;
  for (int i = 0; i < 100; ++i) {
    auto from = tf::queue<Numbers>(g, {"q", i});
    all += enqueue(to, dequeue(from) + 1);
    to = from;
  }
  all += enqueue(to, placeholder<std::int64_t>(g, "x"));
  after(all, last + 0).named("y");
}

/// 100 dequeues from one queue, which waits for what another thread pushes.
constexpr void gathering(tf::Graph& g) {
  auto q = tf::queue<Numbers>(g, "q");
  Number total = tf::constant<std::int64_t>(g, 0);
  for (int i = 0; i < 100; ++i) total = total + dequeue(q);
  total.named("total");
}

/// Producers and consumers in one graph, with room for two elements.
constexpr void both_sides(tf::Graph& g) {
  auto q = tf::queue<Numbers>(g, "q");
  Number total = tf::constant<std::int64_t>(g, 0);
  for (int i = 0; i < 20; ++i) total = total + dequeue(q);
  tf::Effect all;
  for (int i = 0; i < 20; ++i) all += enqueue(q, i);
  after(all, total + 0).named("total");
}

/// Two players: each returns the ball ten times, one larger.
constexpr void ping_pong(tf::Graph& g) {
  auto ping = tf::queue<Numbers>(g, "ping");
  auto pong = tf::queue<Numbers>(g, "pong");
  tf::Effect a;
  tf::Effect b;
  Number ball = placeholder<std::int64_t>(g, "ball");
  for (int i = 0; i < 10; ++i) {
    const tf::Effect returned = enqueue(pong, dequeue(ping, b) + 1);
    b = returned;
    a = run_after(a, enqueue(ping, ball));
    ball = dequeue(pong, a);
  }
  after(a + b, ball + 0).named("end");
}

/// The same by two loops.
constexpr void loops(tf::Graph& g) {
  auto ping = tf::queue<Numbers>(g, "ping");
  auto pong = tf::queue<Numbers>(g, "pong");
  auto one = fori_loop(
      0, 50,
      [&](auto, auto state) {
        const tf::Effect played = enqueue(ping, state);
        return dequeue(pong, played);
      },
      placeholder<std::int64_t>(g, "ball"));
  auto other = fori_loop(
      0, 50,
      [&](auto, auto state) {
        auto ball = dequeue(ping);
        return after(enqueue(pong, ball + 1), state + ball);
      },
      tf::constant<std::int64_t>(g, 0));
  one.named("end");
  other.named("sum");
}

}  // namespace

TEST_CASE("100 dequeues of one run wait, with two threads") {
  tf::Variables variables;
  tf::Session<relay> session(variables, {.threads = 2});
  for (std::int64_t x = 0; x < 20; ++x) {
    CHECK(session.run<"y">(tf::feed<"x">(x)) == x + 100);
  }
}

TEST_CASE("100 dequeues of one run wait for another thread") {
  tf::Variables variables;
  tf::Session<gathering> session(variables, {.threads = 2});
  auto& queue = variables.resource<Numbers>("q");
  std::jthread producer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (std::int64_t i = 0; i < 300; ++i) queue.push(i);
  });
  std::int64_t total = 0;
  for (int i = 0; i < 3; ++i) total += session.run<"total">();
  CHECK(total == 299 * 300 / 2);
}

TEST_CASE("producers and consumers of one run wait for each other") {
  tf::Variables variables;
  tf::Session<both_sides> session(variables, {.threads = 2});
  for (int i = 0; i < 20; ++i) CHECK(session.run<"total">() == 190);
}

TEST_CASE("two queues of one run play ping-pong") {
  tf::Variables variables;
  tf::Session<ping_pong> session(variables, {.threads = 2});
  for (std::int64_t i = 0; i < 20; ++i) CHECK(session.run<"end">(tf::feed<"ball">(i)) == i + 10);
}

TEST_CASE("two loops of one run play ping-pong") {
  tf::Variables variables;
  tf::Session<loops> session(variables, {.threads = 2});
  const auto [end, sum] = session.run<"end", "sum">(tf::feed<"ball">(std::int64_t{7}));
  CHECK(end == 57);
  CHECK(sum == 50 * 7 + 49 * 50 / 2);
}

TEST_CASE("a run that fails takes back what waits") {
  tf::Variables variables;
  tf::Session<both_sides> session(variables, {.threads = 2});
  auto& queue = variables.resource<Numbers>("q");
  queue.close();
  CHECK_THROWS_AS(session.run<"total">(), tf::Error);
  CHECK(queue.size() <= 2);
}
