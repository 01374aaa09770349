// SPDX-License-Identifier: Apache-2.0

// Gradients of log_prob and entropy for points and parameters, against central differences; and
// gradients through draws, whose mean is the gradient of the distribution's mean.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "typeflow/distributions.hpp"
#include "typeflow/distributions/mixture_quantile.hpp"
#include "typeflow/linalg.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;
using tf::Shape;

constexpr test::Range inside{0.3, 0.9};

/// log_prob(x) of distributions with one parameter.
template <class Make>
void check_one(const Make& make, test::Range range = inside) {
  test::check_gradients<Shape<4, 1>, Shape<3>>([&](auto x, auto a) { return make(a).log_prob(x); },
                                               range, 1e-6);
}
/// The same with two.
template <class Make>
void check_two(const Make& make, test::Range range = inside) {
  test::check_gradients<Shape<4, 1>, Shape<3>, Shape<1>>(
      [&](auto x, auto a, auto b) { return make(a, b).log_prob(x); }, range, 1e-6);
}

}  // namespace

TEST_CASE("log_prob: gradients of continuous distributions") {
  check_two([](auto a, auto b) { return tfd::Normal(a, b); });
  check_two([](auto a, auto b) { return tfd::LogNormal(a, b); });
  check_one([](auto a) { return tfd::HalfNormal(a); });
  check_two([](auto a, auto b) { return tfd::TruncatedNormal(a, b, 0.1, b + 1); });
  check_two([](auto a, auto b) { return tfd::Uniform(a - 0.9, b + 0.9); });
  check_two([](auto a, auto b) { return tfd::Laplace(a - 1, b); });
  check_two([](auto a, auto b) { return tfd::Logistic(a, b); });
  check_two([](auto a, auto b) { return tfd::Gumbel(a, b); });
  check_two([](auto a, auto b) { return tfd::Cauchy(a, b); });
  check_two([](auto a, auto b) { return tfd::StudentT(a + 1, b, a); });
  check_one([](auto a) { return tfd::Exponential(a); });
  check_two([](auto a, auto b) { return tfd::Gamma(a, b); });
  check_one([](auto a) { return tfd::Chi2(a); });
  check_two([](auto a, auto b) { return tfd::InverseGamma(a, b); });
  check_two([](auto a, auto b) { return tfd::Beta(a, b); });
  check_two([](auto a, auto b) { return tfd::Pareto(a, b / 4); });
  check_two([](auto a, auto b) { return tfd::Weibull(a, b); });
  check_two([](auto a, auto b) { return tfd::VonMises(a, b); });
}

TEST_CASE("cdf and quantile: gradients for points and parameters") {
  const auto check = [](const auto& make) {
    test::check_gradients<Shape<4, 1>, Shape<3>, Shape<1>>(
        [&](auto x, auto a, auto b) { return make(a, b).cdf(x) - make(a, b).survival_function(x); },
        inside, 1e-6);
    test::check_gradients<Shape<4, 1>, Shape<3>, Shape<1>>(
        [&](auto p, auto a, auto b) { return make(a, b).quantile(p); }, inside, 1e-6);
  };
  check([](auto a, auto b) { return tfd::Gamma(2 * a, b); });
  check([](auto a, auto b) { return tfd::Chi2(3 * a * b); });
  check([](auto a, auto b) { return tfd::InverseGamma(2 * a, b); });
  check([](auto a, auto b) { return tfd::Beta(2 * a, b); });
  check([](auto a, auto b) { return tfd::StudentT(5 * a, b, a); });
  check([](auto a, auto b) { return tfd::VonMises(a, 5 * b); });
  check([](auto a, auto b) {  // (4,3), (3) and (1) -> mixtures of two
    const auto two = tf::constant<double, 2>(a.graph(), {0.3, 1.2});
    return tfd::MixtureSameFamily(tfd::Categorical(tfd::logits(two * expand_dims<-1>(b))),
                                  tfd::Normal(expand_dims<-1>(a) * two, two));
  });
  // Outside, and where the formulas have a pole.
  tf::Graph g;
  auto x = tf::constant<double, 3>(g, {-1, 0, 2}) * 1;
  gradients(sum(tfd::Gamma(0.5 + square(x), 2).cdf(x - 5)), x).named("gamma");
  gradients(sum(tfd::StudentT(3, 0, x + 3).cdf(0 * x)), x).named("centre");
  gradients(sum(tfd::StudentT(1, x, 2).cdf(x * 0)), x).named("cauchy");
  gradients(sum(tfd::StudentT(1, 0, 1 + 0 * x).quantile(0.5 + x / 8)), x).named("quantile");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  const double pi = 3.14159265358979323846;
  for (int i = 0; i < 3; ++i) {
    CHECK(y.at("gamma").value(i) == 0);
    CHECK(y.at("centre").value(i) == 0);
  }
  for (int i = 0; i < 3; ++i) {  // the Cauchy distribution's: -density at -x / 2, slopes of tan
    const double t = i == 0 ? -1 : i == 1 ? 0 : 2;
    CHECK(y.at("cauchy").value(i) == doctest::Approx(-1 / (2 * pi * (1 + t * t / 4))));
    const double cosine = std::cos(pi * t / 8);
    CHECK(y.at("quantile").value(i) == doctest::Approx(pi / 8 / (cosine * cosine)));
  }
}

TEST_CASE("entropies of counts: gradients") {
  test::check_gradients<Shape<3>>(
      [](auto a) {
        auto n = tf::constant<double, 5, 1>(a.graph(), {0, 1, 9, 60, 90000});
        return tfd::Binomial(n, tfd::probs(a)).entropy() +
               tfd::Binomial(n, tfd::logits(3 - 9 * a)).entropy();
      },
      inside, 1e-6);
  test::check_gradients<Shape<3>>(
      [](auto a) {
        auto times = tf::constant<double, 4, 1>(a.graph(), {1e-3, 1, 900, 40000});
        return tfd::Poisson(a * times).entropy();
      },
      inside, 1e-6);
  test::check_gradients<Shape<3>>(
      [](auto a) {
        auto n = tf::constant<double, 5, 1>(a.graph(), {0, 1, 9, 60, 90000});
        return tfd::Multinomial(n, tfd::logits(4 * a)).entropy();
      },
      inside, 1e-6);
}

TEST_CASE("log_prob: gradients of discrete distributions and of those over classes") {
  check_one([](auto a) {
    return tfd::MixtureSameFamily(tfd::Categorical(tfd::logits(a)), tfd::Normal(a, a));
  });
  test::check_gradients<Shape<3>>(
      [](auto p) {
        auto x = tf::constant<double, 2, 1>(p.graph(), {0, 1});
        return tfd::Bernoulli(tfd::probs(p)).log_prob(x) +
               tfd::Bernoulli(tfd::logits(p)).log_prob(x) +
               tfd::Binomial(1, tfd::probs(p)).log_prob(x) + tfd::Poisson(p).log_prob(x) +
               tfd::Categorical(tfd::logits(p)).log_prob(x);
      },
      inside, 1e-6);
  test::check_gradients<Shape<2, 3>, Shape<3>>(
      [](auto x, auto a) { return tfd::Dirichlet(a).log_prob(x); }, inside, 1e-6);
  test::check_gradients<Shape<3>>(
      [](auto p) {
        return tfd::Multinomial(3, tfd::probs(p))
            .log_prob(tf::constant<double, 2, 3>(p.graph(), {1, 0, 2, 1, 1, 1}));
      },
      inside, 1e-6);
}

TEST_CASE("log_prob: gradients of multivariate distributions") {
  test::check_gradients<Shape<2, 3>, Shape<3>, Shape<3>>(
      [](auto x, auto m, auto s) { return tfd::MultivariateNormalDiag(m, s).log_prob(x); }, inside,
      1e-6);
  test::check_gradients<Shape<2, 3>, Shape<3>, Shape<3, 3>>(
      [](auto x, auto m, auto l) { return tfd::MultivariateNormalTriL(m, l).log_prob(x); }, inside,
      1e-6);
  test::check_gradients<Shape<2, 3>, Shape<3>, Shape<3>, Shape<3, 2>>(
      [](auto x, auto m, auto d, auto w) {
        return tfd::MultivariateNormalLowRank(m, d, w).log_prob(x);
      },
      inside, 1e-6);
  test::check_gradients<Shape<2, 2>, Shape<>, Shape<2, 2>>(
      [](auto r, auto df, auto l) {
        auto x = matmul<tf::transpose_b>(r, r) + diag(tf::ones<double, 2>(r.graph()));
        return tfd::Wishart(df + 3, l).log_prob(x);
      },
      inside, 1e-6);
}

TEST_CASE("log_prob: gradients through bijectors") {
  namespace tfb = tf::bijectors;
  test::check_gradients<Shape<4>, Shape<>>(
      [](auto y, auto a) {
        const auto of = [&](const auto& f) {
          return tfd::TransformedDistribution(tfd::Normal(a, 1.5), f).log_prob(y);
        };
        return of(tfb::Exp()) + of(tfb::Softplus()) + of(tfb::Sigmoid()) + of(tfb::Tanh()) +
               of(tfb::Affine(a, -a)) + of(tfb::Chain(tfb::Exp(), tfb::Affine(1.0, a)));
      },
      inside, 1e-6);
}

TEST_CASE("gradients at the edge of a support are those of the inside") {
  tf::Graph g;
  auto x = tf::constant<double, 2>(g, {0, -1});
  auto rate = tf::constant<double>(g, 2) * 1;
  auto p = tf::constant<double>(g, 0.25) * 1;
  // log(0) does not reach the gradient, nor does what is computed for -1.
  gradients(max(tfd::Gamma(1, rate).log_prob(x)), rate).named("rate");
  gradients(tfd::ndtri(p), p).named("p");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  CHECK(y.at("rate").value(0) == doctest::Approx(0.5));
  // 1 over the normal density at the first quartile, -0.6744897501960817
  CHECK(y.at("p").value(0) == doctest::Approx(1 / 0.31777657268410693).epsilon(1e-9));
}

TEST_CASE("gradients for probabilities of 0 and 1 are those of what is possible") {
  tf::Graph g;
  const auto c = [&](double x) { return tf::constant<double>(g, x); };
  auto p = tf::constant<double, 2>(g, {0, 1}) * 1;
  auto classes = tf::constant<double, 3>(g, {0.25, 0.75, 0}) * 1;
  const auto add = [](tf::Label name, const auto& y, const auto& x) {
    gradients(sum(y), x).named(name);
  };
  const auto sure = tf::constant<double, 2>(g, {0, 1});
  add("bernoulli", tfd::Bernoulli(tfd::probs(p)).log_prob(sure), p);
  add("bernoulli_not", tfd::Bernoulli(tfd::probs(p)).log_prob(1 - sure), p);
  add("binomial", tfd::Binomial(c(3), tfd::probs(p)).log_prob(3 * sure), p);
  const auto x = tf::constant<double, 3>(g, {1, 2, 0});
  add("multinomial", tfd::Multinomial(c(3), tfd::probs(classes)).log_prob(x), classes);
  add("mean", tfd::Multinomial(c(3), tfd::probs(classes)).mean(), classes);
  const tfd::Categorical even(tfd::probs(tf::constant<double, 3>(g, {0.5, 0.5, 0})));
  add("divergence", kl_divergence(even, tfd::Categorical(tfd::probs(classes))), classes);
  add("entropy", tfd::Categorical(tfd::probs(classes)).entropy(), classes);
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  const auto check = [&](const char* name, const std::vector<double>& expected) {
    CAPTURE(name);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(y.at(name).value(static_cast<std::int64_t>(i)) == doctest::Approx(expected[i]));
    }
  };
  check("bernoulli", {-1, 1});
  CHECK(y.at("bernoulli_not").value(0) == tfd::detail::infinity);
  CHECK(y.at("bernoulli_not").value(1) == -tfd::detail::infinity);
  check("binomial", {-3, 3});
  check("multinomial", {1 / 0.25, 2 / 0.75, 0});
  check("mean", {3, 3, 3});
  check("divergence", {-0.5 / 0.25, -0.5 / 0.75, 0});
  check("entropy", {-1 - std::log(0.25), -1 - std::log(0.75)});
  CHECK(!std::isnan(y.at("entropy").value(2)));
}

TEST_CASE("Laplace and logistic distributions: derivatives at the centre are not those of a kink") {
  tf::Graph g;
  auto x = tf::constant<double>(g, 3) * 1;
  auto p = tf::constant<double>(g, 0.5) * 1;
  const tfd::Laplace d(tf::constant<double>(g, 3), 2);  // its density is 1/4 there
  gradients(d.cdf(x), x).named("cdf");
  gradients(d.survival_function(x), x).named("survival_function");
  gradients(d.log_cdf(x), x).named("log_cdf");
  gradients(d.log_survival_function(x), x).named("log_survival_function");
  gradients(d.quantile(p), p).named("quantile");
  const auto logistic = tfd::Logistic(tf::constant<double>(g, 3), 2).log_prob(x);
  gradients(tf::gradients(logistic, x), x).named("curvature");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  CHECK(y.at("cdf").value(0) == doctest::Approx(0.25));
  CHECK(y.at("survival_function").value(0) == doctest::Approx(-0.25));
  CHECK(y.at("log_cdf").value(0) == doctest::Approx(0.5));
  CHECK(y.at("log_survival_function").value(0) == doctest::Approx(-0.5));
  CHECK(y.at("quantile").value(0) == doctest::Approx(4));
  CHECK(y.at("curvature").value(0) == doctest::Approx(-0.125));  // -1 / (2 scale^2)
}

namespace {

/// Compares the gradient of a sample's mean with that of the distribution's mean: for draws that
/// are smooth functions of the parameters the one is an estimate of the other.
template <class Make>
void check_draws(const char* name, const Make& make, double tolerance = 0.03) {
  CAPTURE(name);
  tf::Graph g;
  auto a = tf::constant<double>(g, 3) * 1;
  auto b = tf::constant<double>(g, 0.8) * 1;
  const auto d = make(a, b);
  using D = std::remove_cvref_t<decltype(d)>;
  static_assert(D::reparameterized);
  const auto first = [](const auto& x) { return mean(tf::slice<tf::ellipsis, 0>(x)); };
  const auto drawn = gradients_or_zero(
      [&] {
        if constexpr (D::event_shape::rank > 0) {
          return first(d.template sample<20000>());
        } else {
          return mean(d.template sample<20000>());
        }
      }(),
      a, b);
  const auto exact = gradients_or_zero(
      [&] {
        if constexpr (D::event_shape::rank > 0) {
          return first(d.mean());
        } else {
          return d.mean();
        }
      }(),
      a, b);
  std::get<0>(drawn).named("drawn_a");
  std::get<1>(drawn).named("drawn_b");
  std::get<0>(exact).named("exact_a");
  std::get<1>(exact).named("exact_b");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  CHECK(std::abs(y.at("drawn_a").value(0) - y.at("exact_a").value(0)) < tolerance);
  CHECK(std::abs(y.at("drawn_b").value(0) - y.at("exact_b").value(0)) < tolerance);
}

}  // namespace

TEST_CASE("gradients of the mean square of draws are those of the second moment") {
  const auto check = [](const char* name, const auto& make, double tolerance) {
    CAPTURE(name);
    tf::Graph g;
    auto a = tf::constant<double>(g, 3) * 1;
    auto b = tf::constant<double>(g, 0.8) * 1;
    const auto d = make(a, b);
    const auto drawn = gradients(mean(square(d.template sample<20000>())), a, b);
    const auto exact = gradients(square(d.mean()) + d.variance(), a, b);
    std::get<0>(drawn).named("drawn_a");
    std::get<1>(drawn).named("drawn_b");
    std::get<0>(exact).named("exact_a");
    std::get<1>(exact).named("exact_b");
    const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
    for (const std::string part : {"_a", "_b"}) {
      CHECK(y.at("drawn" + part).value(0) ==
            doctest::Approx(y.at("exact" + part).value(0)).epsilon(tolerance));
    }
  };
  check("gamma", [](auto a, auto b) { return tfd::Gamma(a, b); }, 0.04);
  check("chi2", [](auto a, auto b) { return tfd::Chi2(a * b); }, 0.04);
  check("inverse_gamma", [](auto a, auto b) { return tfd::InverseGamma(a + 6, b); }, 0.04);
  check("beta", [](auto a, auto b) { return tfd::Beta(a, b); }, 0.04);
  check("student_t", [](auto a, auto b) { return tfd::StudentT(a + 9, b, a); }, 0.04);
}

TEST_CASE("gradients go through draws") {
  check_draws("normal", [](auto a, auto b) { return tfd::Normal(a, b); });
  check_draws("log_normal", [](auto a, auto b) { return tfd::LogNormal(a / 3, b / 2); });
  check_draws("truncated", [](auto a, auto b) { return tfd::TruncatedNormal(a, b, 2.5, a + b); });
  check_draws("uniform", [](auto a, auto b) { return tfd::Uniform(b, a); });
  check_draws("laplace", [](auto a, auto b) { return tfd::Laplace(a, b); });
  check_draws("logistic", [](auto a, auto b) { return tfd::Logistic(a, b); });
  check_draws("gumbel", [](auto a, auto b) { return tfd::Gumbel(a, b); });
  check_draws("student_t", [](auto a, auto b) { return tfd::StudentT(a + 3, a, b); });
  check_draws("exponential", [](auto a, auto) { return tfd::Exponential(a); });
  check_draws("gamma", [](auto a, auto b) { return tfd::Gamma(a, b); }, 0.06);
  check_draws("inverse_gamma", [](auto a, auto b) { return tfd::InverseGamma(a + 2, b); });
  check_draws("beta", [](auto a, auto b) { return tfd::Beta(a, b); });
  check_draws("chi2", [](auto a, auto b) { return tfd::Chi2(a * b); }, 0.06);
  check_draws("pareto", [](auto a, auto b) { return tfd::Pareto(a + 2, b); });
  check_draws("weibull", [](auto a, auto b) { return tfd::Weibull(a, b); });
  check_draws("dirichlet", [](auto a, auto b) { return tfd::Dirichlet(tf::stack<0>(a, b)); });
}
