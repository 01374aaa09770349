// SPDX-License-Identifier: Apache-2.0

// unique: order of first occurrence, element types, bounds, NaN and zeros.

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using test::Outcome;

/// values, index and count of a list, names ending in `suffix`.
Outcome expected(const tf::HostTensor& x, std::int64_t bound, const std::string& suffix) {
  tf::HostTensor values = tf::host_tensor(x.dtype, test::dims({bound}));
  tf::HostTensor index = tf::host_tensor(tf::DType::int32, x.dims);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t first = 0;  // the first element that equals this one
    while (first < i && !(x.value(first) == x.value(i) && x[first].imaginary == x[i].imaginary)) {
      ++first;
    }
    if (first == i) {
      values[count] = x[i];
      index.set(i, static_cast<double>(count++));
    } else {
      index[i] = index[first];
    }
  }
  return {{"values" + suffix, values},
          {"index" + suffix, index},
          {"count" + suffix, test::ints({}, {static_cast<double>(count)})}};
}

template <class U>
constexpr void name(const U& u, tf::Label values, tf::Label index, tf::Label count) {
  u.values.named(values);
  u.index.named(index);
  u.count.named(count);
}

constexpr void types(tf::Graph& g) {
  auto b = tf::placeholder<bool, 5>(g, "b");
  auto u = tf::placeholder<std::uint8_t, 131>(g, "u");
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto l = tf::placeholder<std::int64_t, 2 * tf::batch>(g, "l");
  auto f = tf::placeholder<float, tf::batch>(g, "f");
  auto d = tf::placeholder<double, 37>(g, "d");
  auto h = tf::placeholder<tf::bfloat16, tf::batch>(g, "h");
  auto s = tf::placeholder<std::int16_t, tf::batch>(g, "s");
  auto c = tf::placeholder<std::complex<double>, 37>(g, "c");
  auto none = tf::placeholder<double, 0>(g, "none");
  name(unique(c), "values_c", "index_c", "count_c");
  name(unique(b), "values_b", "index_b", "count_b");
  name(unique(u), "values_u", "index_u", "count_u");
  name(unique(i), "values_i", "index_i", "count_i");
  name(tf::unique<20>(l), "values_l", "index_l", "count_l");
  name(tf::unique<2 * tf::batch>(f), "values_f", "index_f", "count_f");
  name(unique(d), "values_d", "index_d", "count_d");
  name(unique(h), "values_h", "index_h", "count_h");
  name(unique(s), "values_s", "index_s", "count_s");
  name(unique(none), "values_none", "index_none", "count_none");
}

constexpr void many(tf::Graph& g) {
  auto x = tf::placeholder<std::int64_t, tf::batch>(g, "x");
  name(unique(x), "values", "index", "count");
}

constexpr void few(tf::Graph& g) {
  auto x = tf::placeholder<float, 6>(g, "x");
  name(tf::unique<3>(x), "values", "index", "count");
}

}  // namespace

TEST_CASE("unique: values") {
  for (const std::int64_t batch : {0, 1, 3, 40}) {
    tf::HostTensors feeds = test::random_feeds<types>(batch, 8);
    for (const char* floats : {"f", "d", "h"}) {
      for (tf::Number& n : feeds.at(floats).elements) n.real = static_cast<int>(4 * n.real) / 4.0;
    }
    tf::HostTensor& c = feeds.at("c");
    for (std::int64_t i = 0; i < c.size(); ++i)
      c[i].imaginary = i % 3 == 0 ? -0. : static_cast<double>(i % 3 - 1);
    Outcome all;
    for (const auto& [key, x] : feeds) {
      const std::int64_t bound = key == "l" ? 20 : key == "f" ? 2 * batch : x.size();
      for (const auto& [text, value] : expected(x, bound, '_' + key)) all[text] = value;
    }
    test::check_values<types>(feeds, all);
  }

  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  test::check_values<few>({{"x", test::floats({6}, {-0.0, infinity, 0, infinity, -0.0, 5e-45})}},
                          {{"values", test::floats({3}, {0, infinity, 5e-45})},
                           {"index", test::ints({6}, {0, 1, 0, 1, 0, 2})},
                           {"count", test::ints({}, {3})}});
  test::check_values<few>({{"x", test::floats({6}, {nan, 1, nan, 1, 1, 1})}},
                          {{"values", test::floats({3}, {nan, 1, nan})},
                           {"index", test::ints({6}, {0, 1, 2, 1, 1, 1})},
                           {"count", test::ints({}, {3})}});

  // Numbers that differ where a hash may not look: in their upper or lower halves alone.
  tf::HostTensor x = tf::host_tensor(tf::DType::int64, test::dims({600}));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x[i].integer = i % 3 == 0 ? i % 77 : i % 3 == 1 ? (i % 77) << 40 : -(i % 50);
  }
  test::check_values<many>({{"x", x}}, expected(x, 600, ""));
}

TEST_CASE("unique: random lists in graphs made at run time") {
  test::Random random(3);
  for (int round = 0; round < 40; ++round) {
    tf::Graph g;
    const std::int64_t size = random.below(12);
    const tf::DType type = round % 2 == 0 ? tf::DType::int32 : tf::DType::float64;
    tf::HostTensor x = tf::host_tensor(type, test::dims({size}));
    for (std::int64_t i = 0; i < size; ++i) x.set(i, random.below(6) - 2);
    const std::int64_t bound = size + random.below(3);
    const auto [values, index, count] = unique(test::input(g, "x", type, x.dims), bound);
    test::name(values, "values");
    test::name(index, "index");
    test::name(count, "count");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, {{"x", x}}, expected(x, bound, ""));
  }
}

TEST_CASE("unique: errors") {
  const tf::HostTensors feeds{{"x", test::floats({6}, {1, 2, 1, 3, 4, 5})}};
  const char* const text = "unique: expected at most 3 distinct elements, got another one at [4]";
  test::Kernels<few> kernels;
  CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains(text), tf::Error);
  tf::Graph g;
  few(g);
  CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({"values"}, feeds), doctest::Contains(text),
                       tf::Error);
  // The engine goes on after such a run.
  CHECK(kernels.run({{"x", test::floats({6}, {1, 2, 1, 3, 2, 1})}}).at("count").value(0) == 3);
}

TEST_CASE("unique: a gradient through the values is an error") {
  tf::Graph g;
  auto x = tf::placeholder<float, 6>(g, "x");
  CHECK_THROWS_WITH_AS(gradients(sum(unique(x).values), x),
                       doctest::Contains("no gradient is defined for Unique"), tf::Error);
}
