// SPDX-License-Identifier: Apache-2.0

// shuffle: permutations, their distribution and their seeds.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto i = tf::placeholder<std::int64_t, tf::batch>(g, "i");
  auto b = tf::placeholder<bool, 0, 2>(g, "b");
  auto rows = shuffle(x).named("rows");
  shuffle(i, "numbers");
  shuffle(b).named("nothing");
  auto first = sum(rows).named("same_sum");
  gradients(sum(rows * x) + 0 * first, x).named("dx");
}

constexpr void four(tf::Graph& g) {
  auto x = tf::placeholder<std::int32_t, 4>(g, "x");
  shuffle(x).named("a");
  shuffle(x).named("b");
}

constexpr void with_another(tf::Graph& g) {
  auto x = tf::placeholder<std::int32_t, 4>(g, "x");
  tf::random_uniform<float, 3>(g);
  shuffle(x, "other");
  cast<float>(x).named("shuffle");
  {
    tf::NameScope in(g, "in");
    shuffle(x);
  }
  shuffle(x).named("a");
}

using Order = std::array<int, 4>;

template <class T>
Order order(const T& x) {
  return {static_cast<int>(x(0)), static_cast<int>(x(1)), static_cast<int>(x(2)),
          static_cast<int>(x(3))};
}

}  // namespace

TEST_CASE("shuffle: values") {
  for (const std::int64_t batch : {0, 1, 2, 19, 1000}) {
    CAPTURE(batch);
    tf::HostTensors feeds = test::random_feeds<model>(batch);
    for (std::int64_t i = 0; i < batch; ++i) {
      feeds.at("i").set(i, static_cast<double>(i));
      for (int k = 0; k < 3; ++k) feeds.at("x").set(3 * i + k, static_cast<double>(i) + 0.25 * k);
    }
    test::Kernels<model> kernels;
    const test::Outcome got = kernels.run(feeds);
    const tf::HostTensor& rows = got.at("rows");
    const tf::HostTensor& numbers = got.at("numbers");
    std::vector<int> seen_rows(static_cast<std::size_t>(batch), 0);
    std::vector<int> seen_numbers = seen_rows;
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < batch; ++i) {
      const double row = rows.value(3 * i);
      REQUIRE((row >= 0 && row < static_cast<double>(batch)));
      ++seen_rows[static_cast<std::size_t>(row)];
      ++seen_numbers[static_cast<std::size_t>(numbers[i].integer)];
      CHECK(rows.value(3 * i + 2) == row + 0.5);
      moved += rows.value(3 * i) != numbers.value(i);
    }
    CHECK(seen_rows == std::vector<int>(static_cast<std::size_t>(batch), 1));
    CHECK(seen_numbers == std::vector<int>(static_cast<std::size_t>(batch), 1));
    if (batch > 10) CHECK(moved > batch / 2);  // two names, two orders
    test::check_against_interpreter<model>(batch, 1e-4);
    test::check_threads<model>(batch);
  }
}

TEST_CASE("shuffle: each order is as likely as another") {
  tf::Variables variables;
  tf::Session<four> session(variables, {.seed = 5});
  const std::vector<std::int32_t> x{0, 1, 2, 3};
  std::map<Order, int> counts;
  int alike = 0;
  constexpr int runs = 4800;
  for (int i = 0; i < runs; ++i) {
    const auto [a, b] = session.run<"a", "b">(tf::feed<"x">(x));
    ++counts[order(a)];
    alike += order(a) == order(b);
  }
  CHECK(counts.size() == 24);
  double chi_squared = 0;
  for (const auto& [key, count] : counts) {
    chi_squared += (count - 200.0) * (count - 200.0) / 200.0;
  }
  CHECK(chi_squared < 49.7);  // 99.9 % of chi squared with 23 degrees of freedom
  CHECK(alike > 130);         // 200 expected, of standard deviation 13.8
  CHECK(alike < 270);
}

TEST_CASE("shuffle: the order depends on the seed, its place among the unlabelled and the run") {
  const std::vector<std::int32_t> x{0, 1, 2, 3};
  const auto orders = [&](auto& session) {
    std::vector<Order> out;
    for (int i = 0; i < 20; ++i) out.push_back(order(session.template run<"a">(tf::feed<"x">(x))));
    return out;
  };
  tf::Variables variables[4];
  tf::Session<four> first(variables[0], {.seed = 5});
  tf::Session<four> second(variables[1], {.seed = 5});
  tf::Session<with_another> third(variables[2], {.seed = 5});
  tf::Session<four> other(variables[3], {.seed = 6});
  const std::vector<Order> expected = orders(first);
  CHECK(orders(second) == expected);
  CHECK(orders(third) == expected);
  CHECK(orders(other) != expected);
  CHECK(orders(first) != expected);  // later runs
}

TEST_CASE("shuffle: gradient") {
  // The checker's runs would each draw anew; in one run dx is w moved back as y moved x.
  test::Random random(2);
  tf::Graph g;
  auto x = tf::placeholder<double, 5, 2>(g, "x");
  auto w = tf::placeholder<double, 5, 2>(g, "w");
  auto y = shuffle(x);
  y.named("y");
  gradients(sum(y * w), x).named("dx");
  REQUIRE(tf::ir::verify(g).view() == "");
  tf::HostTensors feeds;
  for (const char* name : {"x", "w"}) {
    feeds[name] = test::random_tensor(random, tf::DType::float64, test::dims({5, 2}), -1, 1);
  }
  tf::Interpreter interpreter(g);
  bool moved = false;
  for (int run = 0; run < 5; ++run) {
    const std::vector<tf::HostTensor> out = interpreter.run({"y", "dx"}, feeds);
    for (std::int64_t i = 0; i < 10; ++i) {
      std::int64_t from = 0;
      while (feeds["x"].value(from) != out[0].value(i)) ++from;
      moved = moved || from != i;
      CHECK(out[1].value(from) == feeds["w"].value(i));
    }
  }
  CHECK(moved);
}
