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

}  // namespace

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

TEST_CASE("VonMises: the density of a large concentration") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::VonMises(tf::constant<T>(g, 0), 1000000).log_prob(T(0x1p-10));
      },
      {5.51197950046988818}, {8});
}
