// SPDX-License-Identifier: Apache-2.0

// Continuous distributions of numbers: values beside SciPy's, undefined statistics, special values.

#include <doctest/doctest.h>

#include <limits>

#include "support/message_of.hpp"
#include "unit/distributions/expected.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;
using test::column;
using test::name_all;

constexpr double inf = std::numeric_limits<double>::infinity();

void around_zero(tf::Graph& g) {
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto scale = tf::constant<double, 3>(g, {0.5, 2, 1.25});
  auto x = column(g, {-40, -1.5, 0, 0.7, 3, 60});
  name_all(g, "normal", tfd::Normal(loc, scale), x);
  name_all(g, "uniform", tfd::Uniform(loc, loc + scale), x);
  name_all(g, "laplace", tfd::Laplace(loc, scale), x);
  name_all(g, "logistic", tfd::Logistic(loc, scale), x);
  name_all(g, "gumbel", tfd::Gumbel(loc, scale), column(g, {-3, -1.5, 0, 0.7, 3, 60}));
  name_all(g, "cauchy", tfd::Cauchy(loc, scale), column(g, {-1e6, -1.5, 0, 0.7, 3, 60}));
  auto df = tf::constant<double, 3>(g, {2.5, 5, 30});
  name_all(g, "student_t", tfd::StudentT(df, loc, scale),
           column(g, {-40, -1.5, 0.3000001, 0.7, 3, 60}));
  tfd::TruncatedNormal truncated(loc, scale, tf::constant<double, 3>(g, {-1, 0.5, -inf}),
                                 tf::constant<double, 3>(g, {2.5, 2, 1}));
  name_all(g, "truncated_normal", truncated, column(g, {-3, -0.6, 0.7, 0.9, 1.9, 4}));
  tfd::VonMises angles(0.3, tf::constant<double, 3>(g, {0.5, 3, 25}));
  name_all(g, "von_mises", angles, column(g, {-0.2, 0, 0.3, 0.5, 0.8}));
}

void positive(tf::Graph& g) {
  auto loc = tf::constant<double, 3>(g, {-1, 0.3, 2});
  auto shape = tf::constant<double, 3>(g, {0.6, 1.5, 4});
  auto steep = tf::constant<double, 3>(g, {2.5, 3, 8});
  auto scale = tf::constant<double, 3>(g, {0.5, 2, 1.25});
  auto x = column(g, {0.2, 0.5, 0.9, 1.7, 4.5});
  name_all(g, "log_normal", tfd::LogNormal(loc, scale / 2), x);
  name_all(g, "half_normal", tfd::HalfNormal(scale), x);
  name_all(g, "exponential", tfd::Exponential(scale), x);
  name_all(g, "gamma", tfd::Gamma(shape, scale), x);
  name_all(g, "chi2", tfd::Chi2(tf::constant<double, 3>(g, {1, 3, 8})), x);
  name_all(g, "inverse_gamma", tfd::InverseGamma(steep, scale), x);
  name_all(g, "beta", tfd::Beta(shape, scale), column(g, {0, 0.1, 0.5, 0.95, 1, 1.5}));
  name_all(g, "pareto", tfd::Pareto(steep, scale), x);
  name_all(g, "weibull", tfd::Weibull(shape, scale), x);
}

/// The only result of a model, which the interpreter computes.
template <class Model>
std::vector<double> values_of(const Model& model) {
  tf::Graph g;
  model(g).named("y");
  const tf::HostTensor y = tf::interpret(g, {}, {}, {7, 0}).at("y");
  std::vector<double> out;
  for (std::int64_t i = 0; i < y.size(); ++i) out.push_back(y.value(i));
  return out;
}

template <class Model>
void check_values(const Model& model, const std::vector<double>& expected) {
  const std::vector<double> values = values_of(model);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CAPTURE(values[i]);
    CHECK(test::near(values[i], expected[i], 1e-9));
  }
}

}  // namespace

TEST_CASE("distributions on all numbers have SciPy's values") {
  test::check_expected(around_zero, {"normal", "uniform", "laplace", "logistic", "gumbel", "cauchy",
                                     "student_t", "truncated_normal", "von_mises"});
}

TEST_CASE("distributions on positive numbers have SciPy's values") {
  test::check_expected(positive, {"log_normal", "half_normal", "exponential", "gamma", "chi2",
                                  "inverse_gamma", "beta", "pareto", "weibull"});
}

// Both tails, by mpmath with 30 digits (peers/distributions.py).
TEST_CASE("the von Mises distribution function has its digits far out, and so has its quantile") {
  const std::vector<double>& points = distribution_values::expected.at("angles/points");
  const std::vector<double>& expected = distribution_values::expected.at("angles/cdf");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double k = points[2 * i];
    const double x = points[2 * i + 1];
    CAPTURE(k);
    CAPTURE(x);
    const double p = tf::math::von_mises_cdf(k, x);
    CHECK(p == doctest::Approx(expected[i]).epsilon(1e-11));
    if (x <= 0) {
      CHECK(tf::math::von_mises_quantile(k, p) == doctest::Approx(x).epsilon(1e-11));
    }
  }
  // Of a large concentration a normal number's: scipy.stats.norm.ppf(0.2) = -0.8416212335729143
  for (const double k : {1e12, 1e100, 1e308}) {
    CAPTURE(k);
    CHECK(tf::math::von_mises_cdf(k, -0.8416212335729143 / std::sqrt(k)) ==
          doctest::Approx(0.2).epsilon(1e-11));
    CHECK(tf::math::von_mises_quantile(k, 0.2) * std::sqrt(k) ==
          doctest::Approx(-0.8416212335729143).epsilon(1e-11));
    CHECK(tf::math::von_mises_cdf(k, -1.0) == 0);
  }
  const double pi = 3.14159265358979323846;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto angles = [](tf::Graph& g) { return tfd::VonMises(tf::constant<double>(g, 0.5), 2); };
  check_values(
      [&](tf::Graph& g) {
        const auto ends = tf::constant<double, 6>(
            g, {0, 1, 0.5, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()});
        return angles(g).quantile(ends);
      },
      {0.5 - pi, 0.5 + pi, 0.5, nan, nan, nan});
  // A turn on, the probability is 1 more.
  check_values(
      [&](tf::Graph& g) {
        const auto x = tf::constant<double, 3>(g, {0.3, 2, -1});
        return angles(g).cdf(x + 4 * pi) - angles(g).cdf(x);
      },
      {2, 2, 2});
  check_values([&](tf::Graph& g) { return angles(g).cdf(inf); }, {nan});
}

// Figures of chapter 11: alpha log(beta) - lgamma(alpha) + (alpha - 1) log(x) - beta x.
TEST_CASE("the gamma distributions of chapter 11") {
  const std::vector<double> x = {2.5, 2.5, 4, 0.1, 1, 2};
  std::vector<double> expected;
  for (const double t : x) {
    expected.push_back(3 * std::log(11) - std::lgamma(3) + 2 * std::log(t) - 11 * t);
  }
  const auto batch = [](tf::Graph& g) {
    auto points = tf::constant<double, 6>(g, {2.5, 2.5, 4, 0.1, 1, 2});
    tfd::Gamma gamma(tf::broadcast_to<6>(tf::constant<double>(g, 3)), 11);
    static_assert(std::is_same_v<decltype(gamma)::batch_shape, tf::Shape<6>>);
    static_assert(std::is_same_v<decltype(gamma)::event_shape, tf::Shape<>>);
    return gamma.log_prob(points);
  };
  check_values(batch, expected);
  const auto table = [](tf::Graph& g) {
    auto points = column(g, {2.5, 2.5, 4, 0.1, 1, 2});
    tfd::Gamma gamma(tf::broadcast_to<6, 2>(tf::constant<double, 2>(g, {2, 4})),
                     tf::broadcast_to<6, 2>(tf::constant<double, 2>(g, {3, 4})));
    const auto y = gamma.log_prob(points);
    static_assert(std::is_same_v<decltype(y)::shape, tf::Shape<6, 2>>);
    return y;
  };
  expected.clear();
  for (const double t : x) {
    for (const double b : {3., 4.}) {
      const double a = b == 3 ? 2 : 4;
      expected.push_back(a * std::log(b) - std::lgamma(a) + (a - 1) * std::log(t) - b * t);
    }
  }
  check_values(table, expected);
}

TEST_CASE("undefined statistics are NaN, or an error with the names") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto df = [](tf::Graph& g) { return tf::constant<double, 3>(g, {0.5, 1.5, 3}); };
  check_values([&](tf::Graph& g) { return tfd::StudentT(df(g), 1, 2).mean(); }, {nan, 1, 1});
  check_values([&](tf::Graph& g) { return tfd::StudentT(df(g), 1, 2).variance(); }, {nan, inf, 12});
  check_values([&](tf::Graph& g) { return tfd::Cauchy(df(g), 2).mean(); }, {nan, nan, nan});
  check_values([&](tf::Graph& g) { return tfd::Cauchy(df(g), 2).stddev(); }, {nan, nan, nan});
  check_values([&](tf::Graph& g) { return tfd::InverseGamma(df(g), 2).mean(); }, {nan, 4, 1});
  check_values([&](tf::Graph& g) { return tfd::InverseGamma(df(g), 2).variance(); }, {nan, nan, 1});
  check_values([&](tf::Graph& g) { return tfd::Pareto(df(g), 2).mean(); }, {inf, 6, 3});
  check_values([&](tf::Graph& g) { return tfd::Pareto(df(g), 2).variance(); }, {inf, inf, 3});
  check_values([&](tf::Graph& g) { return tfd::Beta(df(g), 2).mode(); }, {nan, 1. / 3, 2. / 3});

  constexpr tfd::Options strict{.allow_nan_stats = false};
  const auto message = [&](auto statistic) { return message_of([&] { values_of(statistic); }); };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != text.npos;
  };
  CHECK(contains(message([&](tf::Graph& g) { return tfd::Cauchy(df(g), 2, strict).mean(); }),
                 "Cauchy.mean() is undefined for these parameters, and allow_nan_stats is false"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::StudentT(df(g), 1, 2, strict).stddev(); }),
                 "StudentT.stddev() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::Gamma(df(g), 2, strict).mode(); }),
                 "Gamma.mode() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::Cauchy(df(g), 2, strict).variance(); }),
                 "Cauchy.variance() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::StudentT(df(g), 1, 2, strict).mean(); }),
                 "StudentT.mean() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::InverseGamma(df(g), 2, strict).mean(); }),
                 "InverseGamma.mean() is undefined"));
  CHECK(
      contains(message([&](tf::Graph& g) { return tfd::InverseGamma(df(g), 2, strict).stddev(); }),
               "InverseGamma.stddev() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::Beta(df(g), 2, strict).mode(); }),
                 "Beta.mode() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::Dirichlet(df(g), strict).mode(); }),
                 "Dirichlet.mode() is undefined"));
  CHECK(contains(message([&](tf::Graph& g) { return tfd::Wishart(3, diag(df(g)), strict).mode(); }),
                 "Wishart.mode() is undefined"));
  // Where all are defined, nothing fails.
  check_values([&](tf::Graph& g) { return tfd::StudentT(df(g) + 3, 1, 4, strict).mean(); },
               {1, 1, 1});
}

TEST_CASE("quantiles of numbers outside of [0, 1] are NaN") {
  const auto check = [](const char* name, auto make) {
    CAPTURE(name);
    const std::vector<double> y = values_of([&](tf::Graph& g) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      return make(tf::constant<double>(g, 2))
          .quantile(tf::constant<double, 3>(g, {-0.1, 1.1, nan}));
    });
    for (const double q : y) CHECK(std::isnan(q));
  };
  check("Normal", [](auto two) { return tfd::Normal(two, 3); });
  check("LogNormal", [](auto two) { return tfd::LogNormal(two, 3); });
  check("HalfNormal", [](auto two) { return tfd::HalfNormal(two); });
  check("TruncatedNormal", [](auto two) { return tfd::TruncatedNormal(two, 1, 1.5, 3); });
  check("Uniform", [](auto two) { return tfd::Uniform(two, 3); });
  check("Laplace", [](auto two) { return tfd::Laplace(two, 3); });
  check("Logistic", [](auto two) { return tfd::Logistic(two, 3); });
  check("Gumbel", [](auto two) { return tfd::Gumbel(two, 3); });
  check("Cauchy", [](auto two) { return tfd::Cauchy(two, 3); });
  check("StudentT", [](auto two) { return tfd::StudentT(two, 3, 4); });
  check("Exponential", [](auto two) { return tfd::Exponential(two); });
  check("Gamma", [](auto two) { return tfd::Gamma(two, 3); });
  check("Chi2", [](auto two) { return tfd::Chi2(two); });
  check("InverseGamma", [](auto two) { return tfd::InverseGamma(two, 3); });
  check("Beta", [](auto two) { return tfd::Beta(two, 3); });
  check("Pareto", [](auto two) { return tfd::Pareto(two, 3); });
  check("Weibull", [](auto two) { return tfd::Weibull(two, 3); });
  check("VonMises", [](auto two) { return tfd::VonMises(two, 3); });
}

namespace {
/// Checks the types of a strict distribution, and that it is one.
template <class Batch, class Event, class D>
void check_types(const D& d) {
  CAPTURE(D::class_name);
  CHECK(!d.allow_nan_stats());
  static_assert(tfd::AnyDistribution<D>);
  static_assert(std::is_same_v<typename D::batch_shape, Batch>);
  static_assert(std::is_same_v<typename D::event_shape, Event>);
  using All = tfd::detail::Join<Batch, Event>;
  static_assert(std::is_same_v<typename decltype(d.sample())::shape, All>);
  static_assert(std::is_same_v<typename decltype(d.template sample<7, 1>())::shape,
                               tfd::detail::Join<tf::Shape<7, 1>, All>>);
  if constexpr (Event::rank == 0) {
    static_assert(std::is_same_v<typename decltype(d.log_prob(1))::shape, Batch>);
    static_assert(std::is_same_v<typename decltype(d.cdf(1))::shape, Batch>);
  }
  if constexpr (requires { d.mean(); }) {
    static_assert(std::is_same_v<typename decltype(d.mean())::shape, All>);
    static_assert(std::is_same_v<typename decltype(d.variance())::shape, All>);
    static_assert(std::is_same_v<typename decltype(d.stddev())::shape, All>);
  }
  if constexpr (requires { d.mode(); }) {
    static_assert(std::is_same_v<typename decltype(d.mode())::shape, All>);
  }
  if constexpr (requires { d.covariance(); }) {
    static_assert(std::is_same_v<typename decltype(d.covariance())::shape,
                                 tfd::detail::Join<Batch, tfd::detail::Join<Event, Event>>>);
  }
}
}  // namespace

TEST_CASE("batch and event shapes are types, and every distribution takes allow_nan_stats") {
  using tf::Shape;
  constexpr tfd::Options strict{.allow_nan_stats = false};
  tf::Graph g;
  auto a = tf::constant<float, 3>(g, {0.2f, 0.5f, 0.7f});
  auto b = tf::constant<float, 2, 1>(g, {0.3f, 0.9f});
  auto wide = broadcast_to<2, 3>(a);
  auto lower = broadcast_to<2, 3, 3>(diag(a));
  using S = Shape<2, 3>;
  using None = Shape<>;
  check_types<S, None>(tfd::Normal(a, b, strict));
  check_types<S, None>(tfd::LogNormal(a, b, strict));
  check_types<Shape<3>, None>(tfd::HalfNormal(a, strict));
  check_types<S, None>(tfd::TruncatedNormal(a, 1, b, 2, strict));
  check_types<S, None>(tfd::Uniform(a, b, strict));
  check_types<S, None>(tfd::Laplace(a, b, strict));
  check_types<S, None>(tfd::Logistic(a, b, strict));
  check_types<S, None>(tfd::Gumbel(a, b, strict));
  check_types<S, None>(tfd::Cauchy(a, b, strict));
  check_types<S, None>(tfd::StudentT(a, b, 2, strict));
  check_types<Shape<3>, None>(tfd::Exponential(a, strict));
  check_types<S, None>(tfd::Gamma(a, b, strict));
  check_types<Shape<3>, None>(tfd::Chi2(a, strict));
  check_types<S, None>(tfd::InverseGamma(a, b, strict));
  check_types<S, None>(tfd::Beta(a, b, strict));
  check_types<S, None>(tfd::Pareto(a, b, strict));
  check_types<S, None>(tfd::Weibull(a, b, strict));
  check_types<S, None>(tfd::VonMises(a, b, strict));
  check_types<Shape<3>, None>(tfd::Bernoulli(tfd::probs(a), strict));
  check_types<S, None>(tfd::Binomial(a, tfd::logits(b), strict));
  check_types<Shape<3>, None>(tfd::Poisson(a, strict));
  check_types<Shape<2>, None>(tfd::Categorical(tfd::logits(wide), strict));
  check_types<Shape<2>, Shape<3>>(tfd::Multinomial(4, tfd::logits(wide), strict));
  check_types<Shape<2>, Shape<3>>(tfd::Dirichlet(wide, strict));
  check_types<Shape<2>, Shape<3>>(tfd::MultivariateNormalDiag(a, b, strict));
  check_types<Shape<2>, Shape<3>>(tfd::MultivariateNormalTriL(a, lower, strict));
  check_types<Shape<2>, Shape<3>>(tfd::MultivariateNormalLowRank(a, 1, lower, strict));
  check_types<Shape<2>, Shape<3, 3>>(tfd::Wishart(5, lower, strict));
  check_types<Shape<2>, Shape<3>>(tfd::independent<1>(tfd::Normal(a, b, strict)));
  tfd::Categorical weights(tfd::logits(a));
  check_types<Shape<2>, None>(tfd::MixtureSameFamily(weights, tfd::Normal(a, b), strict));
  check_types<S, None>(
      tfd::TransformedDistribution(tfd::Normal(a, b, strict), tf::bijectors::Affine(a, 2)));
}

TEST_CASE("values outside of the support are impossible, and NaN stays NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto at = [&](auto make) {
    const auto column_of = [](tf::Graph& g) {
      return tf::constant<double, 4>(g, {-1, -0.0, inf, std::numeric_limits<double>::quiet_NaN()});
    };
    return std::array{
        values_of([&](tf::Graph& g) { return make(g).log_prob(column_of(g)); }),
        values_of([&](tf::Graph& g) { return make(g).cdf(column_of(g)); }),
        values_of([&](tf::Graph& g) { return make(g).survival_function(column_of(g)); })};
  };
  const auto two = [](tf::Graph& g) { return tf::constant<double>(g, 2); };
  const auto check = [&](auto make, double at_zero) {
    const auto [log_prob, cdf, survival] = at(make);
    CHECK(test::near(log_prob[0], -inf, 0));
    CHECK(test::near(log_prob[1], at_zero, 1e-12));
    CHECK(test::near(log_prob[2], -inf, 0));
    CHECK(test::near(log_prob[3], nan, 0));
    CHECK(test::near(cdf[0], 0, 0));
    CHECK(test::near(cdf[1], 0, 0));
    CHECK(test::near(cdf[2], 1, 0));
    CHECK(test::near(cdf[3], nan, 0));
    CHECK(test::near(survival[0], 1, 0));
    CHECK(test::near(survival[2], 0, 0));
    CHECK(test::near(survival[3], nan, 0));
  };
  check([&](tf::Graph& g) { return tfd::Exponential(two(g)); }, std::log(2));
  check([&](tf::Graph& g) { return tfd::Gamma(two(g), 3); }, -inf);
  check([&](tf::Graph& g) { return tfd::Gamma(two(g) / 2, 3); }, std::log(3));
  check([&](tf::Graph& g) { return tfd::Gamma(two(g) / 4, 3); }, inf);
  check([&](tf::Graph& g) { return tfd::InverseGamma(two(g), 3); }, -inf);
  check([&](tf::Graph& g) { return tfd::LogNormal(two(g), 3); }, -inf);
  check([&](tf::Graph& g) { return tfd::HalfNormal(two(g)); },
        0.5 * std::log(2 / M_PI) - std::log(2));
  check([&](tf::Graph& g) { return tfd::Weibull(two(g), 3); }, -inf);
  check([&](tf::Graph& g) { return tfd::Pareto(two(g), 3); }, -inf);
  check([&](tf::Graph& g) { return tfd::Beta(two(g), 3); }, -inf);
  check([&](tf::Graph& g) { return tfd::Uniform(two(g) - 2, 3); }, -std::log(3));
  check([&](tf::Graph& g) { return tfd::TruncatedNormal(two(g) - 2, 1, 0, inf); },
        0.5 * std::log(2 / M_PI));
}

TEST_CASE("infinite values have density 0, and lie at the ends of the distribution function") {
  const auto check = [](auto make) {
    const auto ends = [](tf::Graph& g) { return tf::constant<double, 2>(g, {-inf, inf}); };
    check_values([&](tf::Graph& g) { return make(g).log_prob(ends(g)); }, {-inf, -inf});
    check_values([&](tf::Graph& g) { return make(g).cdf(ends(g)); }, {0, 1});
    check_values([&](tf::Graph& g) { return make(g).log_cdf(ends(g)); }, {-inf, 0});
    check_values([&](tf::Graph& g) { return make(g).survival_function(ends(g)); }, {1, 0});
  };
  const auto two = [](tf::Graph& g) { return tf::constant<double>(g, 2); };
  check([&](tf::Graph& g) { return tfd::Normal(two(g), 3); });
  check([&](tf::Graph& g) { return tfd::Laplace(two(g), 3); });
  check([&](tf::Graph& g) { return tfd::Logistic(two(g), 3); });
  check([&](tf::Graph& g) { return tfd::Gumbel(two(g), 3); });
  check([&](tf::Graph& g) { return tfd::Cauchy(two(g), 3); });
  check([&](tf::Graph& g) { return tfd::StudentT(two(g), 3, 4); });
}

// The quantiles and logarithms that a difference from 1 would lose.
TEST_CASE("the normal distribution keeps its digits far out") {
  check_values(
      [](tf::Graph& g) { return tfd::ndtri(tf::constant<double, 4>(g, {1e-300, 1e-20, 0, 1})); },
      {-37.0470962993612, -9.26234008979841, -inf, inf});  // scipy.special.ndtri
  check_values(
      [](tf::Graph& g) { return tfd::log_ndtr(tf::constant<double, 4>(g, {-1e4, -32, -5, 7})); },
      {-50000010.1292789, -516.385648625726, -15.0649983939887, -1.27981254388584e-12});
  for (const double p : {0.0499999, 0.05, 0.0500001, 0.3, 0.5, 0.7, 0.95, 1 - 1e-12}) {
    CAPTURE(p);
    check_values(
        [&](tf::Graph& g) { return tfd::ndtr(tfd::ndtri(tf::constant<double, 1>(g, {p}))); }, {p});
  }
}
