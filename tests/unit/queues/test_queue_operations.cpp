// SPDX-License-Identifier: Apache-2.0

// Operations on queues in models: results, order, waiting between runs, closing.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/lower/dependencies.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/queues.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

using Examples = tf::Queue<tf::Fifo{.capacity = 6}, tf::Item<float, 2>, tf::Item<std::int32_t>>;
using Numbers = tf::Queue<tf::Fifo{.capacity = 2}, tf::Item<std::int64_t>>;
using Jobs = tf::Queue<tf::Priority{.capacity = 8}, tf::Item<float>>;
using Words = tf::Queue<tf::Fifo{.capacity = 4}, tf::Item<std::int32_t, tf::at_most(3)>>;
using Grids = tf::Queue<tf::Fifo{.capacity = 4}, tf::Item<float, tf::at_most(2), tf::at_most(2)>>;

constexpr void examples_model(tf::Graph& g) {
  auto q = tf::queue<Examples>(g, "q");
  auto x = placeholder<float, 2>(g, "x");
  auto y = placeholder<std::int32_t>(g, "y");
  enqueue(q, x, y).named("put");
  auto xs = placeholder<float, tf::batch, 2>(g, "xs");
  auto ys = placeholder<std::int32_t, tf::batch>(g, "ys");
  enqueue_many(q, xs, ys).named("put_many");
  const auto [image, label] = dequeue(q);
  (image.named("image") * 2.f).named("twice");
  label.named("label");
  const auto [images, labels] = dequeue_many<3>(q);
  sum<0>(images).named("sums");
  labels.named("labels");
  std::get<1>(dequeue_many<2>(q)).named("two_labels");
  const auto [some, few, count] = dequeue_up_to<4>(q);
  some.named("some");
  few.named("few");
  count.named("count");
  const auto [last, last_label, more] = dequeue_or_end(q);
  last.named("last");
  last_label.named("last_label");
  more.named("more");
  size(q).named("size");
  is_closed(q).named("closed");
  close(q).named("close");
  close(q, {.cancel_pending_enqueues = true}).named("cancel");
}

constexpr void numbers_model(tf::Graph& g) {
  auto q = tf::queue<Numbers>(g, "q");
  enqueue(q, placeholder<std::int64_t>(g, "x")).named("put");
  dequeue(q).named("next");
  close(q).named("close");
  close(q, {.cancel_pending_enqueues = true}).named("cancel");
  // In an order: into the queue, and out of it.
  auto r = tf::queue<Numbers>(g, "r");
  const tf::Effect into = enqueue(r, 41);
  (after(into, tf::constant<std::int64_t>(g, 1)) + 0).named("one");
  const tf::Effect second = run_after(into, enqueue(r, 1));
  auto total = fori_loop(
      0, 2, [&](auto, auto state) { return state + dequeue(r); },
      after(second, tf::constant<std::int64_t>(g, 0)));
  total.named("total");
  size(r, second).named("after_two");
  is_closed(r, close(r)).named("after_close");
}

}  // namespace

TEST_CASE("elements come out of a queue as they went in") {
  tf::Variables variables;
  tf::Session<examples_model> session(variables);
  const float x[] = {1, 2};
  session.run<"put">(tf::feed<"x">(x), tf::feed<"y">(7));
  const float xs[] = {3, 4, 5, 6, 7, 8};
  const std::int32_t ys[] = {8, 9, 10};
  session.run<"put_many">(tf::feed<"xs">(xs), tf::feed<"ys">(ys));
  CHECK(session.run<"size">() == 4);
  const auto [twice, label] = session.run<"twice", "label">();
  CHECK(twice(0) == 2);
  CHECK(twice(1) == 4);
  CHECK(label == 7);
  const auto [sums, labels] = session.run<"sums", "labels">();
  CHECK(sums(0) == 3 + 5 + 7);
  CHECK(sums(1) == 4 + 6 + 8);
  CHECK(std::vector<std::int32_t>(labels.begin(), labels.end()) ==
        std::vector<std::int32_t>{8, 9, 10});
  CHECK(session.run<"size">() == 0);

  // The same object, in C++.
  auto& queue = variables.resource<Examples>("q");
  queue.push(std::vector<float>{1, 1}, 1);
  CHECK(session.run<"label">() == 1);
  session.run<"put">(tf::feed<"x">(x), tf::feed<"y">(5));
  CHECK(std::get<1>(queue.pop()) == 5);
  queue.push(std::vector<float>{1, 1}, 8);
  queue.push(std::vector<float>{1, 1}, 9);
  const auto two = session.run<"two_labels">();
  CHECK(two(0) == 8);
  CHECK(two(1) == 9);
}

TEST_CASE("a dequeue of up to n gives the rest of a closed queue, and then the end") {
  tf::Variables variables;
  tf::Session<examples_model> session(variables);
  const float xs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::int32_t ys[] = {1, 2, 3, 4, 5};
  session.run<"put_many">(tf::feed<"xs">(xs), tf::feed<"ys">(ys));
  CHECK(session.run<"closed">() == false);
  session.run<"close">();
  CHECK(session.run<"closed">() == true);
  CHECK(session.run<"count">() == 4);
  const auto [some, few, count] = session.run<"some", "few", "count">();
  CHECK(count == 1);
  CHECK(std::vector<float>(some.begin(), some.end()) ==
        std::vector<float>{9, 10, 0, 0, 0, 0, 0, 0});
  CHECK(std::vector<std::int32_t>(few.begin(), few.end()) == std::vector<std::int32_t>{5, 0, 0, 0});
  CHECK_THROWS_AS(session.run<"count">(), tf::OutOfRange);
  CHECK_THROWS_AS(session.run<"label">(), tf::OutOfRange);
  CHECK_THROWS_AS(session.run<"labels">(), tf::OutOfRange);
  const std::string text = message_of([&] { session.run<"label">(); });
  CHECK(text.find("label") != std::string::npos);
  CHECK(text.find("queue 'q': expected 1 element, got a closed queue with 0") != std::string::npos);
}

TEST_CASE("the end of a queue is a value of a run, too") {
  tf::Variables variables;
  tf::Session<examples_model> session(variables);
  const float x[] = {1, 2};
  session.run<"put">(tf::feed<"x">(x), tf::feed<"y">(7));
  session.run<"close">();
  const auto [more, label] = session.run<"more", "last_label">();
  CHECK(more == true);
  CHECK(label == 7);
  const auto [none, last, zero] = session.run<"more", "last", "last_label">();
  CHECK(none == false);
  CHECK(last(0) == 0);
  CHECK(last(1) == 0);
  CHECK(zero == 0);
  const auto end = tf::try_run<"label">(session);
  CHECK_FALSE(end.has_value());
  CHECK(tf::try_run<"size">(session) == std::int64_t{0});
  CHECK_FALSE(tf::try_run<"label", "twice">(session).has_value());
  CHECK(tf::try_run<"close">(session));
}

TEST_CASE("a run that feeds what it would dequeue leaves the queue alone") {
  tf::Variables variables;
  tf::Session<examples_model> session(variables);
  session.run<"close">();  // a dequeue would fail
  const float x[] = {3, 4};
  CHECK(session.run<"twice">(tf::feed<"image">(x))(1) == 8);
}

TEST_CASE("too many rows and a closed queue are errors of the run") {
  tf::Variables variables;
  tf::Session<examples_model> session(variables);
  CHECK(message_of([&] {
          session.run<"put_many">(tf::feed<"xs">(std::vector<float>(14)),
                                  tf::feed<"ys">(std::vector<std::int32_t>(7)));
        }).find("queue 'q': expected at most 6 elements at once, got 7") != std::string::npos);
  session.run<"close">();
  const float x[] = {1, 2};
  CHECK_THROWS_AS(session.run<"put">(tf::feed<"x">(x), tf::feed<"y">(7)), tf::Cancelled);
}

TEST_CASE("a run that enqueues waits for one that dequeues") {
  tf::Variables variables;
  tf::Session<numbers_model> session(variables);
  constexpr std::int64_t count = 2000;
  std::jthread producer([&] {
    for (std::int64_t i = 0; i < count; ++i) session.run<"put">(tf::feed<"x">(i));
    session.run<"close">();
  });
  std::int64_t expected = 0;
  while (const auto x = tf::try_run<"next">(session)) {
    if (*x != expected) break;
    ++expected;
  }
  CHECK(expected == count);
}

TEST_CASE("closing lets the enqueues of runs that wait be done, or cancels them") {
  for (const bool cancel : {false, true}) {
    CAPTURE(cancel);
    tf::Variables variables;
    tf::Session<numbers_model> session(variables);
    session.run<"put">(tf::feed<"x">(std::int64_t{1}));
    session.run<"put">(tf::feed<"x">(std::int64_t{2}));
    std::atomic<int> cancelled{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        try {
          session.run<"put">(tf::feed<"x">(std::int64_t{3}));
        } catch (const tf::Cancelled&) {
          ++cancelled;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // they have begun to wait
    if (cancel) {
      session.run<"cancel">();
    } else {
      session.run<"close">();
    }
    CHECK_THROWS_AS(session.run<"put">(tf::feed<"x">(std::int64_t{4})), tf::Cancelled);
    std::vector<std::int64_t> rest;
    while (const auto x = tf::try_run<"next">(session)) rest.push_back(*x);
    threads.clear();
    CHECK(cancelled == (cancel ? 3 : 0));
    CHECK(rest ==
          (cancel ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1, 2, 3, 3, 3}));
  }
}

TEST_CASE("run_after and after order operations on a queue, and loops dequeue") {
  tf::Variables variables;
  tf::Session<numbers_model> session(variables);
  CHECK(session.run<"total">() == 42);
  CHECK(session.run<"one">() == 1);
  CHECK(variables.resource<Numbers>("r").pop() == 41);
  CHECK(session.run<"after_two">() == 2);
  CHECK(session.run<"after_close">());
}

TEST_CASE("100 simultaneous runs wait for elements, with two threads") {
  tf::Variables variables;
  tf::Session<numbers_model> session(variables, {.threads = 2});
  std::atomic<std::int64_t> total{0};
  {
    std::vector<std::jthread> runs;
    for (int i = 0; i < 100; ++i) runs.emplace_back([&] { total += session.run<"next">(); });
    for (std::int64_t i = 0; i < 100; ++i) session.run<"put">(tf::feed<"x">(i));
  }
  CHECK(total == 99 * 100 / 2);
}

namespace {

constexpr void shapes_model(tf::Graph& g) {
  auto words = tf::queue<Words>(g, "words");
  enqueue(words, placeholder<std::int32_t, 2>(g, "two")).named("put_two");
  enqueue(words, placeholder<std::int32_t, tf::batch>(g, "word")).named("put");
  const auto [many, lengths] = dequeue_many<2>(words);
  many.named("many");
  lengths.named("lengths");
  auto grids = tf::queue<Grids>(g, "grids");
  enqueue(grids, placeholder<float, 1, 2>(g, "row")).named("put_row");
  const auto [grid, extents] = dequeue(grids);
  grid.named("grid");
  extents.named("extents");
  auto jobs = tf::queue<Jobs>(g, "jobs");
  auto x = placeholder<float>(g, "x");
  (enqueue(jobs, 3, x) + enqueue(jobs, 1, 2 * x) + enqueue(jobs, 2, 3 * x)).named("put_jobs");
  const auto [priority, job] = dequeue(jobs);
  priority.named("priority");
  job.named("job");
}

}  // namespace

TEST_CASE("rows of different lengths are padded with zeros, and their lengths are results") {
  tf::Variables variables;
  tf::Session<shapes_model> session(variables);
  const std::int32_t two[] = {1, 2};
  const std::int32_t three[] = {3, 4, 5};
  session.run<"put_two">(tf::feed<"two">(two));
  session.run<"put">(tf::feed<"word">(three));
  const auto [many, lengths] = session.run<"many", "lengths">();
  CHECK(std::vector<std::int32_t>(many.begin(), many.end()) ==
        std::vector<std::int32_t>{1, 2, 0, 3, 4, 5});
  CHECK(lengths(0) == 2);
  CHECK(lengths(1) == 3);
  const float row[] = {1, 2};
  session.run<"put_row">(tf::feed<"row">(row));
  const auto [grid, extents] = session.run<"grid", "extents">();
  CHECK(std::vector<float>(grid.begin(), grid.end()) == std::vector<float>{1, 2, 0, 0});
  CHECK(extents(0) == 1);
  CHECK(extents(1) == 2);
  CHECK(message_of([&] {
          session.run<"put">(tf::feed<"word">(std::vector<std::int32_t>(4)));
        }).find("queue 'words': expected at most 3 along axis 0 of item 0, got 4") !=
        std::string::npos);
}

TEST_CASE("a run's jobs leave a queue by their priority") {
  tf::Variables variables;
  tf::Session<shapes_model> session(variables);
  session.run<"put_jobs">(tf::feed<"x">(10.f));
  for (const float expected : {20.f, 30.f, 10.f}) {
    const auto [priority, job] = session.run<"priority", "job">();
    CHECK(job == expected);
  }
}

namespace {

using More = tf::Queue<tf::Fifo{.capacity = 3}, tf::Item<std::int64_t>>;
constexpr void other_capacity(tf::Graph& g) { dequeue(tf::queue<More>(g, "q")).named("n"); }

/// An enqueue, and a dequeue before it in the model.
constexpr void backwards(tf::Graph& g) {
  auto q = tf::queue<Numbers>(g, "q");
  auto x = placeholder<std::int64_t>(g, "x");
  (dequeue(q) + 0).named("y");
  enqueue(q, x).named("put");
  cond(greater(x, 0), [&] { return dequeue(q); }, [&] { return x; }).named("z");
}

}  // namespace

TEST_CASE("sessions on one store must agree on what a queue holds") {
  tf::Variables variables;
  tf::Session<numbers_model> session(variables);
  CHECK(message_of([&] { tf::Session<other_capacity> other(variables); }) ==
        "resource 'q': expected Fifo 3: int64 [], got Fifo 2: int64 []");
}

TEST_CASE("operations on one queue are not ordered against each other, in regions neither") {
  tf::Graph g;
  backwards(g);
  const tf::ir::Graph& graph = g;
  tf::ir::EffectOrder order(graph);
  int effects = 0;
  for (tf::Id id = 0; id < graph.nodes.size(); ++id) {
    const tf::ir::Node& node = graph.nodes[id];
    if (node.region != 0 || !order.concerns(node)) continue;
    ++effects;
    order.place(id, [&](tf::Id) { FAIL_CHECK("an operation comes after another one"); });
  }
  CHECK(effects == 3);
}

TEST_CASE("the interpreter says that it has no queues") {
  tf::Graph g;
  other_capacity(g);
  CHECK(message_of([&] { interpret(g, {}); }).find("the interpreter has no resources") !=
        std::string::npos);
}
