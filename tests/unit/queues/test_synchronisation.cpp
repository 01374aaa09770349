// SPDX-License-Identifier: Apache-2.0

// Barriers, accumulators, token queues, and coordinated threads.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/queues.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

using Joined = tf::Barrier<4, tf::Item<float, 2>, tf::Item<std::int32_t>>;
using Means = tf::Accumulator<tf::Combine::mean, tf::Item<float, 2>>;
using Sums = tf::Accumulator<tf::Combine::sum, tf::Item<double>>;

constexpr void barrier_model(tf::Graph& g) {
  auto b = tf::barrier<Joined>(g, "b");
  auto keys = placeholder<std::int64_t, tf::batch>(g, "keys");
  insert_many<0>(b, keys, placeholder<float, tf::batch, 2>(g, "images")).named("put_images");
  insert_many<1>(b, keys, placeholder<std::int32_t, tf::batch>(g, "labels")).named("put_labels");
  const auto [indices, taken, images, labels] = take_many<2>(b);
  indices.named("indices");
  taken.named("taken");
  images.named("taken_images");
  labels.named("taken_labels");
  const auto [rest_indices, rest_keys, rest_images, rest_labels, count] = take_up_to<3>(b);
  rest_keys.named("rest_keys");
  rest_labels.named("rest_labels");
  count.named("count");
  ready_size(b).named("ready");
  incomplete_size(b).named("incomplete");
  close(b).named("close");
  close(b, {.cancel_pending_enqueues = true}).named("cancel");
}

template <class Session>
void put_labels(Session& session, const std::vector<std::int64_t>& keys) {
  std::vector<std::int32_t> labels;
  for (const std::int64_t k : keys) labels.push_back(static_cast<std::int32_t>(10 * k));
  session.template run<"put_labels">(tf::feed<"keys">(keys), tf::feed<"labels">(labels));
}
template <class Session>
void put_images(Session& session, const std::vector<std::int64_t>& keys) {
  std::vector<float> images;
  for (const std::int64_t k : keys) images.insert(images.end(), 2, static_cast<float>(k));
  session.template run<"put_images">(tf::feed<"keys">(keys), tf::feed<"images">(images));
}

}  // namespace

TEST_CASE("a barrier joins the items of a key, in the order in which the keys came") {
  tf::Variables variables;
  tf::Session<barrier_model> session(variables);
  put_labels(session, {5, 3});
  CHECK(session.run<"ready">() == 0);
  CHECK(session.run<"incomplete">() == 2);
  put_images(session, {3});
  CHECK(session.run<"ready">() == 1);
  put_images(session, {7, 5});
  CHECK(session.run<"ready">() == 2);
  CHECK(session.run<"incomplete">() == 1);
  const auto [indices, taken, images, labels] =
      session.run<"indices", "taken", "taken_images", "taken_labels">();
  CHECK(indices(0) == 0);
  CHECK(indices(1) == 1);
  CHECK(taken(0) == 5);  // its key came first, though 3 was complete first
  CHECK(taken(1) == 3);
  CHECK(labels(0) == 50);
  CHECK(labels(1) == 30);
  CHECK(images(0, 1) == 5);
  CHECK(images(1, 0) == 3);
  put_labels(session, {3});  // a key that has left is a new one
  CHECK(session.run<"incomplete">() == 2);
}

TEST_CASE("an item that is inserted twice, and too many keys, are errors") {
  tf::Variables variables;
  tf::Session<barrier_model> session(variables);
  put_labels(session, {1});
  CHECK(message_of([&] {
          put_labels(session, {2, 1});
        }).find("barrier 'b': expected item 1 of key 1 once, got it twice") != std::string::npos);
  CHECK(message_of([&] {
          put_labels(session, {2, 4, 2});
        }).find("barrier 'b': expected item 1 of key 2 once, got it twice") != std::string::npos);
  CHECK(session.run<"incomplete">() == 1);  // nothing has changed
  CHECK(message_of([&] {
          put_labels(session, {2, 3, 4, 5, 6});
        }).find("barrier 'b': expected at most 4 new keys at once, got 5") != std::string::npos);
}

TEST_CASE("an insert of new keys waits for room, and a take for complete elements") {
  tf::Variables variables;
  tf::Session<barrier_model> session(variables);
  put_labels(session, {1, 2, 3, 4});
  std::atomic<bool> inserted{false};
  std::atomic<std::int64_t> sum{0};
  std::jthread insert([&] {
    put_labels(session, {5});
    inserted = true;
  });
  std::jthread take([&] {
    const auto keys = session.run<"taken">();
    sum = keys(0) + keys(1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK_FALSE(inserted);
  CHECK(sum == 0);
  put_images(session, {4, 2});
  take.join();
  insert.join();
  CHECK(sum == 6);
  CHECK(inserted);
}

TEST_CASE("a closed barrier completes the keys that it has, unless it is cancelled") {
  tf::Variables variables;
  tf::Session<barrier_model> session(variables);
  put_labels(session, {1, 2, 3});
  put_images(session, {2});
  session.run<"close">();
  CHECK_THROWS_AS(put_labels(session, {4}), tf::Cancelled);
  put_images(session, {1});
  CHECK(session.run<"taken">()(0) == 1);
  CHECK_THROWS_AS(session.run<"taken">(), tf::OutOfRange);  // one is left at most
  put_images(session, {3});
  const auto [count, keys, labels] = session.run<"count", "rest_keys", "rest_labels">();
  CHECK(count == 1);
  CHECK(keys(0) == 3);
  CHECK(keys(1) == 0);
  CHECK(labels(0) == 30);
  CHECK(labels(2) == 0);
  CHECK_THROWS_AS(session.run<"count">(), tf::OutOfRange);

  tf::Variables others;
  tf::Session<barrier_model> another(others);
  put_labels(another, {1, 2});
  put_images(another, {2});
  another.run<"cancel">();
  CHECK_THROWS_AS(put_images(another, {1}), tf::Cancelled);
  CHECK(another.run<"count">() == 1);
}

namespace {

constexpr void accumulator_model(tf::Graph& g) {
  auto means = tf::accumulator<Means>(g, "means");
  auto x = placeholder<float, 2>(g, "x");
  auto step = placeholder<std::int64_t>(g, "step");
  apply_gradient(means, x, step).named("apply");
  take_gradient(means, 3).named("mean");
  num_accumulated(means).named("count");
  num_dropped(means).named("dropped");
  set_global_step(means, step).named("set_step");
  auto sums = tf::accumulator<Sums>(g, "sums");
  auto y = placeholder<double>(g, "y");
  apply_gradient(sums, y, 0).named("add");
  take_gradient(sums, step).named("sum");
}

}  // namespace

TEST_CASE("an accumulator gives the mean of the gradients that are not stale") {
  tf::Variables variables;
  tf::Session<accumulator_model> session(variables);
  const auto apply = [&](float value, std::int64_t step) {
    const float x[] = {value, -value};
    session.run<"apply">(tf::feed<"x">(x), tf::feed<"step">(step));
  };
  apply(1, 0);
  apply(2, 0);
  CHECK(session.run<"count">() == 2);
  std::atomic<bool> taken{false};
  std::jthread take([&] {
    const auto mean = session.run<"mean">();
    CHECK(mean(0) == 4);
    CHECK(mean(1) == -4);
    taken = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(taken);
  apply(9, 5);  // of a later step: no gradient can be too new
  take.join();
  CHECK(session.run<"count">() == 0);
  // The global step is 1 now.
  apply(100, 0);
  CHECK(session.run<"count">() == 0);
  CHECK(session.run<"dropped">() == 1);
  for (int i = 0; i < 4; ++i) apply(static_cast<float>(i), 1);
  CHECK(session.run<"count">() == 4);
  CHECK(session.run<"mean">()(0) == 1.5f);  // of all four, though three are required
  session.run<"set_step">(tf::feed<"step">(std::int64_t{7}));
  session.run<"set_step">(tf::feed<"step">(std::int64_t{3}));  // changes nothing
  apply(1, 6);
  CHECK(session.run<"dropped">() == 2);
  CHECK(variables.resource<Means>("means").global_step() == 7);
}

TEST_CASE("an accumulator of sums, and a required number that is none") {
  tf::Variables variables;
  tf::Session<accumulator_model> session(variables);
  for (const double y : {0.5, 1.5, 4.}) session.run<"add">(tf::feed<"y">(y));
  CHECK(session.run<"sum">(tf::feed<"step">(std::int64_t{2})) == 6);
  CHECK(message_of([&] {
          session.run<"sum">(tf::feed<"step">(std::int64_t{0}));
        }).find("accumulator 'sums': expected at least 1 required gradient, got 0") !=
        std::string::npos);
}

namespace {

/// A chief and its workers: gradients of step i are means over the workers, whose tokens allow one
/// step each.
constexpr void synchronous(tf::Graph& g) {
  auto tokens = tf::token_queue<8>(g, "tokens");
  auto step = placeholder<std::int64_t>(g, "step");
  put_tokens<4>(tokens, step).named("release");
  take_token(tokens).named("token");
  auto gradients = tf::accumulator<Sums>(g, "gradients");
  auto y = placeholder<double>(g, "y");
  apply_gradient(gradients, y, step).named("apply");
  take_gradient(gradients, 4).named("gradient");
}

}  // namespace

TEST_CASE("tokens keep workers in step") {
  tf::Variables variables;
  tf::Session<synchronous> session(variables);
  constexpr int steps = 50;
  std::vector<std::jthread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      for (int i = 0; i < steps; ++i) {
        const std::int64_t step = session.run<"token">();
        session.run<"apply">(tf::feed<"y">(static_cast<double>(step)), tf::feed<"step">(step));
      }
    });
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    session.run<"release">(tf::feed<"step">(i));
    CHECK(session.run<"gradient">() == 4 * static_cast<double>(i));
  }
  workers.clear();
  CHECK(variables.resource<Sums>("gradients").num_dropped() == 0);
}

TEST_CASE("a coordinator stops its threads, and joins them") {
  tf::Coordinator coordinator;
  std::atomic<int> turns{0};
  std::atomic<int> ended{0};
  for (int i = 0; i < 4; ++i) {
    coordinator.start([&] {
      while (!coordinator.should_stop()) ++turns;
      ++ended;
    });
  }
  CHECK_FALSE(coordinator.wait_for_stop(std::chrono::milliseconds(5)));
  while (turns < 100) std::this_thread::yield();
  coordinator.request_stop();
  CHECK(coordinator.wait_for_stop(std::chrono::hours(1)));
  coordinator.join();
  CHECK(ended == 4);
  coordinator.join();  // nothing is left
}

TEST_CASE("a thread that fails stops all, and join throws its exception") {
  tf::Coordinator coordinator;
  std::atomic<int> called{0};
  coordinator.on_stop([&] { ++called; });
  coordinator.start([&] {
    while (!coordinator.should_stop()) std::this_thread::yield();
    throw std::logic_error("too late");
  });
  coordinator.start([] { throw std::runtime_error("a bad day"); });
  std::string text;
  try {
    coordinator.join();
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CHECK(text == "a bad day");
  CHECK(called == 1);
  coordinator.on_stop([&] { ++called; });
  CHECK(called == 2);
  coordinator.join();  // thrown once
}

TEST_CASE("the end of data is no failure of a thread") {
  tf::Coordinator coordinator;
  coordinator.start([] { throw tf::OutOfRange("the data", "has come to its end"); });
  coordinator.join();
  CHECK(coordinator.should_stop());
}

namespace {

using Numbers = tf::Queue<tf::Shuffle{.capacity = 16, .min_after_dequeue = 4, .seed = 2},
                          tf::Item<std::int64_t>>;

constexpr void feeding(tf::Graph& g) {
  auto q = tf::queue<Numbers>(g, "q");
  auto source =
      tf::queue<tf::Queue<tf::Fifo{.capacity = 1000}, tf::Item<std::int64_t>>>(g, "source");
  enqueue(q, dequeue(source) * std::int64_t{2}).named("enqueue");
  dequeue(q).named("next");
}

}  // namespace

TEST_CASE("runners fill a queue to the end of their data, and close it") {
  tf::Variables variables;
  tf::Session<feeding> session(variables);
  auto& source =
      variables.resource<tf::Queue<tf::Fifo{.capacity = 1000}, tf::Item<std::int64_t>>>("source");
  for (std::int64_t i = 0; i < 1000; ++i) source.push(i);
  source.close();
  auto& queue = variables.resource<Numbers>("q");
  tf::Coordinator coordinator;
  tf::QueueRunner runner(queue, 4, [&] { session.run<"enqueue">(); });
  runner.start(coordinator);
  std::vector<std::int64_t> all;
  while (const auto x = tf::try_run<"next">(session)) all.push_back(*x);
  CHECK_FALSE(coordinator.should_stop());
  coordinator.join();
  CHECK_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 1000);
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(all[static_cast<std::size_t>(i)] == 2 * i);
}

TEST_CASE("a stop wakes runners that wait for room, and dequeues that wait for elements") {
  Numbers queue("q");
  tf::Queue<tf::Fifo{.capacity = 2}, tf::Item<std::int64_t>> empty("empty");
  tf::Coordinator coordinator;
  tf::QueueRunner runner(queue, 3, [&] { queue.push(1); });
  runner.start(coordinator);
  CHECK(message_of([&] { runner.start(coordinator); }) ==
        "QueueRunner::start: expected no threads at work, got a second call");
  CHECK(message_of([&] { tf::QueueRunner none(queue, 0, [] {}); }) ==
        "QueueRunner: expected at least 1 thread, got 0");
  tf::QueueRunner starving(empty, 1,
                           [&] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  starving.start(coordinator);
  coordinator.start([&] { empty.pop(); });
  while (queue.size() < 16) std::this_thread::yield();
  coordinator.request_stop();
  coordinator.join();
  CHECK(queue.is_closed());
  CHECK(empty.is_closed());
}

TEST_CASE("a failure in a runner is thrown by join") {
  Numbers queue("q");
  tf::Coordinator coordinator;
  std::atomic<int> calls{0};
  tf::QueueRunner runner(queue, 2, [&] {
    if (++calls == 10) throw std::runtime_error("no such file");
    queue.push(1);
  });
  runner.start(coordinator);
  CHECK_THROWS_AS(coordinator.join(), std::runtime_error);
  CHECK(queue.is_closed());
}

namespace {

/// One thread's random inserts and takes beside a plain simulation.
std::string check_barrier(std::uint64_t seed) {
  std::uint64_t state = seed * 2654435761u + 1;
  const auto below = [&](std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  using Two = tf::Barrier<6, tf::Item<std::int64_t>, tf::Item<std::int64_t>>;
  Two barrier("b");
  struct Element {
    std::int64_t key;
    std::map<std::size_t, std::int64_t> items;
  };
  std::map<std::int64_t, Element> elements;  // by index: the first complete one leaves first
  std::int64_t next = 0;
  const auto incomplete = [&](std::int64_t key) {
    return std::find_if(elements.begin(), elements.end(), [&](const auto& e) {
      return e.second.key == key && e.second.items.size() < 2;
    });
  };
  for (int i = 0; i < 300; ++i) {
    if (below(3) != 0) {
      const auto key = static_cast<std::int64_t>(below(9));
      const std::size_t which = below(2);
      const std::int64_t value = i;
      auto at = incomplete(key);
      const bool fresh = at == elements.end();
      if (!fresh && at->second.items.count(which) != 0) {
        if (message_of([&] { barrier.try_insert(which, &key, &value, 1); }).empty()) return "twice";
        continue;
      }
      const bool expected = !fresh || elements.size() < 6;
      if (barrier.try_insert(which, &key, &value, 1) != expected) return "an insert";
      if (!expected) continue;
      if (fresh) at = elements.emplace(next++, Element{key, {}}).first;
      at->second.items[which] = value;
    } else {
      std::int64_t index = -1;
      std::int64_t key = -1;
      std::int64_t a = -1;
      std::int64_t b = -1;
      void* const values[] = {&a, &b};
      tf::Characters characters;
      const std::int64_t count = barrier.try_take(&index, &key, values, 1, 1, characters);
      const auto first = std::find_if(elements.begin(), elements.end(),
                                      [](const auto& e) { return e.second.items.size() == 2; });
      if (first == elements.end()) {
        if (count != Two::must_wait) return "a take that must wait";
        continue;
      }
      if (count != 1 || key != first->second.key || index != first->first ||
          a != first->second.items[0] || b != first->second.items[1]) {
        return "a take";
      }
      elements.erase(first);
    }
  }
  return "";
}

}  // namespace

TEST_CASE("random inserts and takes are those of a plain simulation") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    CHECK(check_barrier(seed) == "");
  }
}
