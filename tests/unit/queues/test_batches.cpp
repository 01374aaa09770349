// SPDX-License-Identifier: Apache-2.0

// Batches from a queue: tf::batch is the number of elements that a run gets.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/queues.hpp"
#include "typeflow/run_limits.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

using Points =
    tf::Queue<tf::Fifo{.capacity = 8}, tf::Item<float, 2>, tf::Item<std::int32_t, tf::at_most(3)>>;

constexpr void model(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 2>(g, "x");
  auto words = placeholder<std::int32_t, tf::batch, 3>(g, "words");
  auto lengths = placeholder<std::int64_t, tf::batch>(g, "lengths");
  mean(sum<1>(x)).named("mean");
  sum(words).named("total");
  (lengths + 0).named("seen");
  auto v = tf::variable<float>(g, "v", tf::zeros());
  assign_add(v, sum(x)).named("add");
}

void push(Points& queue, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    queue.push(std::vector<float>{static_cast<float>(i), 1},
               std::vector<std::int32_t>(static_cast<std::size_t>(1 + i % 3), i));
  }
}

}  // namespace

TEST_CASE("the last batch of a queue is smaller, and then comes the end") {
  Points queue;
  push(queue, 0, 7);
  queue.close();
  tf::Variables variables;
  tf::Session<model> session(variables);
  auto batches = tf::batches<"x", "words", "lengths">(queue, 4);
  const auto first = batches.run<"mean", "total", "seen">(session);
  REQUIRE(first.has_value());
  const auto& [mean, total, seen] = *first;
  CHECK(batches.size() == 4);
  CHECK(mean == (0 + 1 + 2 + 3) / 4.f + 1);
  CHECK(total == 0 * 1 + 1 * 2 + 2 * 3 + 3 * 1);
  CHECK(std::vector<std::int64_t>(seen.begin(), seen.end()) ==
        std::vector<std::int64_t>{1, 2, 3, 1});
  // Of the last one, the mean divides by 3: no row is padding.
  const auto last = batches.run<"mean", "seen">(session);
  REQUIRE(last.has_value());
  CHECK(batches.size() == 3);
  CHECK(std::get<0>(*last) == 6);
  CHECK(std::get<1>(*last).size() == 3);
  CHECK_FALSE(batches.run<"mean">(session).has_value());
  CHECK_FALSE(batches.run<"add">(session));
  CHECK(batches.size() == 0);
}

TEST_CASE("a run that fails keeps its elements for the next one, or they are discarded") {
  Points queue;
  push(queue, 0, 6);
  tf::Variables variables;
  tf::Session<model> session(variables);
  auto batches = tf::batches<"x", "words", "lengths">(queue, 2);
  std::stop_source stopped;
  stopped.request_stop();
  CHECK_THROWS_AS(batches.run<"mean">(session, tf::stop_when(stopped.get_token())), tf::Cancelled);
  CHECK(batches.is_kept());
  CHECK(queue.size() == 4);
  CHECK(batches.run<"mean">(session) == 1.5f);  // elements 0 and 1
  CHECK_FALSE(batches.is_kept());
  CHECK(batches.discard() == 0);
  CHECK_THROWS_AS(batches.run<"mean">(session, tf::stop_when(stopped.get_token())), tf::Cancelled);
  CHECK(batches.discard() == 2);
  CHECK(batches.run<"mean">(session) == 5.5f);  // elements 4 and 5
}

TEST_CASE("a stop ends the wait for elements, and takes none") {
  Points queue;
  push(queue, 0, 1);
  tf::Variables variables;
  tf::Session<model> session(variables);
  std::stop_source source;
  auto batches = tf::batches<"x", "words", "lengths">(queue, 2, source.get_token());
  std::string text;
  {
    std::jthread waiting([&] { text = message_of([&] { (void)batches.run<"mean">(session); }); });
    source.request_stop();
  }
  CHECK(text.find("a stop was requested while they waited for elements") != std::string::npos);
  CHECK(queue.size() == 1);
  CHECK_FALSE(batches.is_kept());
}

TEST_CASE("a batch waits for its last element, or for the end") {
  Points queue;
  tf::Variables variables;
  tf::Session<model> session(variables);
  auto batches = tf::batches<"x", "words", "lengths">(queue, 4);
  std::jthread producer([&] {
    push(queue, 0, 9);
    queue.close();
  });
  std::vector<std::int64_t> sizes;
  while (batches.run<"add">(session)) sizes.push_back(batches.size());
  CHECK(sizes == std::vector<std::int64_t>{4, 4, 1});
  CHECK(variables.get<float>("v")[0] == 36 + 9);
}

TEST_CASE("sessions of several threads share a queue, and no element is lost or there twice") {
  Points queue;
  constexpr int count = 500;
  std::atomic<std::int64_t> elements{0};
  std::atomic<std::int64_t> total{0};
  {
    std::vector<std::jthread> consumers;
    for (int c = 0; c < 3; ++c) {
      consumers.emplace_back([&, c] {
        tf::Variables variables;
        tf::Session<model> session(variables);
        auto batches = tf::batches<"x", "words", "lengths">(queue, 1 + c);
        while (const auto mean = batches.run<"mean">(session)) {
          elements += batches.size();
          total +=
              static_cast<std::int64_t>((*mean - 1) * static_cast<float>(batches.size()) + .5f);
        }
      });
    }
    push(queue, 0, count);
    queue.close();
  }
  CHECK(elements == count);
  CHECK(total == count * (count - 1) / 2);
}

TEST_CASE("a batch larger than the queue allows is an error") {
  Points queue;
  CHECK(message_of([&] { (void)tf::batches<"x", "words", "lengths">(queue, 9); }) ==
        "batches: expected from 1 to 8 elements, got 9");
}
