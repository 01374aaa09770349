// SPDX-License-Identifier: Apache-2.0

// layer_norm, group_norm and instance_norm against loops that are written here.

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Coordinates = std::vector<std::int64_t>;

/// (x - mean) / sqrt(variance + epsilon) over the elements that have the same key.
template <class F>
tf::HostTensor standardized(const tf::HostTensor& x, double epsilon, const F& key_of) {
  std::map<Coordinates, std::vector<std::int64_t>> groups;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    groups[key_of(test::coordinates(i, x.dims))].push_back(i);
  }
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  for (const auto& [key, group] : groups) {
    const auto n = static_cast<double>(group.size());
    double mean = 0;
    for (const std::int64_t i : group) mean += x.value(i) / n;
    double variance = 0;
    for (const std::int64_t i : group) variance += std::pow(x.value(i) - mean, 2) / n;
    for (const std::int64_t i : group) {
      y.set(i, (x.value(i) - mean) / std::sqrt(variance + epsilon));
    }
  }
  return y;
}

template <class T, tf::Extent... D>
constexpr void images(tf::Graph& g) {
  auto x = tf::placeholder<T, D...>(g, "x");
  layer_norm(x).named("layer");
  tf::layer_norm<1, 3>(x, 0.1).named("layer_1_3");
  tf::group_norm<2>(x).named("group_2");
  tf::group_norm<8>(x).named("group_8");
  instance_norm(x, 0.01).named("instance");
}

template <class T, tf::Extent... D>
void check_images(std::int64_t batch, double tolerance, double offset = 0) {
  INFO("batch ", batch);
  constexpr auto model = &images<T, D...>;
  const tf::HostTensors feeds = test::random_feeds<model>(batch, 3, offset - 2, offset + 2);
  const tf::HostTensor& x = feeds.at("x");
  using C = const Coordinates&;
  const auto by_channel = [](C c) { return Coordinates{c[0], c[3]}; };
  test::check_values<model>(
      feeds,
      {{"layer", standardized(x, 1e-5, [](C c) { return Coordinates{c[0], c[1], c[2]}; })},
       {"layer_1_3", standardized(x, 0.1, [](C c) { return Coordinates{c[0], c[2]}; })},
       {"group_2", standardized(x, 1e-5, [](C c) { return Coordinates{c[0], c[3] / 4}; })},
       {"group_8", standardized(x, 1e-5, by_channel)},
       {"instance", standardized(x, 0.01, by_channel)}},
      tolerance);
}

template <class T, tf::Extent... D>
constexpr void rows(tf::Graph& g) {
  auto x = tf::placeholder<T, D...>(g, "x");
  layer_norm(x).named("y");
  tf::group_norm<1>(x).named("group_1");
}
template <class T, tf::Extent... D>
void check_rows(std::int64_t batch, double tolerance) {
  constexpr auto model = &rows<T, D...>;
  const tf::HostTensors feeds = test::random_feeds<model>(batch, 4);
  const auto key = [](const Coordinates& c) { return Coordinates(c.begin(), c.end() - 1); };
  const tf::HostTensor y = standardized(feeds.at("x"), 1e-5, key);
  test::check_values<model>(feeds, {{"y", y}, {"group_1", y}}, tolerance);
}

// With variables.

constexpr void layers(tf::Graph& g) {
  auto x = tf::placeholder<double, 2, 3, 4>(g, "x");
  tf::layer_norm(g, "layer", x).named("layer_y");
  tf::layer_norm<0, 2>(g, "axes", x, {.epsilon = 0.1}).named("axes_y");
  tf::group_norm<2>(g, "group", x).named("group_y");
  tf::instance_norm(g, "instance", x, {.epsilon = 0.01, .center = false}).named("instance_y");
  tf::instance_norm(g, "shifted", x, {.scale = false}).named("shifted_y");
}

std::vector<double> numbers(std::int64_t count, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<double> out(static_cast<std::size_t>(count));
  for (double& x : out) x = random.uniform(-2, 2);
  return out;
}

}  // namespace

TEST_CASE("layer_norm: values") {
  check_images<float, tf::batch, 3, 2, 8>(4, 2e-6);
  check_images<float, tf::batch, 3, 2, 8>(0, 0);
  check_images<double, 2, 1, 1, 8>(1, 1e-13);
  check_rows<float, tf::batch, 37>(5, 2e-6);
  check_rows<float, 3, 1>(1, 0);
  check_rows<tf::float16, 3, 19>(1, 1e-3);
}

TEST_CASE("group_norm: values") {
  // A large mean costs the variance no digits: E[x^2] - E[x]^2 would be a difference of numbers
  // near 1e8, whose floats are 8 apart.
  check_images<float, tf::batch, 3, 2, 8>(2, 2e-3, 1e4);
}

TEST_CASE("instance_norm: values") {  // and those of the others, with their variables
  const std::vector<double> fed = numbers(24, 1);
  const tf::HostTensor x = test::doubles({2, 3, 4}, fed);
  tf::Variables variables;
  std::map<std::string, std::vector<double>> values;
  const auto set = [&](const char* name, const tf::Dims& dims) {
    values[name] = numbers(tf::count_of(dims).coefficient, 2 + values.size());
    variables.set<double>(name, values[name], dims);
  };
  for (const char* const name : {"layer/gamma", "layer/beta", "group/gamma", "group/beta",
                                 "instance/gamma", "shifted/beta"}) {
    set(name, tf::Dims{1, {4}});
  }
  set("axes/gamma", tf::Dims{2, {2, 4}});
  set("axes/beta", tf::Dims{2, {2, 4}});
  tf::Session<layers> session(variables);
  CHECK(variables.names().size() == 8);
  const auto [layer, axes, group, instance, shifted] =
      session.run<"layer_y", "axes_y", "group_y", "instance_y", "shifted_y">(tf::feed<"x">(fed));
  using C = const Coordinates&;
  const auto check = [&](const auto& got, double epsilon, const char* gamma, const char* beta,
                         bool of_sample, const auto& key) {
    const tf::HostTensor y = standardized(x, epsilon, key);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const auto c = static_cast<std::size_t>(i % 4 + (of_sample ? i / 12 * 4 : 0));
      const double expected = y.value(i) * (gamma == nullptr ? 1 : values.at(gamma)[c]) +
                              (beta == nullptr ? 0 : values.at(beta)[c]);
      CHECK(std::abs(got.data()[i] - expected) < 1e-13);
    }
  };
  const auto by_channel = [](C c) { return Coordinates{c[0], c[2]}; };
  check(layer, 1e-5, "layer/gamma", "layer/beta", false,
        [](C c) { return Coordinates{c[0], c[1]}; });
  check(axes, 0.1, "axes/gamma", "axes/beta", true, [](C c) { return Coordinates{c[1]}; });
  check(group, 1e-5, "group/gamma", "group/beta", false,
        [](C c) { return Coordinates{c[0], c[2] / 2}; });
  check(instance, 0.01, "instance/gamma", nullptr, false, by_channel);
  check(shifted, 1e-5, nullptr, "shifted/beta", false, by_channel);
}

TEST_CASE("layer_norm: gradient") {
  test::check_gradients<tf::Shape<3, 5>>([](auto x) { return layer_norm(x); });
  test::check_gradients<tf::Shape<2, 3, 4>>([](auto x) { return tf::layer_norm<0, 2>(x, 0.1); });
  test::check_gradients<tf::Shape<2, 4>>(
      [](auto x) { return gradients(sum(square(layer_norm(x, 0.5)) * layer_norm(x, 0.5)), x); }, {},
      1e-6);
}

TEST_CASE("group_norm: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4>>([](auto x) { return tf::group_norm<2>(x); });
}

TEST_CASE("instance_norm: gradient") {
  test::check_gradients<tf::Shape<2, 3, 2, 2>>([](auto x) { return instance_norm(x); });
}
