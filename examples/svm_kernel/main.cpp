// SPDX-License-Identifier: Apache-2.0

// Support vector machines with a Gaussian kernel, k(x, z) = exp(-gamma |x - z|^2), whose decisions
// need not be linear: two circles; three arms of a spiral, one machine for each arm against the
// others; and hills, by regression. All are trained by coordinate ascent on the dual, one point
// after the other. A constant added to the kernel has the place of a bias. Draws new points of the
// spiral by their classes, as spiral.svg. Expected: accuracies of at least 0.98 on new points of
// the circles, and 0.95 of the spiral.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int points = 300;   // of a training, and of a test
constexpr double bound = 1;   // of dual variables: scikit-learn's C
constexpr double tube = 0.1;  // errors below are none, in regression

/// (N,2) x (M,2) x () -> (N,M)
constexpr auto kernel(auto x, auto z, auto gamma) {
  const auto squares =
      expand_dims<1>(sum<1>(square(x))) + sum<1>(square(z)) - 2.0 * matmul(x, transpose(z));
  return exp(-gamma * maximum(squares, 0.0)) + 1.0;
}

/// The dual variables of a point that are best with all others given: (outputs) -> (outputs)
template <bool is_regression>
constexpr auto best_dual(auto before, auto wanted, auto answer) {
  const double own = 2;  // k(x, x) + 1
  const auto best = before + (wanted - answer) / own;
  if (!is_regression) return wanted * clip_by_value(wanted * best, 0.0, bound);
  return clip_by_value(sign(best) * maximum(abs(best) - tube / own, 0.0), -bound, bound);
}

/// A machine for each class against the others; or one for regression.
template <int outputs, bool is_regression>
constexpr void machine(tf::Graph& g) {
  const auto x = placeholder<double, points, 2>(g, "x");
  const auto y = placeholder<double, points>(g, "y");
  const auto gamma = placeholder<double>(g, "gamma");
  auto a = variable<double, points, outputs>(g, "a", tf::zeros());  // signed dual variables
  const auto column = reshape<points, 1>(y);
  const auto is_class = equal(column, tf::range<double, outputs>(g, 0, 1));
  const auto target = is_regression ? tf::broadcast_to<points, outputs>(column)
                                    : 2.0 * cast<double>(is_class) - 1.0;  // -1 and 1
  // One point after the other. The state is K a: a point changes it by a multiple of K's row.
  const auto step = [](auto sums, auto point) {
    const auto [i, similar, wanted, before] = point;
    const auto after = best_dual<is_regression>(before, wanted, gather(sums, i));
    return std::pair(sums + expand_dims<1>(similar) * (after - before), after);
  };
  const auto similarities = kernel(x, x, gamma);  // (points,points)
  const std::tuple all(tf::range<std::int32_t, points>(g, 0, 1), similarities, target, a);
  assign(a, scan(step, matmul(similarities, a), all).second).named("pass");
  mean(cast<double>(not_equal(a, 0.0))).named("support");
  const auto asked = placeholder<double, points, 2>(g, "asked");
  const auto truth = placeholder<double, points>(g, "truth");
  const auto answer = matmul(kernel(asked, x, gamma), a);  // (points,outputs)
  const auto found = argmax<1>(answer).named("classes");
  const auto error = sqrt(mean(square(answer - reshape<points, 1>(truth))));
  const auto accuracy = mean(cast<double>(equal(cast<double>(found), truth)));
  (is_regression ? error : accuracy).named("figure");
}

struct Set {
  std::vector<double> x, y;  // (points,2), and (points): classes or heights
  /// place(i) gives the two numbers of a point, and its class or height.
  explicit Set(auto place) {
    for (int i = 0; i < points; ++i) {
      const auto [a, b, value] = place(i);
      x.insert(x.end(), {a, b});
      y.push_back(value);
    }
  }
};

/// Trains on one set. The accuracy on another, or the root of the mean squared error, and classes.
template <int outputs, bool is_regression>
auto train_machine(const Set& train, const Set& test, double width, std::int64_t passes) {
  tf::Variables variables;
  tf::Session<machine<outputs, is_regression>> session(variables);
  const auto x = tf::feed<"x">(train.x);
  const auto gamma = tf::feed<"gamma">(width);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    session.template run<"pass">(x, tf::feed<"y">(train.y), gamma);
  }
  std::printf("%.2f of the dual variables are not 0\n", session.template run<"support">());
  return session.template run<"figure", "classes">(x, gamma, tf::feed<"asked">(test.x),
                                                   tf::feed<"truth">(test.y));
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal;
  const auto hills = [&](double noise) {
    return Set([&](int) {
      const double x = 2 * uniform(random) - 1, y = 2 * uniform(random) - 1;
      return std::tuple(x, y, std::sin(3 * x) * std::cos(2 * y) + noise * normal(random));
    });
  };
  const auto about = [&](double radius, double turn, double noise, int kind) {
    const double angle = 2 * std::numbers::pi * turn;
    return std::tuple(radius * std::cos(angle) + noise * normal(random),
                      radius * std::sin(angle) + noise * normal(random), double(kind));
  };
  const auto arm = [&](int i) {  // three, each of a whole turn
    const double radius = 0.15 + 0.85 * uniform(random);
    return about(radius, radius + i % 3 / 3.0, 0.02, i % 3);
  };
  const auto circle = [&](int i) { return about(1 - i % 2 / 2.0, uniform(random), 0.08, i % 2); };
  const auto surface = train_machine<1, true>(hills(0.1), hills(0), 2, options.steps);
  std::printf("hills: root of the mean squared error %.4f\n", std::get<0>(surface));
  const Set new_points(arm);
  const auto [spiral, found] = train_machine<3, false>(Set(arm), new_points, 20, options.steps);
  const std::vector<float> places(new_points.x.begin(), new_points.x.end());
  tf::write_plot(options.output, tf::plot_points(places, found, {"first arm", "second", "third"},
                                                 {.title = "new points of a spiral"}));
  std::printf("three arms of a spiral: accuracy %.4f\n", spiral);
  const auto circles = train_machine<2, false>(Set(circle), Set(circle), 2, options.steps);
  std::printf("test accuracy of circles %.4f\n", std::get<0>(circles));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Support vector machines with a Gaussian kernel.",
                               {.steps = 1000, .batch = 0, .rate = 0, .output = "spiral.svg"},
                               train);
}
