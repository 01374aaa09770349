// SPDX-License-Identifier: Apache-2.0

// Distributions where formulas written down as they are would cancel, overflow or underflow, in
// float and in double. The expected numbers are mpmath's, with 30 digits and more.

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "support/check_gradients.hpp"
#include "typeflow/distributions.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;
constexpr double inf = tfd::detail::infinity;

/// Checks that f(g, T{}) is these numbers, with errors of `ulps` epsilons of T: for each, or one
/// for all.
template <class T, class F>
void check_in(const F& f, const std::vector<double>& expected, const std::vector<double>& ulps) {
  tf::Graph g;
  f(g, T{}).named("y");
  const tf::HostTensor y = tf::interpret(g, {}, {}, {7, 0}).at("y");
  REQUIRE(static_cast<std::size_t>(y.size()) == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = y.value(static_cast<std::int64_t>(i));
    CAPTURE((std::is_same_v<T, float> ? "float" : "double"));
    CAPTURE(i);
    CAPTURE(got);
    CAPTURE(expected[i]);
    CHECK(std::abs(got - expected[i]) <= ulps[i % ulps.size()] *
                                             double{std::numeric_limits<T>::epsilon()} *
                                             std::abs(expected[i]));
  }
}
template <class F>
void check(const F& f, const std::vector<double>& expected, const std::vector<double>& ulps) {
  check_in<float>(f, expected, ulps);
  check_in<double>(f, expected, ulps);
}

/// The mean, variance and entropy; then log_prob, cdf and survival_function of two points.
template <class T>
auto numbers(tf::Graph& g, const double (&p)[6]) {
  const auto at = [&](int i) { return tf::constant<T, 1>(g, {static_cast<T>(p[i])}); };
  const tfd::TruncatedNormal d(at(0), at(1), at(2), at(3));
  const auto u = at(4);
  const auto v = at(5);
  return concat<0>(d.mean(), d.variance(), d.entropy(), d.log_prob(u), d.cdf(u),
                   d.survival_function(u), d.log_prob(v), d.cdf(v), d.survival_function(v));
}
template <class T>
void check_truncated(const double (&p)[6], const std::vector<double>& expected,
                     const std::vector<double>& ulps) {
  check_in<T>([&](tf::Graph& g, auto zero) { return numbers<decltype(zero)>(g, p); }, expected,
              ulps);
}

}  // namespace

TEST_CASE("TruncatedNormal: a scale much wider than the interval loses no digits") {
  const auto both = [](const double(&p)[6], const std::vector<double>& expected) {
    check_truncated<float>(p, expected, {12});
    check_truncated<double>(p, expected, {12});
  };
  both({0, 10000, -1, 2, -0.5, 1.5},
       {0.49999999625000001, 0.74999999774999999, 1.0986122886681097, -1.0986122849181097,
        0.16666666701388889, 0.83333333298611111, -1.0986122949181097, 0.83333333506944444,
        0.16666666493055556});
  both({3, 8, 2.5, 3.25, 2.625, 3.125},
       {2.8750915259118203, 0.046861263502018648, -0.28768221544305985, 0.2870715778680681,
        0.16649719202990801, 0.83350280797009199, 0.2880481403680681, 0.83329944436693042,
        0.16670055563306958});
  both({2, 1, 2.5, 2.75, 2.5625, 2.6875},
       {2.6217528842191802, 0.0051911767443525674, -1.3873094743156995, 1.4249902622053105,
        0.26431189910062551, 0.73568810089937449, 1.3468652622053105, 0.76490716403307948,
        0.23509283596692052});
  both({0, 0.5, 1, 1.0625, 1.015625, 1.03125},
       {1.0299094087450425, 0.0003242739475152472, -2.7753508930954425, 2.834437940183599,
        0.27452736873657587, 0.72547263126342413, 2.770473096433599, 0.53217156855530319,
        0.46782843144469681});
}

TEST_CASE("TruncatedNormal: far in a tail") {
  const std::vector<double> upper = {
      40.024968847207264, 0.00062266837859138877, -2.690126536403841,
      3.3769729629709904, 0.26854938129472714,    0.73145061870527286,
      1.1875503555491154, 0.91820281613644039,    0.081797183863559608};
  const std::vector<double> lower = {
      -40.024968847207264, 0.00062266837859138877, -2.690126536403841,
      3.3769729629709904,  0.73145061870527286,    0.26854938129472714,
      1.1875503555491154,  0.081797183863559608,   0.91820281613644039};
  // The variance is the small difference of large numbers, and has no digits in float.
  const std::vector<double> ulps = {2000, 1e11, 1e8, 2000, 2000, 2000, 2000, 2000, 2000};
  check_truncated<double>({0, 1, 40, 42, 40.0078125, 40.0625}, upper, ulps);
  check_truncated<double>({0, 1, -42, -40, -40.0078125, -40.0625}, lower, ulps);
  check_truncated<float>({0, 1, 40, 42, 40.0078125, 40.0625}, upper, ulps);
  check_truncated<float>({0, 1, -42, -40, -40.0078125, -40.0625}, lower, ulps);
}

TEST_CASE("TruncatedNormal: gradients where the interval is narrow, and with infinite bounds") {
  const auto all = [](const auto& d, const auto& x) {
    return d.mean() + 2 * d.variance() + 3 * d.entropy() + d.log_prob(x) + d.cdf(x) -
           2 * d.survival_function(x);
  };
  test::check_gradients<tf::Shape<>, tf::Shape<>, tf::Shape<>>(
      [&](auto loc, auto scale, auto x) {
        return all(tfd::TruncatedNormal(loc, 5 + scale, -0.25, 1.25), x);
      },
      {0.3, 0.9});
  test::check_gradients<tf::Shape<>, tf::Shape<>, tf::Shape<>>(
      [&](auto loc, auto scale, auto x) {
        return all(tfd::TruncatedNormal(loc, scale, 0.25, inf), x) +
               all(tfd::TruncatedNormal(loc, scale, -inf, 1.25), x);
      },
      {0.3, 0.9});
}

TEST_CASE("StudentT: quantiles and distribution functions of heavy tails") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const auto df =
            tf::constant<T, 6>(g, {T(0.125), T(0.125), T(0.5), T(0.0625), T(0.015625), T(3)});
        return tfd::StudentT(df, 0, 1).quantile(tf::constant<T, 6>(
            g, {T(0x1p-10), T(0x1p-15), T(0x1p-30), T(0.25), T(0.4375), T(0x1p-20)}));
      },
      {-8.7508892232843712e+20, -9.6217044543808553e+32, -1.1857695714150706e+17,
       -8395.8812937389492, -323.68584002611617, -104.94608499049872},
      {200});
  const auto at = [](tf::Graph& g, auto zero, const auto& f) {
    using T = decltype(zero);
    const tfd::StudentT d(tf::constant<T, 3>(g, {T(0.125), T(0.5), T(2.5)}), 0, 1);
    return f(d, tf::constant<T, 3>(g, {T(-0x1p90), T(-0x1p40), T(-0x1p30)}));
  };
  check(
      [&](tf::Graph& g, auto zero) {
        return at(g, zero, [](const auto& d, const auto& x) { return d.cdf(x); });
      },
      {0.00016629114184106541, 3.0584428349897661e-7, 1.904076382287812e-23}, {60});
  check(
      [&](tf::Graph& g, auto zero) {
        return at(g, zero, [](const auto& d, const auto& x) { return d.log_prob(x); });
      },
      {-73.164458231398111, -43.419224144928187, -72.193584771474936}, {4});
  // By the points and the degrees of freedom.
  test::check_gradients<tf::Shape<>, tf::Shape<>>(
      [](auto df, auto x) { return 1e3 * tfd::StudentT(df, 0, 1).cdf(-1e9 * x); }, {0.3, 0.9});
  test::check_gradients<tf::Shape<>, tf::Shape<>>(
      [](auto df, auto p) { return log(-tfd::StudentT(0.1 * df, 0, 1).quantile(0.1 * p)); },
      {0.3, 0.9});
}

TEST_CASE("Cauchy: the density where the square overflows") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::Cauchy(tf::constant<T>(g, 0), 1).log_prob(T(0x1p90));
      },
      {-125.91122238663956}, {2});
}

TEST_CASE("Weibull: the variance of a large concentration") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const auto k = tf::constant<T, 5>(g, {T(0.5), T(17), T(100), T(10000), T(1000000)});
        return tfd::Weibull(k, 2).variance();
      },
      {80, 0.019758813601025622, 0.0006412196648010445, 6.5780155051289506e-8,
       6.5797190551308648e-12},
      {20});
  check([](tf::Graph& g,
           auto zero) { return tfd::Weibull(tf::constant<decltype(zero)>(g, 16), 2).variance(); },
        {0.02212605053520137}, {400});
  test::check_gradients<tf::Shape<3>>([](auto k) { return tfd::Weibull(20 * k, 2).variance(); },
                                      {0.3, 1.2});
}

TEST_CASE("log_survival_function: where the survival function underflows") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::HalfNormal(tf::constant<T>(g, 2))
            .log_survival_function(tf::constant<T, 3>(g, {T(0.5), T(6), T(100)}));
      },
      {-0.21991458425118975, -5.9145790409504042, -1254.13821395886}, {6});
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::Gumbel(tf::constant<T>(g, 0), 1)
            .log_survival_function(tf::constant<T, 5>(g, {T(-3), T(3), T(37), T(45), T(1000)}));
      },
      {-1.8921786966284627e-9, -3.0247902549765607, -37, -45, -1000}, {40});
}

TEST_CASE("VonMises: the density of a large concentration") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::VonMises(tf::constant<T>(g, 0), 1000000).log_prob(T(0x1p-10));
      },
      {5.51197950046988818}, {8});
}
