// SPDX-License-Identifier: Apache-2.0

// The distributions of typeflow/random.hpp, against cumulative distribution functions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <typeflow/random.hpp>
#include <typeflow/special_functions.hpp>

#include "peers/distributions.hpp"
#include "support/check_random.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr int n = 20000;

constexpr void model(tf::Graph& g) {
  tf::random_exponential<float, n>(g, "exponential", 4);
  auto shapes = tf::constant<double, 4>(g, {0.5, 3, 0, 1e-3});
  random_gamma(broadcast_to<n, 4>(shapes), "gamma");
  random_gamma(tf::constant<float, 2>(g, {2, -1}), "float_gamma");
  random_beta(broadcast_to<n, 3>(tf::constant<double, 3>(g, {2, 0.5, 1e-3})),
              tf::constant<double, 3>(g, {3, 0.5, 1e-3}), "beta");
  auto rates = tf::constant<float, 5>(g, {0, 2.5, 10, 300, -1});
  random_poisson(broadcast_to<n, 5>(rates), "poisson");
  auto trials = tf::constant<float, 7>(g, {0, 7, 1000, 50, 50, 400, 2.5f});
  auto chances = tf::constant<float, 7>(g, {0.5f, 0, 0.003f, 0.5f, 0.95f, 0.25f, 0.5f});
  random_binomial(broadcast_to<n, 7>(trials), chances, "binomial");
  random_binomial(tf::constant<double, 3>(g, {5, 5, -1}), tf::constant<double, 3>(g, {1, 1.5, 0.5}),
                  "binomial_ends");
  auto concentrations = tf::constant<double, 7>(g, {0, 1e-6, 0.5, 4, 900, 4e6, -1});
  random_von_mises(broadcast_to<n, 7>(concentrations), "von_mises");
}

/// What seed 7 gives in draw 0, which the interpreter must agree with, in columns.
std::vector<std::vector<double>> columns(const std::string& name, double tolerance = 0) {
  static const test::Outcome kernels = test::Kernels<model>(3).run({});
  static const tf::HostTensors interpreted = [] {
    tf::Graph g;
    model(g);
    return tf::interpret(g, {}, {}, {7, 0});
  }();
  const tf::HostTensor& x = kernels.at(name);
  test::check_close(name, x, interpreted.at(name), tolerance);
  const std::int64_t width = x.dims.rank == 2 ? x.dims[1] : 1;
  std::vector<std::vector<double>> out(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    out[static_cast<std::size_t>(i % width)].push_back(x.value(i));
  }
  return out;
}

}  // namespace

TEST_CASE("random_exponential: values") {
  const std::vector<double> x = columns("exponential", 1e-6)[0];
  CHECK(test::follows(x, [](double t) { return 1 - std::exp(-4 * t); }));
}

TEST_CASE("random_gamma: values") {
  const auto x = columns("gamma");
  CHECK(test::follows(x[0], [](double t) { return std::erf(std::sqrt(t)); }));
  CHECK(test::follows(x[1], [](double t) { return 1 - std::exp(-t) * (1 + t + t * t / 2); }));
  for (const double e : x[2]) CHECK(std::isnan(e));
  // Of a small shape nearly half of the numbers are too small for a double. F(x) = about x^alpha.
  const auto share = [&](double t) {
    return static_cast<double>(
               std::count_if(x[3].begin(), x[3].end(), [=](double e) { return e <= t; })) /
           n;
  };
  CHECK(std::abs(share(0) - std::pow(2, -1.075)) < 4 * std::sqrt(0.25 / n));
  CHECK(std::abs(share(1e-100) - std::pow(10, -0.1)) < 4 * std::sqrt(0.16 / n));
  const auto small = columns("float_gamma")[0];
  CHECK(small[0] > 0);
  CHECK(std::isnan(small[1]));
}

TEST_CASE("random_beta: values") {
  const auto x = columns("beta", 1e-12);
  CHECK(
      test::follows(x[0], [](double t) { return 6 * t * t - 8 * t * t * t + 3 * t * t * t * t; }));
  CHECK(
      test::follows(x[1], [](double t) { return 2 / std::numbers::pi * std::asin(std::sqrt(t)); }));
  int ends[2] = {};  // for small shapes nearly all are next to 0 or 1
  for (const double t : x[2]) {
    CHECK((t >= 0 && t <= 1));
    ends[0] += t < 0.01;
    ends[1] += t > 0.99;
  }
  CHECK(std::abs(ends[0] - n / 2) < 4 * std::sqrt(n) / 2 + 100);
  CHECK(std::abs(ends[1] - n / 2) < 4 * std::sqrt(n) / 2 + 100);
}

TEST_CASE("random_poisson: values") {
  const auto x = columns("poisson");
  const double rate[] = {0, 2.5, 10, 300};
  for (const double e : x[0]) CHECK(e == 0);
  for (const double e : x[4]) CHECK(std::isnan(e));
  for (std::size_t k = 1; k < 4; ++k) {
    CAPTURE(rate[k]);
    double total = 0;
    double squares = 0;
    std::vector<double> count(2000);
    for (const double e : x[k]) {
      REQUIRE((e >= 0 && e < 2000 && e == std::floor(e)));
      total += e / n;
      squares += (e - rate[k]) * (e - rate[k]) / n;
      ++count[static_cast<std::size_t>(e)];
    }
    CHECK(std::abs(total - rate[k]) < 4 * std::sqrt(rate[k] / n));
    const double fourth = rate[k] * (1 + 3 * rate[k]);
    CHECK(std::abs(squares - rate[k]) < 4 * std::sqrt((fourth - rate[k] * rate[k]) / n));
    double below = 0;  // the distribution function, and the sample's
    double seen = 0;
    double distance = 0;
    for (std::size_t e = 0; e < count.size(); ++e) {
      const auto t = static_cast<double>(e);
      below += std::exp(t * std::log(rate[k]) - rate[k] - std::lgamma(t + 1));
      seen += count[e] / n;
      distance = std::max(distance, std::abs(below - seen));
    }
    CHECK(distance * std::sqrt(n) < 2);
  }
}

TEST_CASE("random_binomial: values") {
  const auto x = columns("binomial");
  const double trials[] = {0, 7, 1000, 50, 50, 400};
  const double chance[] = {0.5, 0, 0.003f, 0.5, 0.95f, 0.25};
  for (std::size_t c = 0; c < 6; ++c) {
    CAPTURE(c);
    std::vector<double> probability(static_cast<std::size_t>(trials[c]) + 1);
    for (std::size_t i = 0; i < probability.size(); ++i) {
      const auto k = static_cast<double>(i);
      const double rest = trials[c] - k;
      const double ways = std::lgamma(trials[c] + 1) - std::lgamma(k + 1) - std::lgamma(rest + 1);
      probability[i] = std::exp(ways) * std::pow(chance[c], k) * std::pow(1 - chance[c], rest);
    }
    // Rare numbers together: counts of less than five are not near to normal.
    std::vector<double> sample = x[c];
    double rare = 0;
    for (double& p : probability) {
      if (p * n < 5) rare += std::exchange(p, 0);
    }
    double outside = 0;
    for (double& e : sample) {
      REQUIRE((e >= 0 && e <= trials[c] && e == std::floor(e)));
      if (probability[static_cast<std::size_t>(e)] > 0) continue;
      ++outside;
      e = static_cast<double>(probability.size());
    }
    probability.push_back(rare);
    CHECK(std::abs(outside - n * rare) <= 4 * std::sqrt(n * rare) + 2);
    probability.back() = outside / n;
    CHECK(test::occur(sample, probability));
  }
  for (const double e : x[6]) CHECK(std::isnan(e));  // 2.5 trials
  const auto ends = columns("binomial_ends")[0];
  CHECK(ends[0] == 5);
  CHECK(std::isnan(ends[1]));
  CHECK(std::isnan(ends[2]));
}

TEST_CASE("random_von_mises: values") {
  const auto x = columns("von_mises", 1e-12);
  const double concentration[] = {0, 1e-6, 0.5, 4, 900, 4e6};
  for (std::size_t c = 0; c < 6; ++c) {
    CAPTURE(concentration[c]);
    // The distribution function by the trapezoid rule, within 12 deviations.
    const double kappa = concentration[c];
    const double width = std::fmin(std::numbers::pi, 12 / std::sqrt(kappa + 1e-9));
    constexpr int steps = 4000;
    std::vector<double> below(steps + 1);
    const auto density = [&](double t) { return std::exp(kappa * (std::cos(t) - 1)); };
    for (int i = 1; i <= steps; ++i) {
      const double t = width * (2. * i / steps - 1);
      below[static_cast<std::size_t>(i)] =
          below[static_cast<std::size_t>(i - 1)] + density(t) + density(t - 2 * width / steps);
    }
    CHECK(test::follows(x[c], [&](double t) {
      const double at = std::fmin(std::fmax((t / width + 1) / 2, 0), 1) * steps;
      const auto i = std::min(static_cast<std::size_t>(at), std::size_t{steps - 1});
      const double part = at - static_cast<double>(i);
      return ((1 - part) * below[i] + part * below[i + 1]) / below[steps];
    }));
  }
  for (const double e : x[6]) CHECK(std::isnan(e));
}

// By mpmath 1.3 in 40 digits, from its regularised incomplete gamma function.
TEST_CASE("slopes of gamma quantiles are the implicit function's, far out and for large shapes") {
  struct Known {
    double alpha, x, slope;
  };
  for (const auto& [alpha, x, slope] : {Known{0.5, 0.25, 0.90801449176411132},
                                        {0.01, 1e-30, 6.85166673319527e-27},
                                        {1, 3, 1.937911693824961},
                                        {3, 2.5, 0.96336182883997331},
                                        {3, 12, 1.9494128178020728},
                                        {40, 35, 0.93862102027777458},
                                        {2000, 2100, 1.0246788279417405},
                                        {20000, 19800, 0.99499154103705217},
                                        {20000, 20500, 1.0124055527191023}}) {
    CAPTURE(alpha);
    CHECK(tf::ops::GammaSlope{{}, 0}(alpha, x) == doctest::Approx(slope).epsilon(1e-9));
    CHECK(tf::ops::GammaSlope{{}, 1}(alpha, std::log(x)) ==
          doctest::Approx(slope / x).epsilon(1e-9));
  }
  CHECK(tf::ops::GammaSlope{{}, 0}(0.001, 0.) == 0);
  CHECK(std::isnan(tf::ops::GammaSlope{{}, 0}(-1., 2.)));
  CHECK(std::isnan(tf::ops::GammaSlope{{}, 0}(1., static_cast<double>(NAN))));
}

namespace {
constexpr void model_of_gradients(tf::Graph& g) {
  auto alpha = tf::placeholder<double, 3>(g, "alpha");
  auto x = random_gamma(alpha, "x");
  gradients(sum(square(x)), alpha).named("of_alpha");
  auto a = tf::placeholder<double, 2>(g, "a");
  auto y = random_beta(broadcast_to<n, 2>(a), tf::constant<double>(g, 2), "y");
  gradients(mean(y), a).named("of_a");
}
}  // namespace

TEST_CASE("random_gamma: gradient") {
  const tf::HostTensors feeds{{"alpha", test::doubles({3}, {0.3, 1, 20})},
                              {"a", test::doubles({2}, {0.5, 3})}};
  const test::Outcome got = test::Kernels<model_of_gradients, tf::debug>().run(feeds);
  for (int i = 0; i < 3; ++i) {
    const double x = got.at("x").value(i);
    // The neighbouring shapes' quantiles at the distribution function of x, by bisection.
    const auto quantile = [&](double alpha, double p) {
      double low = 0;
      double high = 200;
      for (int step = 0; step < 200; ++step) {
        const double middle = (low + high) / 2;
        (tf::math::igamma(alpha, middle) < p ? low : high) = middle;
      }
      return low;
    };
    const double alpha = feeds.at("alpha").value(i);
    const double p = tf::math::igamma(alpha, x);
    const double slope = (quantile(alpha + 1e-4, p) - quantile(alpha - 1e-4, p)) / 2e-4;
    CHECK(got.at("of_alpha").value(i) == doctest::Approx(2 * x * slope).epsilon(1e-5));
  }
}

namespace {
constexpr void model_of_angles(tf::Graph& g) {
  auto k = tf::placeholder<double, 3>(g, "k");
  auto x = random_von_mises(broadcast_to<n, 3>(k), "x");
  mean<0>(cos(x)).named("cosine");
  gradients(sum(mean<0>(cos(x))), k).named("of_k");
}
}  // namespace

// By mpmath, peers/distributions.py.
TEST_CASE("slopes of von Mises quantiles are the implicit function's") {
  const auto& points = distribution_values::expected.at("angles/points");
  const auto& slopes = distribution_values::expected.at("angles/slope");
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const double k = points[2 * i];
    const double x = points[2 * i + 1];
    CAPTURE(k);
    CAPTURE(x);
    CHECK(tf::ops::VonMisesSlope{}(k, x) == doctest::Approx(slopes[i]).epsilon(1e-11));
    CHECK(tf::ops::VonMisesSlope{}(k, -x) == doctest::Approx(-slopes[i]).epsilon(1e-11));
  }
  CHECK(tf::ops::VonMisesSlope{}(3., 0.) == 0);
  CHECK(tf::ops::VonMisesSlope{}(1e8, 1e-4) == doctest::Approx(-1e-4 / 2e8));
  CHECK(std::isnan(tf::ops::VonMisesSlope{}(-1., 2.)));
  CHECK(std::isnan(tf::ops::VonMisesSlope{}(1., static_cast<double>(NAN))));
}

TEST_CASE("random_von_mises: gradient") {
  // The mean of cos(x) is A = I1(k) / I0(k), whose derivative is 1 - A / k - A^2.
  const tf::HostTensors feeds{{"k", test::doubles({3}, {0.3, 2, 40})}};
  const test::Outcome got = test::Kernels<model_of_angles, tf::debug>().run(feeds);
  for (int i = 0; i < 3; ++i) {
    const double k = feeds.at("k").value(i);
    const double a = std::cyl_bessel_i(1, k) / std::cyl_bessel_i(0, k);
    CHECK(got.at("cosine").value(i) == doctest::Approx(a).epsilon(0.02));
    CHECK(got.at("of_k").value(i) == doctest::Approx(1 - a / k - a * a).epsilon(0.02));
  }
}

TEST_CASE("random_beta: gradient") {
  // The mean of y is a / (a + 2), so that of its gradients is the derivative of that.
  const tf::HostTensors feeds{{"alpha", test::doubles({3}, {0.3, 1, 20})},
                              {"a", test::doubles({2}, {0.5, 3})}};
  const test::Outcome got = test::Kernels<model_of_gradients, tf::debug>().run(feeds);
  for (int i = 0; i < 2; ++i) {
    const double a = feeds.at("a").value(i);
    CHECK(got.at("of_a").value(i) == doctest::Approx(2 / ((a + 2) * (a + 2)) / 2).epsilon(0.03));
  }
}
