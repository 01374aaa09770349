// SPDX-License-Identifier: Apache-2.0

// Chapter 11.1: the book's eight distributions, Bernoulli, Beta, Binomial, Gamma, Exponential,
// Normal, Poisson and Uniform: shapes, densities, statistics, entropies, draws. The densities of
// the book's gamma distributions are compared with their formula, and the mean of a million draws
// of each distribution with its own. Last, a gamma distribution is fitted to draws by the gradient
// of log_prob. Expected: densities as the formula's, to a millionth, and means within four standard
// errors.
//
//   ch11_distributions

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include <typeflow/distributions.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;
namespace tfd = tf::distributions;

constexpr int draws = 1'000'000;

/// The book's gamma distributions: a batch of six with alpha = 3 and beta = 11, and one of (6,2).
constexpr void book(tf::Graph& g) {
  auto x = placeholder<float, 6>(g, "x");
  tfd::Gamma batch(broadcast_to<6>(constant<float>(g, 3)), 11);
  static_assert(std::is_same_v<decltype(batch)::batch_shape, tf::Shape<6>>);
  static_assert(std::is_same_v<decltype(batch)::event_shape, tf::Shape<>>);
  batch.log_prob(x).named("log_prob");

  tfd::Gamma table(broadcast_to<6, 2>(constant<float, 2>(g, {2, 4})),
                   broadcast_to<6, 2>(constant<float, 2>(g, {3, 4})));
  auto y = table.log_prob(expand_dims<1>(x)).named("log_prob_table");
  static_assert(std::is_same_v<decltype(y)::shape, tf::Shape<6, 2>>);
}

template <class D>
constexpr void summarize(tf::Graph& g, tf::Label name, const D& d) {
  tf::Scope in(g, name);
  auto x = cast<float>(d.template sample<draws>());
  (mean(cast<double>(x)) - cast<double>(d.mean())).named("difference");
  d.mean().named("mean");
  d.stddev().named("stddev");
  d.entropy().named("entropy");
}

constexpr void eight(tf::Graph& g) {
  auto one = constant<float>(g, 1);
  summarize(g, "Bernoulli", tfd::Bernoulli(tfd::probs(0.3f * one)));
  summarize(g, "Beta", tfd::Beta(2 * one, 3));
  summarize(g, "Binomial", tfd::Binomial(20, tfd::probs(0.3f * one)));
  summarize(g, "Gamma", tfd::Gamma(3 * one, 11));
  summarize(g, "Exponential", tfd::Exponential(2 * one));
  summarize(g, "Normal", tfd::Normal(one, 2));
  summarize(g, "Poisson", tfd::Poisson(4 * one));
  summarize(g, "Uniform", tfd::Uniform(one, 3));
}

/// A gamma distribution whose parameters are variables, and the one that its data come from.
constexpr void fit(tf::Graph& g) {
  auto alpha = variable<float>(g, "alpha", tf::ones());
  auto beta = variable<float>(g, "beta", tf::ones());
  auto data = tfd::Gamma(constant<float>(g, 3), 11).sample<1000>();
  auto loss = -mean(tfd::Gamma(alpha, beta).log_prob(stop_gradient(data)));
  tf::Adam{.rate = 0.05f}.minimize(loss.named("loss")).named("train");
}

/// alpha log(beta) - lgamma(alpha) + (alpha - 1) log(x) - beta x
double log_gamma_density(double x, double alpha, double beta) {
  return alpha * std::log(beta) - std::lgamma(alpha) + (alpha - 1) * std::log(x) - beta * x;
}

void show(const examples::Options& options) {
  const std::vector<float> x = {2.5f, 2.5f, 4, 0.1f, 1, 2};
  tf::Variables variables;
  tf::Session<book> densities(variables);
  const auto [batch, table] = densities.run<"log_prob", "log_prob_table">(tf::feed<"x">(x));
  double off = 0;  // relative to the density's logarithm, if that is above 1
  const auto compare = [&](double y, double expected) {
    off = std::max(off, std::abs(y - expected) / std::max(1.0, std::abs(expected)));
  };
  std::printf(
      "Gamma(3, 11) and the table of Gamma(2, 3) and Gamma(4, 4), logarithms of densities\n");
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::printf("  x = %.1f  %9.4f  %9.4f %9.4f\n", static_cast<double>(x[i]),
                static_cast<double>(batch(i)), static_cast<double>(table(i, 0)),
                static_cast<double>(table(i, 1)));
    const auto t = static_cast<double>(x[i]);
    compare(static_cast<double>(batch(i)), log_gamma_density(t, 3, 11));
    compare(static_cast<double>(table(i, 0)), log_gamma_density(t, 2, 3));
    compare(static_cast<double>(table(i, 1)), log_gamma_density(t, 4, 4));
  }

  tf::Session<eight> samples(variables, {.seed = options.seed});
  std::printf(
      "a million draws      mean    deviation    entropy  error of the mean, in standard errors\n");
  double worst = 0;
  const auto report = [&](const char* name, const auto& result) {
    const auto [difference, mean, stddev, entropy] = result;
    const double errors =
        difference / (static_cast<double>(stddev) / std::sqrt(static_cast<double>(draws)));
    worst = std::max(worst, std::abs(errors));
    std::printf("  %-12s  %9.4f  %9.4f  %9.4f  %6.2f\n", name, static_cast<double>(mean),
                static_cast<double>(stddev), static_cast<double>(entropy), errors);
  };
  report("Bernoulli", samples.run<"Bernoulli/difference", "Bernoulli/mean", "Bernoulli/stddev",
                                  "Bernoulli/entropy">());
  report("Beta", samples.run<"Beta/difference", "Beta/mean", "Beta/stddev", "Beta/entropy">());
  report(
      "Binomial",
      samples.run<"Binomial/difference", "Binomial/mean", "Binomial/stddev", "Binomial/entropy">());
  report("Gamma", samples.run<"Gamma/difference", "Gamma/mean", "Gamma/stddev", "Gamma/entropy">());
  report("Exponential", samples.run<"Exponential/difference", "Exponential/mean",
                                    "Exponential/stddev", "Exponential/entropy">());
  report("Normal",
         samples.run<"Normal/difference", "Normal/mean", "Normal/stddev", "Normal/entropy">());
  report("Poisson",
         samples.run<"Poisson/difference", "Poisson/mean", "Poisson/stddev", "Poisson/entropy">());
  report("Uniform",
         samples.run<"Uniform/difference", "Uniform/mean", "Uniform/stddev", "Uniform/entropy">());

  tf::Session<fit> fitting(variables, {.seed = options.seed});
  for (std::int64_t step = 0; step < options.steps; ++step) fitting.run<"train">();
  std::printf("fitted to draws of Gamma(3, 11) in %lld steps: Gamma(%.2f, %.2f)\n",
              static_cast<long long>(options.steps),
              static_cast<double>(variables.get<float>("alpha")[0]),
              static_cast<double>(variables.get<float>("beta")[0]));
  std::printf("log_prob differs from the formula by %.1e, means of draws by %.1f standard errors\n",
              off, worst);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "The distributions of chapter 11.1.",
                               {.steps = 2000, .batch = 0, .rate = 0}, show);
}
