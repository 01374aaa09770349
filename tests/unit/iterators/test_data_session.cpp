// SPDX-License-Identifier: Apache-2.0

// Iterators as sources of models: a run takes an element before its first step.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/data.hpp"
#include "typeflow/iterators.hpp"
#include "typeflow/make_runner.hpp"
#include "typeflow/run_limits.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void model(tf::Graph& g) {
  const auto [x, label] =
      tf::iterator<tf::ElementPart<float, tf::batch, 2>, tf::ElementPart<std::int32_t, tf::batch>>(
          g, "points");
  tf::Scope in(g, "more");
  const auto weight = tf::iterator<tf::ElementPart<double>>(g, "weights");
  const auto factor = placeholder<float>(g, "factor", 1);
  mean(sum<1>(x)).named("mean");
  sum(label).named("labels");
  (x * factor).named("scaled");
  const auto doubled = (weight * 2).named("weight");
  (doubled * doubled).named("square");
  (cast<double>(sum(x)) * weight).named("both");
  constant<float>(g, 3).named("three");
  auto v = tf::variable<float>(g, "v", tf::zeros());
  assign_add(v, sum(x)).named("add");
}

/// Points (i, 1) with label 10 i, in batches of `size`.
auto points(int count, int size) {
  return tf::from_range(0, count)
      .map([](std::int64_t i) {
        return std::tuple(std::array{static_cast<float>(i), 1.f},
                          static_cast<std::int32_t>(10 * i));
      })
      .batch(size);
}

}  // namespace

TEST_CASE("an element tells the batch, and the last one is smaller") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(points(7, 4));
  const auto [mean, labels] = session.run<"more/mean", "more/labels">();
  CHECK(mean == (0 + 1 + 2 + 3) / 4.f + 1);
  CHECK(labels == 60);  // of the same element
  const auto last = session.run<"more/scaled">(tf::feed<"more/factor">(2.f));
  REQUIRE(last.shape(0) == 3);
  CHECK(std::vector<float>(last.begin(), last.end()) == std::vector<float>{8, 2, 10, 2, 12, 2});
  CHECK(session.iterator<"points">().taken() == 2);
}

TEST_CASE("a run that does not read an iterator takes nothing from it, bound or not") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  CHECK(session.run<"more/three">() == 3);
  session.bind<"points">(points(4, 2));
  CHECK(session.run<"more/three">() == 3);
  CHECK(session.iterator<"points">().taken() == 0);
  session.run<"more/add">();
  CHECK(variables.get<float>("more/v")[0] == 0 + 1 + 2);
  CHECK(session.iterator<"points">().taken() == 1);
}

TEST_CASE("parts that are fed hide those of the element") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(points(4, 2));
  // All that the run reads: nothing is taken.
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  CHECK(session.run<"more/mean">(tf::feed<"points">(x)) == 7);
  CHECK(session.run<"more/labels">(tf::feed<"points:1">(std::vector{5, 6})) == 11);
  CHECK(session.iterator<"points">().taken() == 0);
  // One of two: the other one is the element's, and their batches must agree.
  const auto [mean, labels] =
      session.run<"more/mean", "more/labels">(tf::feed<"points:0">(std::vector<float>(4, 8)));
  CHECK(mean == 16);
  CHECK(labels == 10);
  CHECK(message_of([&] {
          session.run<"more/mean", "more/labels">(tf::feed<"points:0">(x));
        }).find("batch") != std::string::npos);
}

TEST_CASE("runs that are compiled for themselves take elements, too") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(points(4, 2));
  session.bind<"more/weights">(tf::from_elements(std::vector{3.0}));
  // A value that is no placeholder is fed, behind the iterator: nothing is taken.
  CHECK(session.run<"more/square">(tf::feed<"more/weight">(5.0)) == 25);
  CHECK(session.iterator<"more/weights">().taken() == 0);
  const auto [square, mean] = session.run<"more/square", "more/mean">(tf::feed<"more/weight">(7.0));
  CHECK(square == 49);
  CHECK(mean == 1.5f);
  CHECK(session.iterator<"points">().taken() == 1);
  CHECK(session.iterator<"more/weights">().taken() == 0);
  CHECK(session.run<"more/square">() == 36);
}

TEST_CASE("a part that a run does not read tells the batch, too") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(tf::from_elements<std::tuple<std::vector<float>, std::vector<int>>>(
      {{{1, 2, 3, 4}, {1, 2, 3}}}));
  CHECK(message_of([&] { session.run<"more/mean">(); }).find("points:1") != std::string::npos);
}

TEST_CASE("the end of a dataset is a value, and a dataset can be bound again") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(points(3, 2));
  std::vector<float> means;
  while (const auto mean = tf::try_run<"more/mean">(session)) means.push_back(*mean);
  CHECK(means == std::vector<float>{1.5f, 3});
  CHECK(message_of([&] { session.run<"more/mean">(); }) ==
        "iterator 'points': its dataset has come to its end");
  CHECK_THROWS_AS(session.run<"more/mean">(), tf::OutOfRange);
  CHECK_FALSE(tf::try_run<"more/add">(session));
  session.bind<"points">(points(3, 3));
  CHECK(session.run<"more/mean">() == 2);
  CHECK(session.iterator<"points">().taken() == 1);
}

TEST_CASE("an iterator that is not bound names itself") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  CHECK_FALSE(session.iterator<"more/weights">().is_bound());
  const std::string expected =
      "iterator 'more/weights': expected a dataset, which session.bind<\"more/weights\">(dataset) "
      "gives it, got none";
  CHECK(message_of([&] { session.run<"more/weight">(); }) == expected);
  CHECK(message_of([&] { session.iterator<"more/weights">().seek(1); }) == expected);
  CHECK(message_of([&] { session.iterator<"more/weights">().taken(); }) == expected);
  CHECK(message_of([&] { session.iterator<"more/weights">().restart(); }) == expected);
  CHECK(message_of([&] { session.iterator<"more/weights">().discard(); }) == expected);
  session.bind<"more/weights">(tf::from_elements(std::vector{0.5, 1.5}));
  CHECK(session.iterator<"more/weights">().is_bound());
  CHECK(session.run<"more/weight">() == 1);
}

TEST_CASE("extents that do not fit are an error of the run") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(tf::from_elements<std::tuple<tf::Array<float, 2>, std::vector<int>>>(
      {{tf::Array<float, 2>({2, 3}), {1, 2}}}));
  CHECK(message_of([&] { session.run<"more/mean">(); }) ==
        "feed \"points:0\": expected float [batch, 2], got float [2, 3]");
}

TEST_CASE("no element is lost if another dataset ends, or a run fails") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"points">(points(4, 2));
  session.bind<"more/weights">(tf::from_elements(std::vector<double>{3}));
  CHECK(session.run<"more/both">() == (0 + 1 + 2) * 3);
  CHECK_FALSE(tf::try_run<"more/both">(session));
  CHECK(session.iterator<"points">().taken() == 1);
  session.bind<"more/weights">(tf::from_elements(std::vector<double>{5}));
  CHECK(session.run<"more/both">() == (2 + 3 + 2) * 5);

  session.bind<"points">(points(6, 2));
  std::stop_source stopped;
  stopped.request_stop();
  CHECK_THROWS_AS(session.run<"more/mean">(tf::stop_when(stopped.get_token())), tf::Cancelled);
  CHECK(session.iterator<"points">().taken() == 0);
  CHECK(session.run<"more/mean">() == 1.5f);  // the first element
  CHECK_THROWS_AS(session.run<"more/mean">(tf::stop_when(stopped.get_token())), tf::Cancelled);
  CHECK(session.iterator<"points">().discard() == 1);
  CHECK(session.iterator<"points">().discard() == 0);
  CHECK(session.iterator<"points">().taken() == 2);
  CHECK(session.run<"more/mean">() == 5.5f);  // the third
}

TEST_CASE("an error of a dataset comes in the place of its element") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"more/weights">(tf::from_range(0, 3).map([](std::int64_t i) {
    if (i == 1) throw tf::Error("row 1", "it is damaged");
    return static_cast<double>(i);
  }));
  CHECK(session.run<"more/weight">() == 0);
  CHECK(message_of([&] { session.run<"more/weight">(); }) == "row 1: it is damaged");
  CHECK(session.run<"more/weight">() == 4);
  CHECK_FALSE(tf::try_run<"more/weight">(session));
}

TEST_CASE("restart begins the next epoch of a shuffled dataset, as repeat does") {
  const auto numbers = tf::from_range(0, 20)
                           .map([](std::int64_t i) { return static_cast<double>(i); })
                           .shuffle({.buffer = 20, .seed = 3});
  std::vector<double> expected;
  for (const double x : numbers.repeat(3)) expected.push_back(2 * x);
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"more/weights">(numbers);
  std::vector<double> got;
  CHECK_FALSE(session.restart_ended());
  while (got.size() < 40) {
    if (const auto x = tf::try_run<"more/weight">(session)) {
      got.push_back(*x);
    } else {
      CHECK(session.restart_ended());
    }
  }
  session.iterator<"more/weights">().restart();  // before its end has been found
  for (int i = 0; i < 5; ++i) got.push_back(session.run<"more/weight">());

  // The position is found again, in the third epoch.
  const std::int64_t position = session.iterator<"more/weights">().taken();
  CHECK(position == (std::int64_t{2} << 40) + 5);
  for (int i = 0; i < 15; ++i) got.push_back(session.run<"more/weight">());
  CHECK(got == expected);
  tf::DataSession<model> later(variables);
  later.bind<"more/weights">(numbers);
  later.iterator<"more/weights">().seek(position);
  CHECK(later.iterator<"more/weights">().taken() == position);
  for (std::size_t i = 45; i < 60; ++i) CHECK(later.run<"more/weight">() == expected[i]);
  CHECK(message_of([&] { later.iterator<"more/weights">().seek(-1); }) ==
        "BoundIterator::seek: expected a position of 0 or more, got -1");
  // To bind it again gives the first order.
  later.bind<"more/weights">(numbers);
  CHECK(later.run<"more/weight">() == expected[0]);
}

TEST_CASE("threads that run at the same time get different elements") {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
  session.bind<"more/weights">(
      tf::from_range(0, 400).map([](std::int64_t i) { return static_cast<double>(i); }));
  std::array<std::vector<double>, 4> seen;
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) {
      threads.emplace_back([&] {
        while (const auto x = tf::try_run<"more/weight">(session)) mine.push_back(*x);
      });
    }
  }
  std::multiset<double> all;
  for (const auto& mine : seen) all.insert(mine.begin(), mine.end());
  REQUIRE(all.size() == 400);
  double i = 0;
  for (const double x : all) CHECK(x == 2 * i++);
}

namespace {

constexpr void kinds(tf::Graph& g) {
  const auto [words, lengths, flags, text] =
      tf::iterator<tf::ElementPart<std::int64_t, tf::batch, tf::symbol<"time">>,
                   tf::ElementPart<std::int32_t, tf::batch>, tf::ElementPart<bool, 3>,
                   tf::ElementPart<std::string_view>>(g, "in");
  sum<1>(words).named("sums");
  (lengths + 0).named("lengths");
  cast<std::int32_t>(flags).named("flags");
  text.named("text");
}

}  // namespace

TEST_CASE("what C++ types say of a dataset's elements is checked while compiling") {
  using Program = tf::ir::Lowering<kinds, tf::training>;
  const auto mistake = []<class T>(std::type_identity<T>) {
    using Parts = typename tf::detail::PartsOf<T>::type;
    return std::string(tf::detail::BindError<Program, 0, Parts>::message.view());
  };
  using Words = tf::PaddedBatch<std::int64_t>;
  CHECK(mistake(std::type_identity<std::tuple<Words, std::array<bool, 3>, std::string>>{}) == "");
  CHECK(mistake(
            std::type_identity<std::tuple<std::tuple<Words>, std::vector<bool>, std::string>>{}) ==
        "");
  CHECK(mistake(std::type_identity<std::tuple<Words, std::array<bool, 4>, std::string>>{}) ==
        "iterator 'in': part 2: expected bool [3], got 4 elements");
  CHECK(mistake(std::type_identity<std::tuple<Words, bool, std::string>>{}) ==
        "iterator 'in': part 2: expected bool [3], got a tensor of 0 axes");
  CHECK(mistake(std::type_identity<std::tuple<tf::Array<std::int64_t, 1>, std::vector<std::int32_t>,
                                              std::vector<bool>, std::string>>{}) ==
        "iterator 'in': part 0: expected int64 [batch, time], got a tensor of 1 axis");
  CHECK(mistake(std::type_identity<std::tuple<Words, std::vector<float>, std::string>>{}) ==
        "iterator 'in': part 2: expected bool [3], got float");
  struct Nothing {};
  CHECK(mistake(std::type_identity<std::tuple<Words, std::vector<bool>, Nothing>>{}) ==
        "iterator 'in': part 3: expected string [], got elements that are no tensors");
  CHECK(mistake(std::type_identity<Words>{}) ==
        "iterator 'in': expected elements of 4 parts, got 2");
}

TEST_CASE("padded batches tell batch and time; booleans and texts are parts") {
  using Row = std::vector<std::int64_t>;
  const auto rows = tf::from_elements(std::vector<Row>{{1, 2, 3}, {4}, {5, 6}});
  const auto others = tf::from_elements(
      std::vector{std::tuple(std::vector<bool>{true, false, true}, std::string("a longer text")),
                  std::tuple(std::vector<bool>(3), std::string("short"))});
  tf::Variables variables;
  tf::DataSession<kinds> session(variables);
  session.bind<"in">(tf::zip(rows.padded_batch(2), others));
  {
    const auto [sums, lengths, flags, text] = session.run<"sums", "lengths", "flags", "text">();
    CHECK(std::vector<std::int64_t>(sums.begin(), sums.end()) == Row{6, 4});
    CHECK(std::vector<int>(lengths.begin(), lengths.end()) == std::vector{3, 1});
    CHECK(std::vector<int>(flags.begin(), flags.end()) == std::vector{1, 0, 1});
    CHECK(text == "a longer text");
  }
  const auto [sums, text] = session.run<"sums", "text">();
  CHECK(std::vector<std::int64_t>(sums.begin(), sums.end()) == Row{11});
  CHECK(text == "short");
}

TEST_CASE("feeds refer to the elements: nothing is copied") {
  // The vector of the dataset's element is what the run is fed with.
  const float* made = nullptr;
  auto element = tf::detail::taken_element(std::tuple(std::vector<float>(6), 5));
  REQUIRE(element.parts.size() == 2);
  CHECK(element.parts[0].count == 6);
  CHECK(element.parts[0].rank == -1);
  CHECK(element.parts[1].rank == 0);
  CHECK(*static_cast<const int*>(element.parts[1].data) == 5);
  std::vector<float> values(6);
  made = values.data();
  element = tf::detail::taken_element(std::move(values));
  CHECK(element.parts[0].data == made);
}

TEST_CASE("a model with iterators describes them, and a taken name is a mistake") {
  tf::Graph g(tf::training);
  model(g);
  const std::string text = describe(g);
  CHECK(text.find("points:1 = Iterator  int32 [batch]") != std::string::npos);
  CHECK(text.find("more/weights:0 = more/Iterator  double []") != std::string::npos);
  CHECK(message_of([] {
          tf::Graph twice(tf::training);
          tf::iterator<tf::ElementPart<float>>(twice, "x");
          tf::iterator<tf::ElementPart<float>>(twice, "x");
        }).starts_with("iterator 'x': the name is taken at test_data_session.cpp:"));
}

TEST_CASE("a runner is fed with the parts by their names") {
  const auto runner = tf::runner<tf::Session<model>, "more/both">(
      [](tf::Variables& variables) { variables.set<float>("more/v", std::vector{0.f}, {0, {}}); });
  const std::vector<float> x{1, 2, 3, 4};
  const auto results = runner.run({{"points:0", x}, {"more/weights:0", 2.0}});
  CHECK(results.get<double>("more/both")[0] == 20);
}

TEST_CASE("a session without such bindings is fed with the parts") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"more/both">(tf::feed<"points">(std::vector<float>{1, 2}),
                                 tf::feed<"points:1">(std::vector{1}),
                                 tf::feed<"more/weights">(2.0)) == 6);
}
