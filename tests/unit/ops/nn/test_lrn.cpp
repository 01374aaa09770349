// SPDX-License-Identifier: Apache-2.0

// lrn against its formula, written as loops.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

tf::HostTensor normalized(const tf::HostTensor& x, const tf::LrnOptions& options) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  const std::int64_t channels = x.dims.extent[x.dims.rank - 1];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double e = x.value(i - i % channels + c);
      if (std::abs(c - i % channels) <= options.depth_radius) sum += e * e;
    }
    y.set(i, x.value(i) / std::pow(options.bias + options.alpha * sum, options.beta));
  }
  return y;
}

constexpr tf::LrnOptions alexnet{.depth_radius = 2, .bias = 2, .alpha = 1e-1, .beta = 0.75};
constexpr tf::LrnOptions all_settings[] = {
    {},
    alexnet,
    {.depth_radius = 0, .beta = 1},
    {.depth_radius = 40, .bias = 0.5, .alpha = 0.3, .beta = 0.6},
};

template <class T, tf::Extent... D>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<T, D...>(g, "x");
  int i = 0;
  for (const tf::LrnOptions& options : all_settings) lrn(x, options).named({"y", i++});
}

template <class T, tf::Extent... D>
void check(std::int64_t batch, double tolerance) {
  INFO("batch ", batch);
  const tf::HostTensors feeds = test::random_feeds<model<T, D...>>(batch, 5);
  test::Outcome expected;
  int i = 0;
  for (const tf::LrnOptions& options : all_settings) {
    expected["y_" + std::to_string(i++)] = normalized(feeds.at("x"), options);
  }
  test::check_values<model<T, D...>>(feeds, expected, tolerance);
  test::check_threads<model<T, D...>>(batch);
}

constexpr void special(tf::Graph& g) {
  lrn(tf::placeholder<float, 6>(g, "x"), {.depth_radius = 1}).named("y");
}

constexpr void wrong(tf::Graph& g) {
  lrn(tf::placeholder<float, 2, 3>(g, "x"), {.depth_radius = -1});
}

}  // namespace

TEST_CASE("lrn: values") {
  for (const std::int64_t batch : {0, 1, 4}) check<float, tf::batch, 3, 2, 37>(batch, 1e-6);
  check<float, 5>(1, 1e-6);
  check<float, 2, 3, 1>(1, 1e-6);
  check<float, 2, 0>(1, 0);
  check<double, 3, 2, 40>(1, 1e-14);
  check<tf::bfloat16, tf::batch, 19>(3, 8e-3);
  check<tf::float16, tf::batch, 19>(3, 1e-3);
}

TEST_CASE("lrn: NaN and infinity reach the channels that see them") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  test::check_values<special>({{"x", test::floats({6}, {0, 0, nan, 0, 0, 1})}},
                              {{"y", test::floats({6}, {0, nan, nan, nan, 0, std::sqrt(0.5)})}},
                              1e-7);
  test::check_values<special>(
      {{"x", test::floats({6}, {1, 2, 3, inf, 2, 0})}},
      {{"y", test::floats({6}, {1 / std::sqrt(6.), 2 / std::sqrt(15.), 0, nan, 0, 0})}}, 1e-7);
}

TEST_CASE("lrn: gradient") {
  for (const tf::LrnOptions& options : all_settings) {
    test::check_gradients<tf::Shape<2, 3, 7>>([&](auto x) { return lrn(x, options); });
  }
  test::check_gradients<tf::Shape<2, 5>>(
      [](auto x) { return gradients(sum(square(lrn(x, alexnet))), x); });
  test::check_gradients<tf::Shape<5>>(
      [](auto x) { return gradients(sum(square(gradients(sum(square(lrn(x, alexnet))), x))), x); },
      {}, 1e-6);
}

TEST_CASE("lrn: errors") {
  const std::string message = message_of([] {
    tf::Graph g;
    wrong(g);
  });
  CHECK(message.find("lrn(x), ") == 0);
  CHECK(message.find("test_lrn.cpp:") != message.npos);
  CHECK(message.find(": depth_radius must be 0 or more") != message.npos);
}
