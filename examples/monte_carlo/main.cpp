// SPDX-License-Identifier: Apache-2.0

// The Monte Carlo method: means of random numbers for integrals. Points of a square give pi, as the
// share that lies within a quarter of a circle; points of a cube give the volume of a ball of five
// dimensions. The price of a call option on a share (Black and Scholes) is the mean of what it
// pays; antithetic draws, z and -z, nearly halve its error without further random numbers. Each has
// a formula to compare with. Draws pi's error over the number of points as error.svg. Expected: all
// within four standard errors.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <utility>
#include <vector>

#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int draws = 100'000;  // of a run

// A share of 100 that earns 5 % a year with a volatility of 20 %, and an option to buy it for 105
// after a year.
constexpr double price = 100;
constexpr double strike = 105;
constexpr double interest = 0.05;
constexpr double volatility = 0.2;

/// Each result has the sum of the draws and that of their squares.
constexpr void estimates(tf::Graph& g) {
  const auto name = [](tf::Label label, auto x) {
    auto exact = cast<double>(x);  // a sum of a hundred thousand floats would lose digits
    stack<0>(sum(exact), sum(square(exact))).named(label);
  };
  auto points = random_uniform<float, draws, 2>(g, "points");
  name("pi", 4.0f * cast<float>(less(sum<1>(square(points)), 1.0f)));

  // The volume of the unit ball of five dimensions, as a share of the cube of side 2.
  auto cube = random_uniform<float, draws, 5>(g, "cube", -1, 1);
  name("ball", 32.0f * cast<float>(less(sum<1>(square(cube)), 1.0f)));

  auto z = random_normal<float, draws>(g, "z");
  const auto pays = [](auto normal) {
    constexpr double drift = interest - volatility * volatility / 2;
    auto later = price * exp(drift + volatility * cast<double>(normal));
    return 0.951229424500714 * maximum(later - strike, 0.0);  // e^-0.05
  };
  name("option", pays(z));
  name("antithetic", 0.5 * (pays(z) + pays(-z)));
}

/// The formula of Black and Scholes.
double option_price() {
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const double d = (std::log(price / strike) + interest + volatility * volatility / 2) / volatility;
  return price * normal(d) - strike * std::exp(-interest) * normal(d - volatility);
}

struct Estimate {
  const char* name;
  double expected;
  double sum = 0;
  double squares = 0;

  void add(const auto& sums) {
    sum += sums(0);
    squares += sums(1);
  }
  /// The mean, and its standard error.
  std::pair<double, double> of(double n) const {
    const double mean = sum / n;
    return {mean, std::sqrt((squares / n - mean * mean) / n)};
  }
};

void estimate(const examples::Options& options) {
  using std::numbers::pi;
  Estimate all[] = {{"pi", pi},
                    {"a ball of five dimensions", 8 * pi * pi / 15},
                    {"an option", option_price()},
                    {"the same, antithetic", option_price()}};
  tf::Curve errors{.name = "error of pi", .y = {}, .x = {}};
  tf::Curve expected{.name = "standard error", .y = {}, .x = {}};
  tf::Variables variables;
  tf::Session<estimates> session(variables, {.seed = options.seed});
  double n = 0;
  for (std::int64_t run = 0; run < options.steps; ++run) {
    const auto [circle, ball, option, antithetic] =
        session.run<"pi", "ball", "option", "antithetic">();
    n += draws;
    all[0].add(circle);
    all[1].add(ball);
    all[2].add(option);
    all[3].add(antithetic);
    const auto [mean, error] = all[0].of(n);
    errors.x.push_back(n / 1e6);
    errors.y.push_back(std::abs(mean - pi));
    expected.x.push_back(n / 1e6);
    expected.y.push_back(error);
  }

  double worst = 0;
  for (const Estimate& one : all) {
    const auto [mean, error] = one.of(n);
    const double away = std::abs(mean - one.expected) / error;
    std::printf("%-26s %9.5f +- %.5f   formula %9.5f\n", one.name, mean, error, one.expected);
    worst = std::max(worst, away);
  }
  const std::vector<tf::Curve> curves{errors, expected};
  tf::write_plot(options.output, tf::plot_curves(curves, {.title = "pi by random points",
                                                          .x_label = "million points",
                                                          .log_y = true}));
  std::printf("%.0f draws: formulas within %.1f standard errors\n", n, worst);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "The Monte Carlo method.",
                               {.steps = 50, .batch = 0, .rate = 0, .output = "error.svg"},
                               estimate);
}
