// SPDX-License-Identifier: Apache-2.0

// Random tensors of many distributions: against cumulative distribution functions, and element by
// element against what they are defined to be.

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "support/check_random.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr int n = 20000;
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr void model(tf::Graph& g) {
  tf::random_normal<float, n>(g, "normal", 3, 2);
  tf::random_normal<double, n>(g, "wide_normal");
  tf::random_normal<tf::bfloat16, 37>(g, "half_normal");
  tf::truncated_normal<float, n>(g, "truncated", -1, 0.5);
  tf::truncated_normal<double, 100, 0>(g, "none");
  tf::random_uniform<std::int32_t, n>(g, "dice", 1, 7);
  tf::random_uniform<std::int64_t, n>(g, "large", -3'000'000'000'000'000'000,
                                      5'000'000'000'000'000'000);
  tf::random_uniform<tf::float16, 37>(g, "half");
  tf::random_uniform<float, 5000>(g, "near", 16777214, 16777216);
  auto p = tf::placeholder<float, tf::batch>(g, "p");
  auto logits = tf::placeholder<float, tf::batch, 4>(g, "logits");
  bernoulli(broadcast_to<5000, tf::batch>(p), "hits");
  tf::categorical<5000>(logits, "classes");
  categorical(logits, "class");
}

tf::HostTensors feeds() {
  return {{"p", test::floats({4}, {0, 0.3f, 1, NAN})},
          {"logits", test::floats({4, 4}, {1, 2, 3, 4,                                    //
                                           -static_cast<float>(infinity), 0, 0, 0,        //
                                           700, 700, 701, -static_cast<float>(infinity),  //
                                           -static_cast<float>(infinity), -800, -999, -999})}};
}

/// What seed 7 gives in draw 0: with several threads, with one, and interpreted.
struct Drawn {
  test::Outcome kernels = test::Kernels<model>(3).run(feeds());
  tf::HostTensors interpreted = [] {
    tf::Graph g;
    model(g);
    return tf::interpret(g, feeds(), {}, {7, 0});
  }();

  Drawn() {
    const test::Outcome one = test::Kernels<model>(1).run(feeds());
    test::check_allocations<model>(feeds());
    for (const auto& [name, x] : one) {
      CAPTURE(name);
      test::check_close(name, kernels.at(name), x, 0);
    }
  }
};
const Drawn& drawn() {
  static const Drawn once;
  return once;
}
/// The elements in the compiled program, which the interpreter must agree with.
std::vector<double> sample(const std::string& name, double tolerance = 0) {
  const tf::HostTensor& x = drawn().kernels.at(name);
  test::check_close(name, x, drawn().interpreted.at(name), tolerance);
  return test::elements(x);
}

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

}  // namespace

TEST_CASE("random_normal: values") {
  CHECK(test::follows(sample("normal", 1e-5), [](double x) { return normal_cdf((x - 3) / 2); }));
  const std::vector<double> wide = sample("wide_normal", 1e-13);
  CHECK(test::follows(wide, normal_cdf));
  double fourth = 0;
  for (const double x : wide) fourth += x * x * x * x / n;
  CHECK(std::abs(fourth - 3) < 4 * std::sqrt(96.0 / n));  // four standard deviations
  // Element by element: Box and Muller's transform of two sequences of uniform numbers.
  const std::uint64_t path = tf::hash("wide_normal");
  for (std::uint64_t i = 0; i < 40; ++i) {
    const double u = tf::uniform_element<double>(tf::random_key(7, path), 0, i);
    const double v = tf::uniform_element<double>(tf::random_key(7, tf::random_key(path, 1)), 0, i);
    const double z = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
    CHECK(wide[i] == doctest::Approx(z).epsilon(1e-12));
  }
  for (const double x : sample("half_normal", 1. / 128)) CHECK(std::abs(x) < 5);
}

TEST_CASE("truncated_normal: values") {
  const std::vector<double> x = sample("truncated", 1e-6);
  for (const double e : x) CHECK((e >= -2 && e <= 0));
  const double below = normal_cdf(-2);
  CHECK(test::follows(
      x, [&](double e) { return (normal_cdf((e + 1) / 0.5) - below) / (1 - 2 * below); }));
  double variance = 0;
  for (const double e : x) variance += (e + 1) * (e + 1) / n;
  CHECK(std::sqrt(variance) == doctest::Approx(0.5 * 0.87962566).epsilon(0.02));
  CHECK(sample("none").empty());
}

TEST_CASE("random_uniform: integers and halves") {
  const std::vector<double> dice = sample("dice");
  CHECK(test::occur(dice, {0, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6}));
  CHECK(test::follows(sample("large"), [](double x) { return (x + 3e18) / 8e18; }));
  const tf::HostTensor& large = drawn().kernels.at("large");
  __extension__ using Wide = unsigned __int128;
  for (int i = 0; i < 40; ++i) {
    const tf::Philox w =
        tf::Philox::generate(tf::random_key(7, tf::hash("large")), static_cast<unsigned>(i), 0);
    const Wide high = Wide{w.word[0]} << 32 | w.word[1];
    const Wide low = Wide{w.word[2]} << 32 | w.word[3];
    const std::uint64_t range = 8'000'000'000'000'000'000u;
    const auto above = static_cast<std::int64_t>((high * range + (low * range >> 64)) >> 64);
    CHECK(large[i].integer == above - 3'000'000'000'000'000'000);
  }
  const std::vector<double> half = sample("half");
  for (std::uint64_t i = 0; i < 37; ++i) {
    const tf::Philox w = tf::Philox::generate(tf::random_key(7, tf::hash("half")), i / 4, 0);
    CHECK(half[i] == static_cast<double>(w.word[i % 4] >> 21) / 2048);
  }
  for (const double x : sample("near")) CHECK((x == 16777214 || x == 16777215));
}

TEST_CASE("bernoulli: values") {
  const std::vector<double> hits = sample("hits");
  double count[4] = {};
  for (std::size_t i = 0; i < hits.size(); ++i) count[i % 4] += hits[i];
  CHECK(count[0] == 0);
  CHECK(std::abs(count[1] - 1500) < 4 * std::sqrt(5000 * 0.3 * 0.7));
  CHECK(count[2] == 5000);
  CHECK(count[3] == 0);
}

TEST_CASE("categorical: values") {
  const std::vector<double> all = sample("classes");
  const auto row = [&](int i) {
    return std::vector<double>(all.begin() + i * 5000, all.begin() + (i + 1) * 5000);
  };
  const double e = std::numbers::e;
  const double total = 1 + e + e * e + e * e * e;
  CHECK(test::occur(row(0), {1 / total, e / total, e * e / total, e * e * e / total}));
  CHECK(test::occur(row(1), {0, 1. / 3, 1. / 3, 1. / 3}));
  CHECK(test::occur(row(2), {1 / (2 + e), 1 / (2 + e), e / (2 + e), 0}));
  CHECK(test::occur(row(3), {0, 1, 0, 0}));
  const std::vector<double> one = sample("class");
  REQUIRE(one.size() == 4);
  CHECK((one[1] > 0 && one[2] < 3 && one[3] == 1));
}

namespace {
constexpr void parameters(tf::Graph& g) {
  auto mean = tf::placeholder<double, 3>(g, "mean");
  auto deviation = tf::placeholder<double, 3>(g, "deviation");
  auto z = tf::random_normal<double, 5, 3>(g, "z");
  auto x = (mean + deviation * z).named("x");
  auto [of_mean, of_deviation] = gradients(sum(square(x)), mean, deviation);
  of_mean.named("of_mean");
  of_deviation.named("of_deviation");
}
}  // namespace

TEST_CASE("gradients for the parameters of normal numbers use the numbers that were drawn") {
  const tf::HostTensors in{{"mean", test::doubles({3}, {1, 2, 3})},
                           {"deviation", test::doubles({3}, {2, 0.5, 0})}};
  const test::Outcome got = test::Kernels<parameters, tf::debug>().run(in);
  for (int k = 0; k < 3; ++k) {
    double of_mean = 0;
    double of_deviation = 0;
    for (int i = 0; i < 5; ++i) {
      of_mean += 2 * got.at("x").value(3 * i + k);
      of_deviation += 2 * got.at("x").value(3 * i + k) * got.at("z").value(3 * i + k);
    }
    CHECK(got.at("of_mean").value(k) == doctest::Approx(of_mean));
    CHECK(got.at("of_deviation").value(k) == doctest::Approx(of_deviation));
  }
}
