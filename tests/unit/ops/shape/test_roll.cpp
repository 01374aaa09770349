// SPDX-License-Identifier: Apache-2.0

// roll: each element type, shifts in both directions and around, batches, its gradient.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Place = std::vector<std::int64_t>;

/// x where element c is element c - shift, counted around each axis.
tf::HostTensor rolled(const tf::HostTensor& x, const std::vector<int>& shift) {
  return test::pick(x, x.dims, [&](Place c) {
    for (std::size_t i = 0; i < c.size(); ++i) {
      const std::int64_t n = x.dims.extent[i];
      c[i] = ((c[i] - shift[i]) % n + n) % n;
    }
    return c;
  });
}

template <class T>
constexpr void elements_of(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 5, 7>(g, {"x", i});
  tf::roll<2>(x, 3).named({"last", i});
  tf::roll<0>(x, -2).named({"first", i});
  tf::roll<0, 1, 2>(x, {1, 12, -1}).named({"all", i});
}
constexpr void elements(tf::Graph& g) {
  test::for_each_element_type([&]<class T>(T, int i) { elements_of<T>(g, i); });
}

constexpr void shapes(tf::Graph& g) {
  auto line = tf::placeholder<float, 131>(g, "line");
  auto thin = tf::placeholder<float, 5, 1, 3>(g, "thin");
  auto empty = tf::placeholder<float, 3, 0, 2>(g, "empty");
  auto large = tf::placeholder<float, 150, 3, 257>(g, "large");
  tf::roll<0>(line, 130).named("line_most");
  tf::roll<0>(line, 131 * 3 + 4).named("line_around");
  tf::roll<0>(line, -131).named("line_whole");
  tf::roll<0>(line, 0).named("line_nothing");
  tf::roll<1, -1>(thin, {5, 2}).named("thin_ones");
  tf::roll<0, 1>(empty, {1, 1}).named("empty_all");
  tf::roll<0, 2>(large, {149, -100}).named("large_two");
  tf::roll<-1, 2, 2>(large, {100, 100, 58}).named("large_sum");
}

}  // namespace

TEST_CASE("roll: values") {
  for (const std::int64_t b : {0, 1, 2, 7}) {
    const tf::HostTensors feeds = test::random_feeds<elements>(b);
    test::Outcome expected;
    for (int i = 0; i < tf::dtype_count; ++i) {
      const std::string of = "_" + std::to_string(i);
      const tf::HostTensor& x = feeds.at("x" + of);
      expected.merge(test::Outcome({{"last" + of, rolled(x, {0, 0, 3})},
                                    {"first" + of, rolled(x, {-2, 0, 0})},
                                    {"all" + of, rolled(x, {1, 12, -1})}}));
    }
    test::check_values<elements>(feeds, expected);
  }
}

TEST_CASE("roll: values of other shapes") {
  const tf::HostTensors feeds = test::random_feeds<shapes>();
  const tf::HostTensor& line = feeds.at("line");
  const tf::HostTensor& large = feeds.at("large");
  test::check_values<shapes>(feeds, {{"line_most", rolled(line, {130})},
                                     {"line_around", rolled(line, {4})},
                                     {"line_whole", line},
                                     {"line_nothing", line},
                                     {"thin_ones", rolled(feeds.at("thin"), {0, 0, 2})},
                                     {"empty_all", feeds.at("empty")},
                                     {"large_two", rolled(large, {149, 0, -100})},
                                     {"large_sum", rolled(large, {0, 0, 1})}});
}

TEST_CASE("roll: gradient") {
  test::check_gradients<tf::Shape<3, 4>>(
      [](const auto& x) { return tf::roll<0, 1>(square(x), {1, -3}) * x; });
  test::check_gradients<tf::Shape<5>>([](const auto& x) { return tf::roll<0>(x, 2) * x * x; });
}
