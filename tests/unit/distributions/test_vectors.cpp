// SPDX-License-Identifier: Apache-2.0

// Multivariate normal and Wishart distributions, mixtures and transformed distributions, beside
// SciPy's values; divergences beside integrals.

#include <doctest/doctest.h>

#include "typeflow/distributions/mixture_quantile.hpp"
#include "typeflow/linalg.hpp"
#include "unit/distributions/expected.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;
namespace tfb = tf::bijectors;
using test::column;

constexpr double lower[] = {1.2, 0, 0, -0.3, 0.7, 0, 0.5, 0.1, 1.6};

template <class D, class X>
void name_vectors(tf::Graph& g, tf::Label name, const D& d, const X& x) {
  tf::Scope in(g, name);
  d.log_prob(x).named("log_prob");
  d.prob(x).named("prob");
  d.entropy().named("entropy");
  d.mean().named("mean");
  d.covariance().named("covariance");
  d.variance().named("variance");
}

/// With parameters for one distribution, or for a batch of one.
template <bool Batch>
void vectors(tf::Graph& g) {
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto scale = tf::constant<double, 3>(g, {0.5, 2, 1.25});
  auto l = tf::constant<double, 3, 3>(g, lower);
  auto factor = tf::constant<double, 3, 2>(g, {0.5, -0.2, 1, 0.3, -0.7, 0.4});
  auto x = tf::constant<double, 2, 3>(g, {0.1, -0.4, 1, 2, 1, -1});
  const auto batch = [](const auto& t) {
    if constexpr (Batch) {
      return expand_dims<0>(t);
    } else {
      return t;
    }
  };
  name_vectors(g, "diag", tfd::MultivariateNormalDiag(loc, batch(scale)), x);
  name_vectors(g, "tril", tfd::MultivariateNormalTriL(loc, batch(l)), x);
  name_vectors(g, "low_rank", tfd::MultivariateNormalLowRank(loc, scale, batch(factor)), x);
  tf::Scope in(g, "wishart");
  auto v = matmul<tf::transpose_b>(l, l);
  tfd::Wishart d(5.5, batch(l));
  d.log_prob(tf::stack<0>(v, 2 * v + diag(tf::ones<double, 3>(g)))).named("log_prob");
  d.entropy().named("entropy");
  d.mean().named("mean");
  d.mode().named("mode");
  d.variance().named("variance");
}

void compounds(tf::Graph& g) {
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto scale = tf::constant<double, 3>(g, {0.5, 2, 1.25});
  tfd::Categorical weights(tfd::probs(tf::constant<double, 3>(g, {0.5, 0.2, 0.3})));
  {
    tf::Scope in(g, "mixture");
    tfd::MixtureSameFamily d(weights, tfd::Normal(loc, scale));
    auto x = tf::constant<double, 5>(g, {0.2, 0.5, 0.9, 1.7, 4.5});
    d.log_prob(x).named("log_prob");
    d.cdf(x).named("cdf");
    d.log_cdf(x).named("log_cdf");
    d.survival_function(x).named("survival_function");
    d.log_survival_function(x).named("log_survival_function");
    d.quantile(tf::constant<double, 5>(g, {1e-9, 0.03, 0.5, 0.8, 0.999})).named("quantile");
    d.mean().named("mean");
    d.variance().named("variance");
    d.entropy_lower_bound().named("entropy_lower_bound");
  }
  tfd::Categorical two(tfd::probs(tf::constant<double, 2>(g, {0.3, 0.7})));
  {
    tf::Scope in(g, "count_mixture");
    tfd::MixtureSameFamily d(two, tfd::Poisson(tf::constant<double, 2>(g, {2.5, 40})));
    d.cdf(tf::constant<double, 3>(g, {2, 30, 50})).named("cdf");
    d.quantile(tf::constant<double, 5>(g, {1e-9, 0.03, 0.5, 0.8, 0.999})).named("quantile");
  }
  tf::Scope in(g, "vector_mixture");
  auto locs = tf::stack<0>(loc, -loc);  // (2,3)
  tfd::MixtureSameFamily d(two, tfd::MultivariateNormalDiag(locs, scale));
  // The same of independent elements.
  tfd::MixtureSameFamily same(two, tfd::independent<1>(tfd::Normal(locs, scale)));
  auto x = tf::constant<double, 2, 3>(g, {0.1, -0.4, 1, 2, 1, -1});
  d.log_prob(x).named("log_prob");
  d.mean().named("mean");
  same.variance().named("variance");
  d.covariance().named("covariance");
  max(abs(same.covariance() - d.covariance())).named("covariance_difference");
  max(abs(same.log_prob(x) - d.log_prob(x))).named("difference");
}

void independent(tf::Graph& g) {
  tf::Scope in(g, "independent");
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto d = tfd::independent<1>(tfd::Normal(loc, tf::constant<double, 3>(g, {0.5, 2, 1.25})));
  auto x = tf::constant<double, 2, 3>(g, {0.1, -0.4, 1, 2, 1, -1});
  d.cdf(x).named("cdf");
  d.log_cdf(x).named("log_cdf");
  d.covariance().named("covariance");
}

void transformed(tf::Graph& g) {
  auto y = tf::constant<double, 5>(g, {0.05, 0.3, 0.5, 0.8, 0.97});
  tfd::Normal base(tf::constant<double>(g, 0.3), 1.5);
  const auto add = [&](tf::Label name, const auto& bijector) {
    tf::Scope in(g, name);
    tfd::TransformedDistribution d(base, bijector);
    d.log_prob(y).named("log_prob");
    d.cdf(y).named("cdf");
    d.survival_function(y).named("survival_function");
    d.quantile(y).named("quantile");
  };
  const auto add_moments = [&](tf::Label name, const auto& bijector) {
    tf::Scope in(g, name);
    tfd::TransformedDistribution d(base, bijector);
    d.mean().named("mean");
    d.mode().named("mode");
    d.variance().named("variance");
    d.stddev().named("stddev");
    d.entropy().named("entropy");
  };
  add("affine", tfb::Affine(1, -2));
  add_moments("affine", tfb::Affine(1, -2));
  add_moments("affine_chain",
              tfb::Chain(tfb::Affine(0.5, -2), tfb::Affine(tf::constant<double>(g, 1), -3)));
  add("exp", tfb::Exp());
  add("softplus", tfb::Softplus());
  add("sigmoid", tfb::Sigmoid());
  add("tanh", tfb::Tanh());
  add("chain", tfb::Chain(tfb::Exp(), tfb::Affine(tf::constant<double>(g, 0.5), 2.0)));
}

void divergences(tf::Graph& g) {
  tf::Scope in(g, "kl");
  const auto number = [&](double x) { return tf::constant<double>(g, x); };
  const auto of = [&](tf::Label name, const auto& p, const auto& q) {
    kl_divergence(p, q).named(name);
  };
  auto a = number(0.3);
  auto b = number(-1);
  auto s = number(1.5);
  auto r = number(2);
  of("normal", tfd::Normal(a, s), tfd::Normal(b, r));
  of("log_normal", tfd::LogNormal(a, 0.5), tfd::LogNormal(b, 0.8));
  of("half_normal", tfd::HalfNormal(s), tfd::HalfNormal(r));
  of("uniform", tfd::Uniform(number(0), 1), tfd::Uniform(b, 2));
  of("laplace", tfd::Laplace(a, 0.5), tfd::Laplace(b, r));
  of("gumbel", tfd::Gumbel(a, s), tfd::Gumbel(b, r));
  of("cauchy", tfd::Cauchy(a, s), tfd::Cauchy(b, r));
  of("exponential", tfd::Exponential(s), tfd::Exponential(r));
  of("gamma", tfd::Gamma(2.5, s), tfd::Gamma(4, r));
  of("chi2", tfd::Chi2(number(3)), tfd::Chi2(number(5)));
  of("inverse_gamma", tfd::InverseGamma(2.5, s), tfd::InverseGamma(4, r));
  of("beta", tfd::Beta(s, 2.5), tfd::Beta(r, 3));
  of("pareto", tfd::Pareto(2.5, r), tfd::Pareto(4, s));
  of("weibull", tfd::Weibull(1.5, s), tfd::Weibull(2, r));
  of("von_mises", tfd::VonMises(a, s), tfd::VonMises(b, r));
  auto p = tfd::probs(a);
  auto q = tfd::probs(number(0.6));
  of("bernoulli", tfd::Bernoulli(p), tfd::Bernoulli(q));
  of("binomial", tfd::Binomial(7, p), tfd::Binomial(7, q));
  of("poisson", tfd::Poisson(s), tfd::Poisson(number(4)));
  of("categorical", tfd::Categorical(tfd::probs(tf::constant<double, 3>(g, {0.5, 0.2, 0.3}))),
     tfd::Categorical(tfd::probs(tf::constant<double, 3>(g, {0.2, 0.5, 0.3}))));
  of("multinomial", tfd::Multinomial(6, tfd::probs(tf::constant<double, 3>(g, {0.5, 0.2, 0.3}))),
     tfd::Multinomial(6, tfd::probs(tf::constant<double, 3>(g, {0.2, 0.5, 0.3}))));
  of("dirichlet", tfd::Dirichlet(tf::constant<double, 3>(g, {1.5, 2, 4})),
     tfd::Dirichlet(tf::constant<double, 3>(g, {2, 3, 2.5})));
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto l = tf::constant<double, 3, 3>(g, lower);
  auto m = tf::constant<double, 3, 3>(g, {0.9, 0, 0, 0.2, 1.7, 0, -0.5, 0.4, 0.6});
  of("tril", tfd::MultivariateNormalTriL(loc, l), tfd::MultivariateNormalTriL(0.5, m));
  auto scale = tf::constant<double, 3>(g, {0.5, 2, 1.25});
  of("diag", tfd::MultivariateNormalDiag(loc, scale),
     tfd::MultivariateNormalDiag(0.5, tf::constant<double, 3>(g, {2, 2, 2})));
  of("independent", tfd::independent<1>(tfd::Normal(loc, scale)),
     tfd::independent<1>(tfd::Normal(tf::constant<double, 3>(g, {0.5, 0.5, 0.5}), 2)));
  cross_entropy(tfd::Normal(a, s), tfd::Normal(b, r)).named("cross_entropy");
}

}  // namespace

TEST_CASE("multivariate normal and Wishart distributions have SciPy's values") {
  test::check_expected(vectors<false>, {"diag", "tril", "low_rank", "wishart"});
  test::check_expected(vectors<true>, {"diag", "tril", "low_rank", "wishart"});
}

TEST_CASE("mixtures have the values of SciPy's densities, weighted") {
  test::check_expected(compounds, {"mixture", "count_mixture", "vector_mixture"});
  tf::Graph g;
  compounds(g);
  CHECK(tf::interpret(g, {}, {}, {7, 0}).at("vector_mixture/difference").value(0) < 1e-12);
  CHECK(tf::interpret(g, {}, {}, {7, 0}).at("vector_mixture/covariance_difference").value(0) <
        1e-12);
}

TEST_CASE("quantiles of mixtures at the ends of the range, outside of it, and of one component") {
  tf::Graph g;
  auto levels =
      tf::constant<double, 5>(g, {0, 1, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()});
  auto ends = tf::constant<double, 2>(g, {0, 1});
  tfd::Categorical half(tfd::probs(0.5 + 0 * ends));
  tfd::MixtureSameFamily(half, tfd::Normal(ends, 2)).quantile(levels).named("normal");
  tfd::MixtureSameFamily(half, tfd::Uniform(3 * ends, 1 + 3 * ends)).quantile(levels).named("gap");
  tfd::MixtureSameFamily(half, tfd::Poisson(ends + 1)).quantile(levels).named("counts");
  // The first component alone; in the gap between both, the left end.
  tfd::MixtureSameFamily(tfd::Categorical(tfd::probs(1 - ends)), tfd::Normal(ends, 2))
      .quantile(0.25)
      .named("first");
  auto at = tf::constant<double>(g, 0.5) * 1;
  auto median = tfd::MixtureSameFamily(half, tfd::Uniform(3 * ends, 1 + 3 * ends))
                    .quantile(at)
                    .named("median");
  gradients(median, at).named("slope");
  auto moved = tf::constant<double>(g, 1) * 1;
  gradients(tfd::MixtureSameFamily(half, tfd::Normal(moved * ends, 2)).quantile(at), moved)
      .named("moved");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  const auto check = [&](const char* name, const std::vector<double>& expected) {
    CAPTURE(name);
    REQUIRE(y.at(name).size() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(test::near(y.at(name).value(static_cast<std::int64_t>(i)), expected[i], 1e-12));
    }
  };
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check("normal", {-inf, inf, nan, nan, nan});
  check("gap", {0, 4, nan, nan, nan});
  check("counts", {0, inf, nan, nan, nan});
  check("first", {-1.3489795003921634});  // -2 times scipy.stats.norm.ppf(0.75)
  check("median", {1});
  check("slope", {2});    // the density there is 1/2
  check("moved", {0.5});  // the median lies between both
}

TEST_CASE("vectors of independent numbers have the product of the distribution functions") {
  test::check_expected(independent, {"independent"});
}

// A vector base, whose slope counts for each element, and one slope for each element.
TEST_CASE("moments of vectors under affine functions") {
  tf::Graph g;
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto scale = tf::constant<double, 3>(g, {0.5, 2, 1.25});
  auto by = tf::constant<double, 3>(g, {-2, 1, 4});
  const tfd::MultivariateNormalDiag base(loc, scale);
  const tfd::TransformedDistribution one(base, tfb::Affine(1, -2));
  const tfd::TransformedDistribution each(base, tfb::Affine(by, by));
  const tfd::MultivariateNormalDiag of_one(1 - 2 * loc, 2 * scale);
  const tfd::MultivariateNormalDiag of_each(by + by * loc, abs(by) * scale);
  const auto compare = [&](tf::Label name, const auto& d, const auto& same) {
    tf::Scope in(g, name);
    using D = std::remove_cvref_t<decltype(d)>;
    static_assert(std::is_same_v<typename D::batch_shape, tf::Shape<>>);
    static_assert(std::is_same_v<typename D::event_shape, tf::Shape<3>>);
    static_assert(std::is_same_v<typename decltype(d.entropy())::shape, tf::Shape<>>);
    abs(d.entropy() - same.entropy()).named("entropy");
    max(abs(d.mean() - same.mean())).named("mean");
    max(abs(d.mode() - same.mode())).named("mode");
    max(abs(d.variance() - same.variance())).named("variance");
    max(abs(d.stddev() - same.stddev())).named("stddev");
  };
  compare("one", one, of_one);
  compare("each", each, of_each);
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  CHECK(y.size() >= 10);
  for (const char* folder : {"one/", "each/"}) {
    for (const char* name : {"entropy", "mean", "mode", "variance", "stddev"}) {
      CAPTURE(name);
      CHECK(y.at(std::string(folder) + name).value(0) < 1e-12);
    }
  }
}

TEST_CASE("functions of normal numbers have the densities of a change of variables") {
  test::check_expected(transformed,
                       {"affine", "affine_chain", "exp", "softplus", "sigmoid", "tanh", "chain"});
}

TEST_CASE("divergences are the integrals that they stand for") {
  test::check_expected(divergences, {"kl"});
  tf::Graph g;
  divergences(g);
  const tf::HostTensors results = tf::interpret(g, {}, {}, {7, 0});
  CHECK(results.at("kl/independent").value(0) ==
        doctest::Approx(results.at("kl/diag").value(0)).epsilon(1e-12));
  // log(2 sqrt(2 pi)) + (1.3^2 + 1.5^2) / (2 4)
  CHECK(results.at("kl/cross_entropy").value(0) ==
        doctest::Approx(std::log(2) + 0.91893853320467274 + (1.69 + 2.25) / 8).epsilon(1e-12));
}
