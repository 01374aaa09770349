// SPDX-License-Identifier: Apache-2.0

// Discrete distributions, and those over classes, beside SciPy's values.

#include <doctest/doctest.h>

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
  auto levels = column(g, {0, 1, -0.1, nan});
  tfd::Bernoulli(tfd::probs(0.5 * ends + 0.25)).quantile(levels).named("bernoulli_quantile");
  tfd::Categorical(tfd::probs(0.5 * ends + 0.25)).quantile(levels).named("categorical_quantile");
  tfd::Binomial(4, tfd::probs(ends)).log_prob(column(g, {0, 4, 2})).named("sure_binomial");
  tfd::Binomial(4, tfd::probs(ends)).cdf(column(g, {0, 4, 2})).named("sure_binomial_cdf");
  tfd::Binomial(4, tfd::probs(ends)).log_prob(x).named("binomial");
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

TEST_CASE("impossible values have probability 0, sure ones 1, and NaN stays NaN") {
  tf::Graph g;
  edges(g);
  const tf::HostTensors results = tf::interpret(g, {}, {}, {7, 0});
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto check = [&](const char* name, const std::vector<double>& expected) {
    CAPTURE(name);
    const tf::HostTensor& x = results.at(name);
    REQUIRE(x.size() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(test::near(x.value(static_cast<std::int64_t>(i)), expected[i], 1e-12));
    }
  };
  check("bernoulli", {-inf, -inf, -inf, -inf, nan, nan});
  check("sure", {0, -inf, -inf, 0});
  check("sure_entropy", {0, 0});
  check("bernoulli_quantile", {0, 0, 1, 1, nan, nan, nan, nan});
  check("categorical_quantile", {0, 1, nan, nan});
  check("sure_binomial", {0, -inf, -inf, 0, -inf, -inf});
  check("sure_binomial_cdf", {1, 0, 1, 1, 1, 0});
  check("binomial", {-inf, -inf, -inf, -inf, nan, nan});
  check("sure_poisson", {0, -1, -inf, -1});
  check("poisson", {-inf, -inf, -inf, -inf, nan, nan});
  check("categorical", {-inf, 0, -inf, -inf, nan});
}
