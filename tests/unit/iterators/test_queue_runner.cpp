// SPDX-License-Identifier: Apache-2.0

// Threads that put a dataset's elements into a queue.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/data.hpp"
#include "typeflow/iterators.hpp"

namespace tf = typeflow;

namespace {

using Points = tf::Queue<tf::Fifo{.capacity = 4}, tf::Item<float, 2>, tf::Item<std::string_view>>;
using Numbers = tf::Queue<tf::Fifo{.capacity = 3}, tf::Item<std::int64_t>>;

/// A value of which the test counts how many there are.
struct Counted {
  static inline std::atomic<int> alive = 0;
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --alive; }
};

}  // namespace

TEST_CASE("a runner puts all elements into the queue, in order, and closes it") {
  const auto rows = tf::from_range(0, 50).map([](std::int64_t i) {
    return std::tuple(std::array{static_cast<float>(i), 1.f}, "row " + std::to_string(i));
  });
  Points queue;
  tf::Coordinator coordinator;
  tf::QueueRunner runner = tf::queue_runner(queue, rows);
  runner.start(coordinator);
  int i = 0;
  while (const auto element = queue.pop_or_end()) {
    const auto& [point, text] = *element;
    CHECK(point[0] == static_cast<float>(i));
    CHECK(point[1] == 1);
    CHECK(text == "row " + std::to_string(i));
    ++i;
  }
  CHECK(i == 50);
  CHECK(queue.is_closed());
  CHECK_FALSE(coordinator.should_stop());  // the end of the data stops nobody else
  coordinator.request_stop();
  coordinator.join();
}

TEST_CASE("several threads share the dataset: each element comes once") {
  const auto numbers = tf::from_range(0, 2000).prefetch(4);
  Numbers queue;
  tf::Coordinator coordinator;
  tf::QueueRunner runner = tf::queue_runner(queue, numbers, 4);
  runner.start(coordinator);
  CHECK(message_of([&] { runner.start(coordinator); }).find("second call") != std::string::npos);
  std::multiset<std::int64_t> seen;
  while (const auto number = queue.pop_or_end()) seen.insert(*number);
  coordinator.join();
  REQUIRE(seen.size() == 2000);
  std::int64_t i = 0;
  for (const std::int64_t number : seen) CHECK(number == i++);
}

TEST_CASE("what the dataset throws stops the threads, and join throws it") {
  const auto numbers = tf::from_range(0, 100).map([](std::int64_t i) {
    if (i == 7) throw tf::Error("row 7", "it is damaged");
    return i;
  });
  Numbers queue;
  tf::Coordinator coordinator;
  tf::QueueRunner runner = tf::queue_runner(queue, numbers, 3);
  runner.start(coordinator);
  std::set<std::int64_t> seen;
  while (const auto number = queue.pop_or_end()) seen.insert(*number);
  CHECK(coordinator.should_stop());
  CHECK(message_of([&] { coordinator.join(); }) == "row 7: it is damaged");
  CHECK(seen.count(7) == 0);
  CHECK(queue.is_closed());
}

TEST_CASE("a stop in the middle wakes the threads, and nothing is left") {
  {
    const auto source =
        tf::from_range(0, 1000000).map([held = Counted()](std::int64_t i) { return i; });
    Numbers queue;
    {
      tf::Coordinator coordinator;
      tf::QueueRunner runner = tf::queue_runner(queue, source.prefetch(2), 2);
      runner.start(coordinator);
      CHECK(queue.pop() >= 0);
      while (queue.size() < 3) std::this_thread::yield();  // its threads wait for room
      coordinator.request_stop();
      coordinator.join();
      CHECK(queue.is_closed());
    }
    {  // without join(): the coordinator's destructor stops them
      Numbers another;
      tf::Coordinator coordinator;
      tf::queue_runner(another, source.prefetch(2), 2).start(coordinator);
      CHECK(another.pop() >= 0);
    }
    CHECK(Counted::alive > 0);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("the first part of a priority queue's elements is the priority") {
  using Urgent = tf::Queue<tf::Priority{.capacity = 10}, tf::Item<std::int32_t>>;
  const auto rows = tf::from_elements(
      std::vector<std::tuple<std::int64_t, std::int32_t>>{{3, 30}, {1, 10}, {2, 20}});
  Urgent queue;
  tf::Coordinator coordinator;
  tf::QueueRunner runner = tf::queue_runner(queue, rows);
  runner.start(coordinator);
  coordinator.join();  // all three have room
  for (const int expected : {10, 20, 30}) CHECK(std::get<1>(queue.pop()) == expected);
}

TEST_CASE("a number of threads below one is an error") {
  Numbers queue;
  CHECK(message_of([&] { tf::queue_runner(queue, tf::from_range(0, 3), 0); }) ==
        "QueueRunner: expected at least 1 thread, got 0");
}
