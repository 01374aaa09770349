// SPDX-License-Identifier: Apache-2.0

// The optimisers of typeflow/optimizers.hpp against plain loops of their documented formulas, dense
// and sparse.

#include "support/check_optimizer.hpp"

#include "typeflow/optimizers.hpp"

namespace {

namespace tf = typeflow;

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

}  // namespace

TEST_CASE("RMSProp, plain") {
  test::check_steps(tf::RMSProp{.rate = 0.05, .decay = 0.8, .epsilon = 1e-3}, {{"rms", 1}}, false,
                    [](double& w, double d, double* s, int) {
                      s[0] = 0.8 * s[0] + 0.2 * d * d;
                      w -= 0.05 * d / std::sqrt(s[0] + 1e-3);
                    });
}

TEST_CASE("RMSProp with momentum, centred") {
  test::check_steps(
      tf::RMSProp{.rate = 0.05, .decay = 0.8, .momentum = 0.6, .epsilon = 1e-3, .centered = true},
      {{"rms", 1}, {"mean"}, {"move"}}, false, [](double& w, double d, double* s, int) {
        s[0] = 0.8 * s[0] + 0.2 * d * d;
        s[1] = 0.8 * s[1] + 0.2 * d;
        s[2] = 0.6 * s[2] + 0.05 * d / std::sqrt(s[0] - s[1] * s[1] + 1e-3);
        w -= s[2];
      });
}

TEST_CASE("RMSProp centred without momentum, and with momentum alone") {
  test::check_steps(tf::RMSProp{.rate = 0.05, .decay = 0.8, .epsilon = 1e-2, .centered = true},
                    {{"rms", 1}, {"mean"}}, false, [](double& w, double d, double* s, int) {
                      s[0] = 0.8 * s[0] + 0.2 * d * d;
                      s[1] = 0.8 * s[1] + 0.2 * d;
                      w -= 0.05 * d / std::sqrt(s[0] - s[1] * s[1] + 1e-2);
                    });
  test::check_steps(tf::RMSProp{.rate = 0.05, .decay = 0.8, .momentum = 0.6, .epsilon = 1e-3},
                    {{"rms", 1}, {"move"}}, false, [](double& w, double d, double* s, int) {
                      s[0] = 0.8 * s[0] + 0.2 * d * d;
                      s[1] = 0.6 * s[1] + 0.05 * d / std::sqrt(s[0] + 1e-3);
                      w -= s[1];
                    });
}

TEST_CASE("Adadelta") {
  test::check_steps(tf::Adadelta{.rate = 0.7, .decay = 0.9, .epsilon = 1e-2}, {{"sum"}, {"moves"}},
                    false, [](double& w, double d, double* s, int) {
                      s[0] = 0.9 * s[0] + 0.1 * d * d;
                      const double move = std::sqrt(s[1] + 1e-2) / std::sqrt(s[0] + 1e-2) * d;
                      s[1] = 0.9 * s[1] + 0.1 * move * move;
                      w -= 0.7 * move;
                    });
}

TEST_CASE("Adamax") {
  test::check_steps(tf::Adamax{.rate = 0.05, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3},
                    {{"m"}, {"largest"}}, false, [](double& w, double d, double* s, int step) {
                      s[0] = 0.8 * s[0] + 0.2 * d;
                      s[1] = std::max(0.9 * s[1], std::abs(d));
                      w -= 0.05 / (1 - std::pow(0.8, step)) * s[0] / (s[1] + 1e-3);
                    });
}

TEST_CASE("proximal gradient descent and Adagrad") {
  const auto shrunk = [](double z, double rate) {
    return sign(z) * std::max(std::abs(z) - rate * 0.4, 0.0) / (1 + rate * 0.3);
  };
  test::check_steps(tf::ProximalGradientDescent{.rate = 0.1, .l1 = 0.4, .l2 = 0.3}, {}, false,
                    [&](double& w, double d, double*, int) { w = shrunk(w - 0.1 * d, 0.1); });
  test::check_steps(tf::ProximalAdagrad{.rate = 0.1, .l1 = 0.4, .l2 = 0.3}, {{"sum", 0.1}}, false,
                    [&](double& w, double d, double* s, int) {
                      s[0] += d * d;
                      const double rate = 0.1 / std::sqrt(s[0]);
                      w = shrunk(w - rate * d, rate);
                    });
}

TEST_CASE("Ftrl sets to zero what l1 outweighs") {
  for (const double power : {-0.5, -0.7}) {
    CAPTURE(power);
    int zeros = 0;
    test::check_steps(
        tf::Ftrl{.rate = 0.2, .rate_power = power, .l1 = 0.4, .l2 = 0.3, .l2_shrinkage = 0.05},
        {{"sum", 0.1}, {"linear"}}, false, [&](double& w, double d, double* s, int) {
          const double total = s[0] + d * d;
          s[1] += d + 2 * 0.05 * w - (std::pow(total, -power) - std::pow(s[0], -power)) / 0.2 * w;
          s[0] = total;
          const double curvature = std::pow(total, -power) / 0.2 + 2 * 0.3;
          w = std::abs(s[1]) > 0.4 ? (sign(s[1]) * 0.4 - s[1]) / curvature : 0;
          zeros += w == 0;
        });
    CHECK(zeros > 0);
  }
}

TEST_CASE("Ftrl whose sums start at 0 keeps variables without gradients at 0") {
  tf::Graph g;
  auto v = tf::variable<float, 3>(g, "v");
  auto d = tf::placeholder<float, 3>(g, "d");
  tf::Ftrl{.rate = 0.5, .initial = 0}.minimize(sum(v * d)).named("train");
  tf::ir::ProgramInterpreter programs(g);
  programs.variables = test::start_values(g, {{"v", test::floats({3}, {0, 2, 0.5})}});
  // Without l1 and l2 it is -rate linear / sqrt(sum); of a gradient of 0 there is no sum.
  programs.run({"train"}, {{"d", test::floats({3}, {0, 0, 4})}});
  CHECK(test::elements(programs.variables.at("v")) == std::vector<double>{0, 0, 0});
  programs.run({"train"}, {{"d", test::floats({3}, {0, 3, 0})}});
  CHECK(test::elements(programs.variables.at("v")) == std::vector<double>{0, -0.5, 0});
}

TEST_CASE("LAMB moves each variable by a part of its norm") {
  tf::Graph g;
  auto v = tf::variable<double, 3>(g, "v");
  auto zero = tf::variable<double, 2>(g, "zero");
  auto t = tf::placeholder<double, 3>(g, "t");
  tf::Lamb{.rate = 0.1, .decay = 0.2, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3}
      .minimize(sum(square(v) * t) + sum(zero))
      .named("train");
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  std::vector<double> w{0.3, -0.5, 0.8, 0, 0};
  std::vector<double> m(5), s(5);
  interpreter.variables = programs.variables = test::start_values(
      g, {{"v", test::doubles({3}, {0.3, -0.5, 0.8})}, {"zero", test::doubles({2}, {0, 0})}});
  const std::vector<double> scale{0.5, -1, 2};
  for (int step = 1; step <= 4; ++step) {
    interpreter.run({"train"}, {{"t", test::doubles({3}, scale)}});
    programs.run({"train"}, {{"t", test::doubles({3}, scale)}});
    std::vector<double> r(5);
    for (std::size_t i = 0; i < 5; ++i) {
      const double d = i < 3 ? 2 * w[i] * scale[i] : 1;
      m[i] = 0.8 * m[i] + 0.2 * d;
      s[i] = 0.9 * s[i] + 0.1 * d * d;
      r[i] =
          m[i] / (1 - std::pow(0.8, step)) / (std::sqrt(s[i] / (1 - std::pow(0.9, step))) + 1e-3) +
          0.2 * w[i];
    }
    for (const std::size_t first : {0, 3}) {
      const std::size_t last = first == 0 ? 3 : 5;
      double length = 0;
      double size = 0;
      for (std::size_t i = first; i < last; ++i) {
        length += w[i] * w[i];
        size += r[i] * r[i];
      }
      const double ratio = length > 0 && size > 0 ? std::sqrt(length / size) : 1;
      for (std::size_t i = first; i < last; ++i) w[i] -= 0.1 * ratio * r[i];
    }
    const tf::HostTensor expected = test::doubles({3}, {w[0], w[1], w[2]});
    CHECK(test::difference(interpreter.variables.at("v"), expected) <= 1e-12);
    CHECK(test::difference(programs.variables.at("v"), expected) <= 1e-12);
    CHECK(programs.variables.at("zero").value(1) == doctest::Approx(w[4]).epsilon(1e-12));
  }
}
