// SPDX-License-Identifier: Apache-2.0

// Queues as objects of threads: their orders, waiting, and closing, beside plain simulations.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/queues/queue.hpp"

namespace tf = typeflow;

namespace {

using Numbers = tf::Queue<tf::Fifo{.capacity = 2}, tf::Item<std::int64_t>>;

/// A plain generator, so that the tests' choices are not the library's.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

/// Whether f() is still at work after a while. Then it waits, or the machine is very slow.
template <class F>
class Background {
 public:
  explicit Background(F f)
      : thread_([this, f] {
          f();
          done_ = true;
        }) {}
  bool waits() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return !done_;
  }
  void join() { thread_.join(); }

 private:
  std::atomic<bool> done_{false};
  std::jthread thread_;
};

}  // namespace

TEST_CASE("a producer and a consumer share a queue of capacity 2, and no order is lost") {
  Numbers queue("q");
  constexpr std::int64_t count = 20'000;
  std::atomic<std::int64_t> most{0};
  std::jthread producer([&] {
    for (std::int64_t i = 0; i < count; ++i) {
      queue.push(i);
      most = std::max(most.load(), queue.size());
    }
    queue.close();
  });
  std::int64_t expected = 0;
  while (const auto x = queue.pop_or_end()) {
    if (*x != expected) break;
    ++expected;
  }
  CHECK(expected == count);
  CHECK(most <= 2);
}

TEST_CASE("a push waits while the queue is full, and a pop while it is empty") {
  Numbers queue("q");
  Background pop([&] { CHECK(queue.pop() == 7); });
  CHECK(pop.waits());
  queue.push(7);
  pop.join();
  queue.push(1);
  queue.push(2);
  CHECK_FALSE(queue.try_push(3));
  Background push([&] { queue.push(3); });
  CHECK(push.waits());
  CHECK(queue.size() == 2);
  CHECK(queue.pop() == 1);
  push.join();
  CHECK(queue.pop() == 2);
  CHECK(queue.pop() == 3);
  CHECK(queue.try_pop() == std::nullopt);
}

TEST_CASE("many threads lose no element and see none twice") {
  using Pairs = tf::Queue<tf::Shuffle{.capacity = 64, .min_after_dequeue = 16, .seed = 5},
                          tf::Item<std::int32_t>, tf::Item<float, 3>>;
  Pairs queue("q");
  constexpr std::int32_t producers = 6;
  constexpr std::int32_t each = 3000;
  std::vector<std::vector<std::int32_t>> seen(5);
  std::atomic<int> torn{0};
  {
    std::vector<std::jthread> consumers;
    for (auto& list : seen) {
      consumers.emplace_back([&queue, &list, &torn] {
        while (const auto element = queue.pop_or_end()) {
          const auto& [number, row] = *element;
          list.push_back(number);
          for (const float x : row) torn += x != static_cast<float>(number);
        }
      });
    }
    {
      std::vector<std::jthread> threads;
      for (std::int32_t p = 0; p < producers; ++p) {
        threads.emplace_back([&queue, p] {
          for (std::int32_t i = 0; i < each; ++i) {
            const std::int32_t number = p * each + i;
            queue.push(number, std::vector<float>(3, static_cast<float>(number)));
          }
        });
      }
    }
    queue.close();
  }
  std::vector<std::int32_t> all;
  for (const auto& list : seen) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == producers * each);
  for (std::int32_t i = 0; i < producers * each; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
  CHECK(torn == 0);
}

TEST_CASE("a shuffling queue keeps its minimum until it is closed, and gives another order") {
  using Mixed = tf::Queue<tf::Shuffle{.capacity = 100, .min_after_dequeue = 30, .seed = 1},
                          tf::Item<std::int64_t>>;
  const auto order = [] {
    Mixed queue("q");
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < 1000; ++i) {
      while (queue.size() == 100) {
        while (const auto x = queue.try_pop()) {
          out.push_back(*x);
          CHECK(queue.size() >= 30);
        }
        CHECK(queue.size() == 30);
      }
      CHECK(queue.try_push(i));
    }
    queue.close();
    while (const auto x = queue.pop_or_end()) out.push_back(*x);
    return out;
  };
  std::vector<std::int64_t> first = order();
  CHECK(first == order());  // the same seed
  CHECK_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(first[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a shuffling queue takes each element with the same probability") {
  tf::Queue<tf::Shuffle{.capacity = 8, .seed = 3}, tf::Item<std::int64_t>> queue("q");
  // The first of 8 elements. Chi-square with 7 degrees of freedom: 24.3 has a probability of 0.001.
  constexpr int rounds = 8000;
  int counts[8] = {};
  for (int r = 0; r < rounds; ++r) {
    for (std::int64_t i = 0; i < 8; ++i) queue.push(i);
    ++counts[queue.pop()];
    for (int i = 1; i < 8; ++i) queue.pop();
  }
  double chi_square = 0;
  for (const int n : counts) chi_square += (n - rounds / 8.) * (n - rounds / 8.) / (rounds / 8.);
  CHECK(chi_square < 24.3);
}

TEST_CASE("the least priority leaves first, and ties in the order in which they came") {
  tf::Queue<tf::Priority{.capacity = 10}, tf::Item<std::int32_t>> queue("q");
  const std::pair<std::int64_t, std::int32_t> given[] = {{3, 0}, {1, 1}, {3, 2}, {-7, 3},
                                                         {1, 4}, {3, 5}, {1, 6}};
  for (const auto& [priority, number] : given) queue.push(priority, number);
  std::vector<std::int32_t> out;
  while (const auto element = queue.try_pop()) out.push_back(std::get<1>(*element));
  CHECK(out == std::vector<std::int32_t>{3, 1, 4, 6, 0, 2, 5});
}

TEST_CASE("items shorter than their bound are padded with zeros") {
  tf::Queue<tf::Fifo{.capacity = 4}, tf::Item<float, tf::at_most(3), 2>,
            tf::Item<std::int32_t, tf::at_most(4)>>
      queue("q");
  tf::Array<float, 2> rows({2, 2});
  std::copy_n(std::begin({1.f, 2.f, 3.f, 4.f}), 4, rows.begin());
  queue.push(rows, std::vector<std::int32_t>{5});
  queue.push(tf::Array<float, 2>({0, 2}), std::vector<std::int32_t>{6, 7, 8, 9});
  queue.push(rows, std::vector<std::int32_t>{});
  const auto [x, word, row_count, length] = queue.pop();
  CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{1, 2, 3, 4, 0, 0});
  CHECK(std::vector<std::int32_t>(word.begin(), word.end()) ==
        std::vector<std::int32_t>{5, 0, 0, 0});
  CHECK(row_count[0] == 2);
  CHECK(length[0] == 1);
  const auto [many, words, row_counts, lengths] = queue.pop_up_to(2);
  CHECK(many == std::vector<float>{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0});
  CHECK(words == std::vector<std::int32_t>{6, 7, 8, 9, 0, 0, 0, 0});
  CHECK(row_counts[0][0] == 0);
  CHECK(row_counts[1][0] == 2);
  CHECK(lengths[0][0] == 4);
  CHECK(lengths[1][0] == 0);

  CHECK(message_of([&] { queue.push(rows, std::vector<std::int32_t>(5)); }) ==
        "queue 'q': expected at most 4 along axis 0 of item 1, got 5");
  CHECK(message_of([&] { queue.push(tf::Array<float, 2>({2, 3}), std::vector<std::int32_t>{}); }) ==
        "queue 'q': expected 2 along axis 1 of item 0, got 3");
}

TEST_CASE("a closed queue gives what is left, and then the end") {
  Numbers queue("train/q");
  queue.push(1);
  queue.close();
  CHECK(queue.is_closed());
  CHECK_THROWS_AS(queue.push(2), tf::Cancelled);
  CHECK(message_of([&] { (void)queue.try_push(2); }) ==
        "queue 'train/q': is closed, so nothing can be enqueued");
  CHECK(queue.pop() == 1);
  CHECK_THROWS_AS(queue.pop(), tf::OutOfRange);
  CHECK(message_of([&] { queue.pop(); }) ==
        "queue 'train/q': expected 1 element, got a closed queue with 0");
  CHECK(queue.pop_or_end() == std::nullopt);
  CHECK(queue.try_pop() == std::nullopt);
  CHECK(queue.pop_up_to(2).empty());
  queue.close();  // again
  CHECK_THROWS_AS(queue.push(2), tf::Cancelled);
}

TEST_CASE("the end of a queue wakes pops that wait for it") {
  Numbers queue("q");
  std::atomic<int> ends{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 10; ++i) {
      threads.emplace_back([&] {
        try {
          queue.pop();
        } catch (const tf::OutOfRange&) {
          ++ends;
        }
      });
    }
    queue.push(1);
    queue.push(2);
    queue.push(3);
    queue.close();
  }
  CHECK(ends == 7);
}

TEST_CASE("a push that waits when the queue is closed is still done, unless it is cancelled") {
  for (const bool cancel : {false, true}) {
    CAPTURE(cancel);
    Numbers queue("q");
    queue.push(1);
    queue.push(2);
    std::atomic<bool> cancelled{false};
    Background push([&] {
      try {
        queue.push(3);
      } catch (const tf::Cancelled&) {
        cancelled = true;
      }
    });
    CHECK(push.waits());
    queue.close({.cancel_pending_enqueues = cancel});
    if (!cancel) CHECK(push.waits());
    CHECK_THROWS_AS(queue.push(4), tf::Cancelled);
    std::vector<std::int64_t> rest;
    while (const auto x = queue.pop_or_end()) rest.push_back(*x);
    push.join();
    CHECK(cancelled == cancel);
    CHECK(rest == (cancel ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1, 2, 3}));
  }
}

TEST_CASE("the last batch of a closed queue has the rest") {
  tf::Queue<tf::Fifo{.capacity = 10}, tf::Item<std::int32_t>> queue("q");
  for (std::int32_t i = 0; i < 7; ++i) queue.push(i);
  CHECK(queue.pop_up_to(4).size() == 4);
  Background pop([&] { CHECK(queue.pop_up_to(4) == std::vector<std::int32_t>{4, 5, 6}); });
  CHECK(pop.waits());
  queue.close();
  pop.join();
  CHECK(queue.pop_up_to(4).empty());
  CHECK(message_of([&] { queue.pop_up_to(11); }) ==
        "pop_up_to: expected from 1 to 10 elements, got 11");
}

namespace {

/// What a queue holds, as a plain simulation: the next elements that may leave it.
struct Simulated {
  bool priority = false;
  bool shuffle = false;
  std::deque<std::pair<std::int64_t, std::int64_t>> elements;

  bool take(std::pair<std::int64_t, std::int64_t> given) {
    auto next = elements.begin();
    if (shuffle) next = std::find(elements.begin(), elements.end(), given);
    if (priority) {
      next = std::min_element(elements.begin(), elements.end(),
                              [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    if (next == elements.end() || *next != given) return false;
    elements.erase(next);
    return true;
  }
};

/// Random pushes and pops, each of one thread.
template <class Q>
std::string check(std::uint64_t seed, Simulated model, std::int64_t kept) {
  Random random(seed);
  Q queue("q");
  bool closed = false;
  for (int i = 0; i < 400; ++i) {
    const auto count = static_cast<std::int64_t>(model.elements.size());
    if (queue.size() != count) return "the size";
    const std::int64_t choice = random.below(100);
    if (choice == 0 && i > 300) {
      queue.close();
      closed = true;
    } else if (choice < 52) {
      const std::pair<std::int64_t, std::int64_t> x{random.below(5), i};
      if (closed) continue;
      const bool fits = queue.try_push(x.first, x.second);
      if (fits != (count < Q::capacity)) return "a push";
      if (fits) model.elements.push_back(x);
    } else {
      const auto x = queue.try_pop();
      if (x.has_value() != (count > (closed ? 0 : kept))) return "whether a pop must wait";
      if (x && !model.take({std::get<0>(*x), std::get<1>(*x)})) return "an element";
    }
  }
  return "";
}

}  // namespace

TEST_CASE("random pushes and pops are those of a plain simulation") {
  using Number = tf::Item<std::int64_t>;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    CHECK(check<tf::Queue<tf::Fifo{.capacity = 7}, Number, Number>>(seed, {}, 0) == "");
    CHECK(check<tf::Queue<tf::Shuffle{.capacity = 9, .min_after_dequeue = 3, .seed = 8}, Number,
                          Number>>(seed, {.shuffle = true, .elements = {}}, 3) == "");
    CHECK(check<tf::Queue<tf::Priority{.capacity = 8}, Number>>(
              seed, {.priority = true, .elements = {}}, 0) == "");
  }
}
