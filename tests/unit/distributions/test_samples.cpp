// SPDX-License-Identifier: Apache-2.0

// Draws: moments and distribution functions of large samples of a session with a fixed seed, and
// gradients through them.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/check_random.hpp"
#include "support/check_values.hpp"
#include "typeflow/distributions.hpp"
#include "typeflow/distributions/mixture_quantile.hpp"
#include "typeflow/linalg.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;

constexpr int n = 1'000'000;
constexpr double root = 1000;  // of n

/// Draws `u` of the distribution function at draws, which are uniform if both are right; and how
/// far the sample's mean and variance are from the distribution's, in standard errors.
template <class D>
constexpr void check_of(tf::Graph& g, tf::Label name, const D& d) {
  tf::Scope in(g, name);
  const auto x = d.template sample<n>();
  d.cdf(x).named("u");
  static_assert(std::is_same_v<typename D::batch_shape, tf::Shape<>>);
  if constexpr (requires { d.mean(); }) {
    const auto deviations = (x - d.mean()) / d.stddev();
    (mean(deviations) * root).named("mean");
    (mean(square(deviations)) - 1).named("variance");
  }
}

constexpr void first(tf::Graph& g) {
  const auto one = tf::constant<float>(g, 1);
  check_of(g, "normal", tfd::Normal(one, 2));
  check_of(g, "half_normal", tfd::HalfNormal(2 * one));
  check_of(g, "truncated_normal", tfd::TruncatedNormal(one, 2, 0.5, 4));
  check_of(g, "laplace", tfd::Laplace(one, 2));
  check_of(g, "logistic", tfd::Logistic(one, 2));
  check_of(g, "gumbel", tfd::Gumbel(one, 2));
  check_of(g, "uniform", tfd::Uniform(one, 3));
}
constexpr void second(tf::Graph& g) {
  const auto one = tf::constant<double>(g, 1);
  check_of(g, "student_t", tfd::StudentT(9 * one, 1, 2));
  check_of(g, "exponential", tfd::Exponential(2 * one));
  check_of(g, "gamma", tfd::Gamma(0.7 * one, 2));
  check_of(g, "inverse_gamma", tfd::InverseGamma(9 * one, 2));
  check_of(g, "beta", tfd::Beta(0.7 * one, 2));
  check_of(g, "pareto", tfd::Pareto(9 * one, 2));
  check_of(g, "weibull", tfd::Weibull(1.5 * one, 2));
}

/// Whether a million numbers u are uniform, and the sample's moments as they should be: within four
/// standard errors, which for the variance depend on the tails.
template <auto Model>
void check_samples(const std::vector<std::string>& names, double variance_error) {
  const test::Outcome results = test::Kernels<Model>(3).run({});
  for (const std::string& name : names) {
    CAPTURE(name);
    const tf::HostTensor& u = results.at(name + "/u");
    std::vector<double> sample;
    for (std::int64_t i = 0; i < u.size(); ++i) sample.push_back(u.value(i));
    CHECK(sample.size() == n);
    CHECK(test::follows(std::move(sample), [](double t) { return t; }));
    CHECK(std::abs(results.at(name + "/mean").value(0)) < 4);
    CHECK(std::abs(results.at(name + "/variance").value(0)) < variance_error);
  }
}

constexpr int rows = 200'000;

/// Means and covariances of vectors, beside what they must be.
constexpr void vectors(tf::Graph& g) {
  const auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  const auto l = tf::constant<double, 3, 3>(g, {1.2, 0, 0, -0.3, 0.7, 0, 0.5, 0.1, 1.6});
  const auto w = tf::constant<double, 3, 2>(g, {0.5, -0.2, 1, 0.3, -0.7, 0.4});
  const auto add = [&](tf::Label name, const auto& d) {
    tf::Scope in(g, name);
    const auto x = d.template sample<rows>();
    const auto centred = cast<double>(x) - d.mean();
    max(abs(mean<0>(centred) / d.stddev())).named("mean");
    const auto c = matmul<tf::transpose_a>(centred, centred) / static_cast<double>(rows);
    const auto scale = tf::expand_dims<-1>(d.stddev()) * tf::expand_dims<-2>(d.stddev());
    max(abs((c - d.covariance()) / scale)).named("covariance");
  };
  add("diag", tfd::MultivariateNormalDiag(loc, tf::constant<double, 3>(g, {0.5, 2, 1.25})));
  add("tril", tfd::MultivariateNormalTriL(loc, l));
  add("low_rank", tfd::MultivariateNormalLowRank(loc, 0.7, w));
  add("dirichlet", tfd::Dirichlet(tf::constant<double, 3>(g, {0.5, 2, 4})));
  const auto p = tf::constant<double, 3>(g, {0.5, 0.2, 0.3});
  const tfd::Multinomial counts(12, tfd::probs(p));
  add("multinomial", counts);
  max(abs(sum<1>(counts.sample<1000>()) - 12)).named("multinomial_total");
  const tfd::Wishart w5(5.5, l);
  const auto matrices = w5.sample<rows>();
  max(abs((mean<0>(matrices) - w5.mean()) / w5.stddev())).named("wishart_mean");
  max(abs(mean<0>(square((matrices - w5.mean()) / w5.stddev())) - 1)).named("wishart_variance");
}

/// Means and variances of numbers that have no smooth distribution function, and of mixtures.
constexpr void counts(tf::Graph& g) {
  const auto add = [&](tf::Label name, const auto& d) {
    tf::Scope in(g, name);
    const auto x = (cast<double>(d.template sample<n>()) - d.mean()) / d.stddev();
    (mean(x) * root).named("mean");
    (mean(square(x)) - 1).named("variance");
  };
  const auto p = tf::constant<double>(g, 0.3);
  add("bernoulli", tfd::Bernoulli(tfd::probs(p)));
  add("binomial", tfd::Binomial(40, tfd::probs(p)));
  add("poisson", tfd::Poisson(12 * p));
  const tfd::Categorical two(tfd::probs(tf::constant<double, 2>(g, {0.3, 0.7})));
  add("mixture",
      tfd::MixtureSameFamily(two, tfd::Normal(tf::constant<double, 2>(g, {-1, 2}), 0.5)));
  add("exponential", tfd::independent<0>(tfd::Exponential(p)));
  const auto k = tfd::Categorical(tfd::logits(log(tf::constant<double, 3>(g, {1, 5, 4}))));
  mean<0>(tf::one_hot<3, -1, double>(k.sample<n>())).named("shares");
  const tfd::VonMises angles(3 * p + 2, 2);
  const auto x = angles.sample<n>();
  (mean(sin(x - angles.loc)) * root).named("sine");
  (mean(cos(x - angles.loc)) - 1 + angles.variance()).named("cosine");
  max(abs(x)).named("largest_angle");
}

/// Entropies, quantiles and distribution functions, of floats.
constexpr void functions(tf::Graph& g) {
  const auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  const auto level = sigmoid(x).named("level");
  const auto rate = 3 * exp(x);
  const auto trials = floor(4 * square(x));
  const tfd::Poisson poisson(rate);
  poisson.entropy().named("poisson_entropy");
  gradients(sum(poisson.entropy()), x).named("poisson_slope");
  poisson.quantile(level).named("poisson_quantile");
  const tfd::Binomial binomial(trials, tfd::logits(x));
  binomial.entropy().named("binomial_entropy");
  gradients(sum(binomial.entropy()), x).named("binomial_slope");
  binomial.quantile(0.3f).named("binomial_quantile");
  const tfd::Multinomial multinomial(max<1>(trials), tfd::logits(x));
  multinomial.entropy().named("multinomial_entropy");
  gradients(sum(multinomial.entropy()), x).named("multinomial_slope");
  const tfd::VonMises angles(0.5f, rate);
  angles.cdf(x).named("von_mises_cdf");
  angles.quantile(level).named("von_mises_quantile");
  gradients(sum(angles.cdf(x)), x).named("von_mises_slope");
  const tfd::MixtureSameFamily mixture(tfd::Categorical(tfd::logits(x)), tfd::Logistic(x, 0.3f));
  mixture.quantile(0.2f).named("mixture_quantile");
  gradients(sum(mixture.quantile(0.2f)), x).named("mixture_slope");
  mixture.log_survival_function(0.4f).named("mixture_log_survival");
}

/// The largest sizes of so many draws that the smallest uniform number of 24 bits is among them.
constexpr void rare(tf::Graph& g) {
  const auto zero = tf::constant<float>(g, 0);
  const auto largest = [](const auto& d) { return max(abs(d.template sample<1 << 26>())); };
  largest(tfd::Laplace(zero, 1)).named("laplace");
  largest(tfd::Logistic(zero, 1)).named("logistic");
  largest(tfd::Cauchy(zero, 1)).named("cauchy");
}

}  // namespace

TEST_CASE("functions of distributions: kernels compute what the interpreter does") {
  for (const std::int64_t batch : {0, 1, 13}) {
    test::check_against_interpreter<functions>(batch, 2e-5);
    test::check_threads<functions>(batch);
  }
}

TEST_CASE("a million draws have the distribution function, mean and variance: all numbers") {
  check_samples<first>(
      {"normal", "half_normal", "truncated_normal", "laplace", "logistic", "gumbel", "uniform"},
      0.012);
}

TEST_CASE("a million draws have the distribution function, mean and variance: tails") {
  check_samples<second>(
      {"student_t", "exponential", "gamma", "inverse_gamma", "beta", "pareto", "weibull"}, 0.03);
}

TEST_CASE("draws of vectors have the mean and the covariance") {
  const test::Outcome y = test::Kernels<vectors>(3).run({});
  for (const std::string name : {"diag", "tril", "low_rank", "dirichlet", "multinomial"}) {
    CAPTURE(name);
    CHECK(y.at(name + "/mean").value(0) < 0.01);
    CHECK(y.at(name + "/covariance").value(0) < 0.02);
  }
  CHECK(y.at("multinomial_total").value(0) == 0);
  CHECK(y.at("wishart_mean").value(0) < 0.01);
  CHECK(y.at("wishart_variance").value(0) < 0.04);
}

TEST_CASE("draws of counts, classes, angles and mixtures have the moments") {
  const test::Outcome y = test::Kernels<counts>(3).run({});
  for (const std::string name : {"bernoulli", "binomial", "poisson", "mixture", "exponential"}) {
    CAPTURE(name);
    CHECK(std::abs(y.at(name + "/mean").value(0)) < 4);
    CHECK(std::abs(y.at(name + "/variance").value(0)) < 0.012);
  }
  const double share[] = {0.1, 0.5, 0.4};
  for (int k = 0; k < 3; ++k) CHECK(std::abs(y.at("shares").value(k) - share[k]) < 0.002);
  CHECK(std::abs(y.at("sine").value(0)) < 4);
  CHECK(std::abs(y.at("cosine").value(0)) < 0.003);
  CHECK(y.at("largest_angle").value(0) <= 3.1415927);
}

TEST_CASE("no draw is far less likely than one in the number of uniform numbers") {
  const test::Outcome y = test::Kernels<rare>(3).run({});
  CHECK(y.at("laplace").value(0) < 17.4);
  CHECK(y.at("logistic").value(0) < 18.1);
  CHECK(y.at("cauchy").value(0) < 2.2e7);
}
