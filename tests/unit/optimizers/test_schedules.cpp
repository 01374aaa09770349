// SPDX-License-Identifier: Apache-2.0

// Schedules against the formulas of TensorFlow's documentation, step by step, and what counts
// steps.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "typeflow/optimizers.hpp"
#include "typeflow/testing.hpp"

#include "support/host_tensors.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// A schedule of an integer step against a function, for the first steps and some late ones.
template <class Schedule>
void check(const Schedule& schedule, const std::function<double(double)>& expected) {
  tf::Graph g;
  schedule(tf::placeholder<std::int64_t>(g, "step")).named("rate");
  tf::Interpreter interpreter(g);
  for (const int step : {0, 1, 2, 5, 9, 10, 11, 19, 20, 21, 25, 29, 30, 31, 69, 70, 71, 99, 1000}) {
    CAPTURE(step);
    const tf::HostTensor rate = interpreter.run(
        {"rate"}, {{"step", test::tensor(tf::DType::int64, {}, {static_cast<double>(step)})}})[0];
    CHECK(rate.dtype == tf::DType::float32);
    CHECK(rate.value(0) == doctest::Approx(expected(step)).epsilon(1e-6));
  }
}

constexpr void counting(tf::Graph& g) {
  tf::Scope in(g, "net");
  auto v = tf::variable<double>(g, "v", tf::zeros());
  auto step = global_step(g);
  auto rate = piecewise_constant(step, {1}, {1, 0.5});
  tf::GradientDescent{.rate = rate}.minimize(v + 0, global_step(g)).named("train");
}

}  // namespace

TEST_CASE("exponential, natural exponential and inverse time decay") {
  for (const bool staircase : {false, true}) {
    const tf::ExponentialDecay o{.rate = 0.2, .steps = 10, .decay = 0.9, .staircase = staircase};
    const auto part = [&](double t) { return staircase ? std::floor(t / 10) : t / 10; };
    check([&](auto step) { return exponential_decay(step, o); },
          [&](double t) { return 0.2 * std::pow(0.9, part(t)); });
    check([&](auto step) { return natural_exp_decay(step, o); },
          [&](double t) { return 0.2 * std::exp(-0.9 * part(t)); });
    check([&](auto step) { return inverse_time_decay(step, o); },
          [&](double t) { return 0.2 / (1 + 0.9 * part(t)); });
  }
}

TEST_CASE("piecewise constants change behind their boundaries") {
  check([](auto step) { return piecewise_constant(step, {10, 20}, {0.3, 0.2, 0.1}); },
        [](double t) { return t <= 10   ? 0.3
                              : t <= 20 ? 0.2
                                        : 0.1; });
}

TEST_CASE("polynomial decay, and with cycles") {
  check(
      [](auto step) {
        return polynomial_decay(step, {.rate = 0.2, .steps = 20, .end = 0.05, .power = 2});
      },
      [](double t) { return 0.15 * std::pow(1 - std::min(t, 20.0) / 20, 2) + 0.05; });
  check(
      [](auto step) {
        return polynomial_decay(
            step, {.rate = 0.2, .steps = 20, .end = 0.05, .power = 0.5, .cycle = true});
      },
      [](double t) {
        double steps = 20;
        while (steps < t) steps += 20;
        return 0.15 * std::sqrt(1 - t / steps) + 0.05;
      });
}

TEST_CASE("cosine decay, and with restarts") {
  const auto wave = [](double part) { return 0.5 * (1 + std::cos(std::numbers::pi * part)); };
  check([](auto step) { return cosine_decay(step, {.rate = 0.2, .steps = 20, .least = 0.1}); },
        [&](double t) { return 0.2 * (0.9 * wave(std::min(t, 20.0) / 20) + 0.1); });
  for (const double longer : {1.0, 2.0, 3.0}) {
    CAPTURE(longer);
    check(
        [&](auto step) {
          return cosine_decay_restarts(
              step, {.rate = 0.2, .steps = 10, .longer = longer, .lower = 0.8, .least = 0.1});
        },
        [&](double t) {
          double length = 10;
          double top = 1;
          while (t >= length) {
            t -= length;
            length *= longer;
            top *= 0.8;
          }
          return 0.2 * (0.9 * top * wave(t / length) + 0.1);
        });
  }
}

TEST_CASE("a warm-up of a number, and of a schedule") {
  check([](auto step) { return linear_warmup(step, 0.2, 20); },
        [](double t) { return 0.2 * std::min(t / 20, 1.0); });
  check(
      [](auto step) {
        return linear_warmup(step, exponential_decay(step, {.rate = 0.2, .steps = 5}), 20);
      },
      [](double t) { return 0.2 * std::pow(0.96, t / 5) * std::min(t / 20, 1.0); });
}

TEST_CASE("the global step is one variable of the model; minimize counts in it") {
  tf::Graph g;
  counting(g);
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"net/v", test::doubles({}, {0})},
                           {"global_step", test::tensor(tf::DType::int64, {}, {0})}};
  for (int i = 0; i < 4; ++i) interpreter.run({"net/train"});
  CHECK(interpreter.variables.at("net/v").value(0) == -3);  // 1 + 1 + 0.5 + 0.5
  CHECK(interpreter.variables.at("global_step").value(0) == 4);
  CHECK(g.trainable().size() == 1);
}

TEST_CASE("boundaries of piecewise_constant must rise") {
  tf::Graph g;
  auto step = tf::placeholder<std::int64_t>(g, "step");
  const std::string expected = "each boundary must be more than the one before it";
  CHECK(message_of([&] { piecewise_constant(step, {20, 10}, {0.1, 0.2, 0.3}); }).find(expected) !=
        std::string::npos);
  CHECK(message_of([&] { piecewise_constant(step, {10, 10}, {0.1, 0.2, 0.3}); }).find(expected) !=
        std::string::npos);
  CHECK(message_of([&] { piecewise_constant(step, {10, 20}, {0.1, 0.2, 0.3}); }).empty());
}
