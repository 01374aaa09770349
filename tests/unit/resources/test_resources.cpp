// SPDX-License-Identifier: Apache-2.0

// Resources: counters and mutexes of the library, and resources of a user's own. Order of effects,
// sharing between sessions and simultaneous runs, and errors.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void counting(tf::Graph& g) {
  auto steps = tf::counter(g, "steps");
  auto first = next(steps).named("first");
  auto second = next(steps, 10).named("second");
  (first + second).named("both");
  set(steps, 100).named("reset");
}

constexpr void locked(tf::Graph& g) {
  auto lock = tf::mutex(g, "lock");
  auto v = tf::variable<std::int64_t, 64>(g, "v", tf::zeros);
  auto x = placeholder<std::int64_t>(g, "x");
  critical_section(lock, [&] { return assign_add(v, x).value(); }).named("sum");
  acquire(lock).named("take");
  release(lock).named("give");
}

}  // namespace

TEST_CASE("counter: counts once a run") {
  tf::Variables variables;
  tf::Session<counting> session(variables);
  CHECK(session.run<"first">() == 0);
  CHECK(session.run<"second">() == 1);
  CHECK(session.run<"both">() == 11 + 12);
  session.run<"reset">();
  CHECK(variables.resource<tf::Counter>("steps").value() == 100);
  CHECK(session.run<"first">() == 100);
}

TEST_CASE("mutex: no update is lost by 8 simultaneous runs") {
  tf::Variables variables;
  tf::Session<locked> session(variables);
  constexpr int threads = 8;
  constexpr int runs = 500;
  std::vector<std::jthread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      for (int i = 0; i < runs; ++i) session.run<"sum">(tf::feed<"x">(std::int64_t{1}));
    });
  }
  pool.clear();
  for (const std::int64_t v : variables.get<std::int64_t>("v")) CHECK(v == threads * runs);
}
