// SPDX-License-Identifier: Apache-2.0

// Discrete distributions, and those over classes, beside SciPy's values.

#include <doctest/doctest.h>

#include <limits>
#include <numbers>
#include <vector>

#include "unit/distributions/expected.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;
using test::column;
using test::name_all;

void counts(tf::Graph& g) {
  auto p = tf::constant<double, 3>(g, {0.2, 0.65, 0.9});
  name_all(g, "bernoulli", tfd::Bernoulli(tfd::probs(p)), column(g, {-1, 0, 1, 2}));
  auto n = tf::constant<double, 3>(g, {5, 20, 300});
  name_all(g, "binomial", tfd::Binomial(n, tfd::probs(p)), column(g, {-1, 0, 3, 5, 18, 280}));
  auto rate = tf::constant<double, 3>(g, {0.5, 4.2, 60.5});
  name_all(g, "poisson", tfd::Poisson(rate), column(g, {-1, 0, 1, 6, 55}));
}

/// The same from logits.
void counts_of_logits(tf::Graph& g) {
  auto p = tf::constant<double, 3>(g, {0.2, 0.65, 0.9});
  auto x = log(p) - log1p(-p);
  name_all(g, "bernoulli", tfd::Bernoulli(tfd::logits(x)), column(g, {-1, 0, 1, 2}));
  auto n = tf::constant<double, 3>(g, {5, 20, 300});
  name_all(g, "binomial", tfd::Binomial(n, tfd::logits(x)), column(g, {-1, 0, 3, 5, 18, 280}));
}

template <bool Logits>
void classes(tf::Graph& g) {
  auto p = tf::constant<double, 2, 3>(g, {0.5, 0.2, 0.3, 0.1, 0, 0.9});
  const auto make = [&](const auto& rows) {
    if constexpr (Logits) {
      return tfd::Categorical(tfd::logits(log(rows) + 3));
    } else {
      return tfd::Categorical(tfd::probs(rows));
    }
  };
  {
    tf::Scope in(g, "categorical");
    const auto d = make(p);
    auto k = tf::constant<std::int32_t, 3, 1>(g, {0, 1, 2});
    d.log_prob(k).named("log_prob");
    d.cdf(k).named("cdf");
    d.quantile(column(g, {1e-9, 0.03, 0.45, 0.8, 0.999})).named("quantile");
    d.entropy().named("entropy");
  }
  tf::Scope in(g, "multinomial");
  auto row = tf::constant<double, 3>(g, {0.5, 0.2, 0.3});
  const auto d = [&] {
    if constexpr (Logits) {
      return tfd::Multinomial(6, tfd::logits(log(row) - 2));
    } else {
      return tfd::Multinomial(6, tfd::probs(row));
    }
  }();
  d.log_prob(tf::constant<std::int32_t, 3, 3>(g, {2, 1, 3, 6, 0, 0, 1, 1, 1})).named("log_prob");
  d.mean().named("mean");
  d.variance().named("variance");
  d.covariance().named("covariance");
  d.entropy().named("entropy");
}

/// Entropies and quantiles of few and of many counts, near both ends and between.
void many_counts(tf::Graph& g) {
  tf::Scope in(g, "counts");
  auto rates = tf::constant<double, 6>(g, {1e-6, 0.01, 2.5, 999, 9999, 20000});
  auto levels = tf::constant<double, 8>(g, {1e-15, 1e-12, 0.1, 0.25, 0.5, 0.9, 0.99999, 1 - 1e-12});
  tfd::Poisson(rates).entropy().named("poisson_entropy");
  tfd::Poisson(expand_dims<-1>(rates)).quantile(levels).named("poisson_quantile");
  auto trials = column(g, {1, 7, 300, 39000, 50000});
  auto chances = tf::constant<double, 5>(g, {1e-6, 0.02, 0.5, 0.75, 0.9999});
  tfd::Binomial(trials, tfd::probs(chances)).entropy().named("binomial_entropy");
  tfd::Binomial(expand_dims<-1>(trials), tfd::probs(expand_dims<-1>(chances)))
      .quantile(levels)
      .named("binomial_quantile");
  auto shares = tf::constant<double, 4, 3>(
      g, {0.5, 0.2, 0.3, 1, 0, 0, 0.001, 0.998, 0.001, 1 / 3., 1 / 3., 1 / 3.});
  tfd::Multinomial(column(g, {0, 1, 2, 40, 1000, 30000}), tfd::probs(shares))
      .entropy()
      .named("multinomial_entropy");
}

void dirichlet(tf::Graph& g) {
  tf::Scope in(g, "dirichlet");
  tfd::Dirichlet d(tf::constant<double, 3>(g, {1.5, 2, 4}));
  d.log_prob(tf::constant<double, 2, 3>(g, {0.2, 0.3, 0.5, 0.7, 0.2, 0.1})).named("log_prob");
  d.mean().named("mean");
  d.mode().named("mode");
  d.variance().named("variance");
  d.covariance().named("covariance");
  d.entropy().named("entropy");
}

/// Values that no draw can have, and probabilities of 0 and 1.
void edges(tf::Graph& g) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto x = column(g, {0.5, inf, nan});
  auto ends = tf::constant<double, 2>(g, {0, 1});
  tfd::Bernoulli sure(tfd::probs(ends));
  sure.log_prob(x).named("bernoulli");
  sure.log_prob(column(g, {0, 1})).named("sure");
  sure.entropy().named("sure_entropy");
  tfd::Bernoulli rare(tfd::probs(tf::constant<double>(g, 1e-20)));
  auto steps = tf::constant<double, 4>(g, {-1, 0, 1, nan});
  rare.survival_function(steps).named("rare_survival");
  rare.log_survival_function(steps).named("rare_log_survival");
  tfd::Bernoulli(tfd::logits(tf::constant<double>(g, 50))).log_cdf(steps).named("usual_log_cdf");
  auto levels = column(g, {0, 1, -0.1, nan});
  tfd::Bernoulli(tfd::probs(0.5 * ends + 0.25)).quantile(levels).named("bernoulli_quantile");
  tfd::Categorical(tfd::probs(0.5 * ends + 0.25)).quantile(levels).named("categorical_quantile");
  tfd::Binomial(4, tfd::probs(ends)).log_prob(column(g, {0, 4, 2})).named("sure_binomial");
  tfd::Binomial(4, tfd::probs(ends)).cdf(column(g, {0, 4, 2})).named("sure_binomial_cdf");
  tfd::Binomial(4, tfd::probs(ends)).log_prob(x).named("binomial");
  tfd::Binomial(4, tfd::probs(0.5 * ends + 0.25)).quantile(levels).named("binomial_quantile");
  tfd::Binomial(39000, tfd::probs(tf::constant<double>(g, 0.02)))
      .quantile(1e-300)
      .named("far_binomial_quantile");
  tfd::Binomial(4, tfd::probs(ends)).quantile(0.5).named("sure_binomial_quantile");
  tfd::Binomial(tf::constant<double, 5>(g, {0, 4, 2.5, -1, nan}), tfd::probs(sum(ends) / 4))
      .entropy()
      .named("binomial_entropy");
  tfd::Binomial(4, tfd::probs(ends)).entropy().named("sure_binomial_entropy");
  tfd::Poisson(ends).quantile(levels).named("poisson_quantile");
  tfd::Poisson(tf::constant<double, 4>(g, {0, inf, -1, nan})).entropy().named("poisson_entropy");
  tfd::Poisson(ends).log_prob(column(g, {0, 1})).named("sure_poisson");
  tfd::Poisson(ends + 1).log_prob(x).named("poisson");
  tfd::Categorical(tfd::probs(ends))
      .log_prob(tf::constant<double, 5>(g, {0, 1, 2, -1, nan}))
      .named("categorical");
}

}  // namespace

TEST_CASE("Bernoulli, binomial and Poisson distributions have SciPy's values") {
  test::check_expected(counts, {"bernoulli", "binomial", "poisson"});
  test::check_expected(counts_of_logits, {"bernoulli", "binomial"});
}

TEST_CASE("distributions over classes have SciPy's values") {
  test::check_expected(classes<false>, {"categorical", "multinomial"});
  test::check_expected(classes<true>, {"categorical", "multinomial"});
  test::check_expected(dirichlet, {"dirichlet"});
}

TEST_CASE("entropies and quantiles of counts are SciPy's, for few and for many counts") {
  test::check_expected(many_counts, {"counts"}, 1e-9);
}

// Both are the same function of doubles, so no rounding moves the number.
TEST_CASE("the quantile of the distribution function at a whole number is that number") {
  tf::Graph g;
  auto k = column(g, {0, 1, 2, 3, 5, 8, 13, 21, 34, 40});
  tfd::Poisson poisson(tf::constant<double, 3>(g, {0.5, 4.2, 30}));
  tfd::Binomial binomial(40, tfd::probs(tf::constant<double, 3>(g, {0.2, 0.65, 0.9})));
  const auto worst = [&](const auto& d) {  // where the next number's cdf is another one
    const auto p = d.cdf(k);
    return max(abs(where(logical_and(less(p, 1), less(d.cdf(k - 1), p)), d.quantile(p) - k, 0)));
  };
  worst(poisson).named("poisson");
  worst(binomial).named("binomial");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  CHECK(y.at("poisson").value(0) == 0);
  CHECK(y.at("binomial").value(0) == 0);
}

TEST_CASE("impossible values have probability 0, sure ones 1, and NaN stays NaN") {
  tf::Graph g;
  edges(g);
  const tf::HostTensors results = tf::interpret(g, {}, {}, {7, 0});
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto check = [&](const char* name, const std::vector<double>& expected,
                         double tolerance = 1e-12) {
    CAPTURE(name);
    const tf::HostTensor& x = results.at(name);
    REQUIRE(x.size() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(test::near(x.value(static_cast<std::int64_t>(i)), expected[i], tolerance));
    }
  };
  check("bernoulli", {-inf, -inf, -inf, -inf, nan, nan});
  check("sure", {0, -inf, -inf, 0});
  check("sure_entropy", {0, 0});
  check("rare_survival", {1, 1e-20, 0, nan}, 1e-32);
  check("rare_log_survival", {0, -20 * std::numbers::ln10, -inf, nan});
  check("usual_log_cdf", {-inf, -50, 0, nan});  // -log(1 + e^50)
  check("bernoulli_quantile", {0, 0, 1, 1, nan, nan, nan, nan});
  check("categorical_quantile", {0, 1, nan, nan});
  check("sure_binomial", {0, -inf, -inf, 0, -inf, -inf});
  check("sure_binomial_cdf", {1, 0, 1, 1, 1, 0});
  check("binomial", {-inf, -inf, -inf, -inf, nan, nan});
  check("binomial_quantile", {0, 0, 4, 4, nan, nan, nan, nan});
  check("sure_binomial_quantile", {0, 4});
  check("sure_binomial_entropy", {0, 0});
  // Of 4 trials of 1/4: the sum of the five terms.
  check("binomial_entropy", {0, 1.221565833660, nan, nan, nan}, 1e-11);
  check("far_binomial_quantile", {22});  // mpmath: cdf(21) = 1.09e-301, cdf(22) = 3.93e-300
  check("poisson_quantile", {0, 0, 0, inf, nan, nan, nan, nan});
  check("poisson_entropy", {0, inf, nan, nan});
  check("sure_poisson", {0, -1, -inf, -1});
  check("poisson", {-inf, -inf, -inf, -inf, nan, nan});
  check("categorical", {-inf, 0, -inf, -inf, nan});
}
