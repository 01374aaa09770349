// SPDX-License-Identifier: Apache-2.0

// Functions of numbers, bits and random numbers on a pretended GPU, as on the processor.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include <typeflow/bits.hpp>
#include <typeflow/distributions/count_functions.hpp>
#include <typeflow/distributions/log_tails.hpp>
#include <typeflow/distributions/truncated_quantile.hpp>
#include <typeflow/distributions/von_mises_functions.hpp>
#include <typeflow/operations.hpp>
#include <typeflow/random.hpp>

namespace {

namespace tf = typeflow;

template <class T>
constexpr void functions(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 19>(g, {"x", i});
  auto y = tf::placeholder<T, 19>(g, {"y", i});
  auto share = sigmoid(x);          // in (0, 1)
  auto inside = 2 * share - 1;      // in (-1, 1)
  auto positive = 0.1 + square(x);  // in [0.1, 4.1)
  auto above = 1 + square(y);
  sin(x).named({"sin", i});
  cos(x).named({"cos", i});
  tan(inside).named({"tan", i});
  asin(inside).named({"asin", i});
  acos(inside).named({"acos", i});
  atan(x).named({"atan", i});
  atan2(x, y).named({"atan2", i});
  sinh(x).named({"sinh", i});
  cosh(x).named({"cosh", i});
  asinh(x).named({"asinh", i});
  acosh(above).named({"acosh", i});
  atanh(inside).named({"atanh", i});
  expm1(x).named({"expm1", i});
  rsqrt(positive).named({"rsqrt", i});
  log1p(positive).named({"log1p", i});
  pow(positive, y).named({"pow", i});
  pow(x, 3).named({"cube", i});
  pow(positive, 0.5).named({"pow_half", i});
  pow(positive, -0.5).named({"pow_minus_half", i});
  pow(positive, -2).named({"pow_minus_two", i});
  pow(x, 5).named({"fifth_power", i});
  floor(x).named({"floor", i});
  ceil(x).named({"ceil", i});
  round(2 * x).named({"round", i});
  sign(x).named({"sign", i});
  tf::leaky_relu(x, 0.3f).named({"leaky_relu", i});
  tf::softsign(x).named({"softsign", i});
  floordiv(x, y).named({"floordiv", i});
  mod(x, y).named({"mod", i});
  not_equal(x, y).named({"not_equal", i});
  less_equal(x, y).named({"less_equal", i});
  tf::prod<1>(x).named({"prod", i});
  tf::prod<0>(x).named({"prod_of_batch", i});
}
template <class T>
constexpr void special_functions(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 19>(g, {"x", i});
  auto y = tf::placeholder<T, 19>(g, {"y", i});
  auto share = sigmoid(x);
  auto positive = 0.1 + square(x);
  gelu(x).named({"gelu", i});
  tf::gradients(sum(gelu(x) * y), x).named({"gelu_slope", i});
  erf(x).named({"erf", i});
  erfc(x).named({"erfc", i});
  erfinv(2 * share - 1).named({"erfinv", i});
  lgamma(positive).named({"lgamma", i});
  digamma(positive).named({"digamma", i});
  trigamma(positive).named({"trigamma", i});
  tf::polygamma<2>(positive).named({"polygamma", i});
  igamma(positive, exp(y)).named({"igamma", i});
  igammac(positive, exp(y)).named({"igammac", i});
  zeta(1.5 + square(x), exp(y)).named({"zeta", i});
  betainc(positive, exp(y), share).named({"betainc", i});
  const auto half = 0.5 * share + 0.25;
  igammainv(positive, half).named({"igammainv", i});
  igammacinv(positive, half).named({"igammacinv", i});
  betaincinv(positive, exp(y), half).named({"betaincinv", i});
  const auto [gamma_a, gamma_x] = tf::gradients(sum(igamma(positive, exp(y))), positive, y);
  gamma_a.named({"igamma_slope", i});
  gamma_x.named({"gamma_density", i});
  const auto [beta_a, beta_b, beta_x] =
      tf::gradients(sum(betainc(positive, exp(y), share)), positive, y, share);
  beta_a.named({"betainc_slope_a", i});
  beta_b.named({"betainc_slope_b", i});
  beta_x.named({"beta_density", i});
  bessel_i0(x).named({"bessel_i0", i});
  bessel_i1(x).named({"bessel_i1", i});
  bessel_i0e(x).named({"bessel_i0e", i});
  bessel_i1e(x).named({"bessel_i1e", i});
}
/// What distributions' entropies, distribution functions and quantiles are made of.
template <class T>
constexpr void functions_of_distributions(tf::Graph& g, int i) {
  namespace ops = tf::ops;
  auto x = tf::placeholder<T, tf::batch, 19>(g, {"x", i});
  auto rate = 0.5 + 2 * square(x);
  auto share = 0.1 + 0.8 * sigmoid(x);
  auto n = 3 + floor(4 * square(x));
  const auto add = [&](tf::Label name, tf::Label slope, const auto& y, const auto& of) {
    y.named(name);
    tf::gradients(sum(y), of).named(slope);
  };
  add({"poisson_entropy", i}, {"poisson_entropy_slope", i}, apply(ops::PoissonEntropy{}, rate),
      rate);
  add({"binomial_entropy", i}, {"binomial_entropy_slope", i}, apply(ops::BinomialEntropy{}, n, x),
      x);
  add({"multinomial_share", i}, {"multinomial_share_slope", i},
      apply(ops::MultinomialShare{}, n, share), share);
  apply(ops::PoissonQuantile{}, rate, share).named({"poisson_quantile", i});
  apply(ops::BinomialQuantile{}, n, 1 - share, share, 0.71f + 0 * x)
      .named({"binomial_quantile", i});
  add({"von_mises_cdf", i}, {"von_mises_cdf_slope", i}, apply(ops::VonMisesCdf{}, rate, x), rate);
  add({"von_mises_log_cdf", i}, {"von_mises_log_cdf_slope", i},
      apply(ops::VonMisesLogCdf{}, rate, x), rate);
  add({"von_mises_quantile", i}, {"von_mises_quantile_slope", i},
      apply(ops::VonMisesQuantile{}, rate, share), rate);
  apply(ops::Betaincc{}, n, rate, share).named({"betaincc", i});
  add({"log_igamma", i}, {"log_igamma_slope", i}, apply(ops::LogIgamma{{}, 0}, n, rate), rate);
  add({"log_igammac", i}, {"log_igammac_slope", i}, apply(ops::LogIgamma{{}, 1}, rate, n), rate);
  add({"log_betainc", i}, {"log_betainc_slope", i}, apply(ops::LogBetainc{{}, 0}, n, rate, share),
      rate);
  add({"log_betaincc", i}, {"log_betaincc_slope", i}, apply(ops::LogBetainc{{}, 1}, n, rate, share),
      share);
  apply(ops::TruncatedNormalQuantile{}, x, rate, x - 1, x + n, share).named({"truncated", i});
}
template <class T>
constexpr void slopes(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 7>(g, {"x", i});
  auto y = tf::placeholder<T, tf::batch, 7>(g, {"y", i});
  const auto [dx, dy] = tf::gradients(sum(abs(x) * maximum(x, y) + minimum(x * y, y)), x, y);
  dx.named({"dx", i});
  dy.named({"dy", i});
}
constexpr void of_floats(tf::Graph& g) {
  functions<float>(g, 0);
  special_functions<float>(g, 1);
  slopes<float>(g, 2);
  functions_of_distributions<float>(g, 3);
}
constexpr void of_doubles(tf::Graph& g) {
  functions<double>(g, 0);
  special_functions<double>(g, 1);
  slopes<double>(g, 2);
  functions_of_distributions<double>(g, 3);
}

template <class T>
constexpr void integers(tf::Graph& g, int i) {
  auto a = tf::placeholder<T, tf::batch, 9>(g, {"a", i});
  auto b = tf::placeholder<T, 9>(g, {"b", i});
  auto c = a - 5;
  tf::bitwise_and(c, b).named({"and", i});
  tf::bitwise_or(c, b).named({"or", i});
  tf::bitwise_xor(c, b).named({"xor", i});
  tf::invert(a).named({"invert", i});
  tf::left_shift(c, b).named({"left", i});
  tf::right_shift(c, b).named({"right", i});
  floordiv(c, b).named({"floordiv", i});
  mod(c, b - 4).named({"mod", i});
  pow(c, b).named({"pow", i});
  sign(c).named({"sign", i});
  not_equal(a, b).named({"not_equal", i});
  less_equal(a, b).named({"less_equal", i});
  tf::prod<1>(c).named({"prod", i});
}
constexpr void of_integers(tf::Graph& g) {
  integers<std::int32_t>(g, 0);
  integers<std::uint8_t>(g, 1);
  integers<std::int64_t>(g, 2);
}

template <class T>
constexpr void draws(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 7>(g, {"x", i});
  auto alpha = 0.1 + square(x);
  auto sample = tf::random_gamma(alpha, {"gamma", i});
  sample.named({"gamma_sample", i});
  tf::gradients(tf::sum(sample), alpha).named({"slope", i});
  tf::random_poisson(alpha, {"poisson", i}).named({"poisson_sample", i});
  tf::random_binomial(floor(30 * alpha), sigmoid(x), {"binomial", i}).named({"binomial_sample", i});
  tf::random_von_mises(alpha, {"von_mises", i}).named({"von_mises_sample", i});
  tf::truncated_normal<T, 5, 7>(g, {"truncated", i}).named({"truncated_sample", i});
}
constexpr void drawn(tf::Graph& g) {
  draws<float>(g, 0);
  draws<double>(g, 1);
  tf::random_uniform<std::int32_t, 50>(g, "integers", -3, 900).named("integer_sample");
}

/// Checks that find nothing wrong; values in the order of statements.
constexpr void checked(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7>(g, "x");
  auto v = tf::variable<float, 7>(g, "v", tf::ones(), false);
  tf::check_numerics(x).named("numbers");
  tf::dropout(x, {.keep = sigmoid(tf::placeholder<float>(g, "keep")), .name = "dropped"})
      .named("kept");
  auto step = tf::assign_add(v, tf::sum<0>(x));
  step.named("step");
  (v.read() * 2).named("now");
  tf::after(step, x).named("after");
}

}  // namespace

TEST_CASE("a GPU computes functions as the processor does") {
  for (const std::int64_t batch : {0, 1, 30}) {
    test::check_cuda<of_floats>(batch, 5e-6);
    test::check_cuda<of_doubles>(batch, 1e-13);
  }
}
TEST_CASE("a GPU computes with bits and integers as the processor does") {
  for (const std::int64_t batch : {0, 1, 30}) test::check_cuda<of_integers>(batch, 0);
}
TEST_CASE("a GPU draws the processor's random numbers") {
  for (const std::int64_t batch : {1, 30}) test::check_cuda<drawn>(batch, 1e-5);
}
TEST_CASE("a GPU checks numbers and keeps the order of statements as the processor does") {
  for (const std::int64_t batch : {1, 30}) test::check_cuda<checked>(batch);
}
