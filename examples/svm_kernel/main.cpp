// SPDX-License-Identifier: Apache-2.0

// Support vector machines with a Gaussian kernel, k(x, z) = exp(-gamma |x - z|^2), whose decisions
// need not be linear: two circles, one inside the other; three arms of a spiral, one machine for
// each arm against the others; and a curve, by regression. All are trained by coordinate ascent on
// the dual, one point after the other. A constant added to the kernel has the place of a bias.
// Expected: accuracies of at least 0.98 on new points of the circles, and 0.95 of the spiral.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int points = 300;   // of a training
constexpr double bound = 1;   // of dual variables: scikit-learn's C
constexpr double tube = 0.1;  // errors below are none, in regression

/// (N,2) x (M,2) x () -> (N,M)
constexpr auto kernel(auto x, auto z, auto gamma) {
  const auto squares =
      expand_dims<1>(sum<1>(square(x))) + sum<1>(square(z)) - 2.0 * matmul(x, transpose(z));
  return exp(-gamma * maximum(squares, 0.0)) + 1.0;
}

/// The dual variables of a point that are best with all others given.
/// (outputs) x (outputs) x (outputs) -> (outputs)
template <bool is_regression>
constexpr auto best_dual(auto before, auto wanted, auto answer) {
  const double own = 2;  // k(x, x) + 1
  const auto error = wanted - answer;
  if constexpr (is_regression) {
    const auto best = error + own * before;
    return clip_by_value(sign(best) * maximum(abs(best) - tube, 0.0) / own, -bound, bound);
  } else {
    return wanted * clip_by_value(wanted * (before + error / own), 0.0, bound);
  }
}

/// Targets are -1 and 1 for classes, a column for each; numbers for regression.
template <int outputs, bool is_regression>
constexpr void machine(tf::Graph& g) {
  const auto x = placeholder<double, points, 2>(g, "x");
  const auto target = placeholder<double, points, outputs>(g, "target");
  const auto gamma = placeholder<double>(g, "gamma");
  auto a = variable<double, points, outputs>(g, "a", tf::zeros());  // signed dual variables

  // One point after the other. The state is K a, of which a point changes a multiple of its row of
  // K.
  const auto step = [](auto sums, auto point) {
    const auto [i, similar, wanted, before] = point;
    const auto after = best_dual<is_regression>(before, wanted, gather(sums, i));
    return std::pair(sums + expand_dims<1>(similar) * (after - before), after);
  };
  const auto similarities = kernel(x, x, gamma);  // (points,points)
  const auto order = tf::range<std::int32_t, points>(g, 0, 1);
  const auto next = scan(step, matmul(similarities, a), std::tuple(order, similarities, target, a));
  assign(a, next.second).named("pass");

  const auto asked = placeholder<double, tf::batch, 2>(g, "asked");
  matmul(kernel(asked, x, gamma), a).named("answer");  // (batch,outputs)
}

struct Set {
  std::vector<double> x;  // (points,2)
  std::vector<double> y;
};

/// Circles of radius 1 and 0.5 with noise of deviation 0.08, in turns.
Set circles(std::mt19937_64& random) {
  std::uniform_real_distribution<double> angle(0, 2 * std::numbers::pi);
  std::normal_distribution<double> noise(0, 0.08);
  Set set;
  for (int i = 0; i < points; ++i) {
    const double at = angle(random);
    const double radius = i % 2 == 0 ? 1 : 0.5;
    set.x.push_back(radius * std::cos(at) + noise(random));
    set.x.push_back(radius * std::sin(at) + noise(random));
    set.y.push_back(i % 2);
  }
  return set;
}

/// Three arms, each of a whole turn.
Set spiral(std::mt19937_64& random) {
  std::uniform_real_distribution<double> along(0.15, 1);
  std::normal_distribution<double> noise(0, 0.02);
  Set set;
  for (int i = 0; i < points; ++i) {
    const double radius = along(random);
    const double at = 2 * std::numbers::pi * (radius + i % 3 / 3.0);
    set.x.push_back(radius * std::cos(at) + noise(random));
    set.x.push_back(radius * std::sin(at) + noise(random));
    set.y.push_back(i % 3);
  }
  return set;
}

double height(double x, double y) { return std::sin(3 * x) * std::cos(2 * y); }

/// Heights over a square, with noise of deviation 0.1.
Set hills(std::mt19937_64& random) {
  std::uniform_real_distribution<double> place(-1, 1);
  std::normal_distribution<double> noise(0, 0.1);
  Set set;
  for (int i = 0; i < points; ++i) {
    const double x = place(random);
    const double y = place(random);
    set.x.insert(set.x.end(), {x, y});
    set.y.push_back(height(x, y) + noise(random));
  }
  return set;
}

/// Trains on one set, and gives the answers for another.
template <int outputs, bool is_regression>
tf::Array<double, 2> answers(const Set& train, const Set& test, double gamma, std::int64_t passes) {
  std::vector<double> target;
  for (const double y : train.y) {
    for (int c = 0; c < outputs; ++c) target.push_back(is_regression ? y : y == c ? 1 : -1);
  }
  tf::Variables variables;
  tf::Session<machine<outputs, is_regression>> session(variables);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    session.template run<"pass">(tf::feed<"x">(train.x), tf::feed<"target">(target),
                                 tf::feed<"gamma">(gamma));
  }
  const auto support = variables.get<double>("a");
  std::printf("  %d of %d dual variables are not 0\n",
              static_cast<int>(
                  std::count_if(support.begin(), support.end(), [](double a) { return a != 0; })),
              static_cast<int>(support.size()));
  return session.template run<"answer">(tf::feed<"x">(train.x), tf::feed<"asked">(test.x),
                                        tf::feed<"gamma">(gamma));
}

double accuracy(const tf::Array<double, 2>& scores, const std::vector<double>& labels) {
  int correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < scores.shape(1); ++c) {
      if (scores(i, c) > scores(i, best)) best = c;
    }
    correct += static_cast<double>(best) == labels[i];
  }
  return correct / static_cast<double>(labels.size());
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);

  std::puts("regression: hills");
  const Set surface = hills(random);
  const Set more = hills(random);
  const auto heights = answers<1, true>(surface, more, 2, options.steps);
  double squares = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double error = heights(i, 0) - height(more.x[2 * i], more.x[2 * i + 1]);
    squares += error * error;
  }
  std::printf("  root of the mean squared error %.4f\n", std::sqrt(squares / points));

  std::puts("three classes: arms of a spiral");
  const Set arms = spiral(random);
  const Set other_arms = spiral(random);
  std::printf("  accuracy %.4f\n",
              accuracy(answers<3, false>(arms, other_arms, 20, options.steps), other_arms.y));

  std::puts("two classes: circles");
  const Set rings = circles(random);
  const Set other_rings = circles(random);
  std::printf("test accuracy %.4f\n",
              accuracy(answers<2, false>(rings, other_rings, 2, options.steps), other_rings.y));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Support vector machines with a Gaussian kernel.",
                               {.steps = 1000, .batch = 0, .rate = 0}, train);
}
