// SPDX-License-Identifier: Apache-2.0

// Moving averages of variables, against plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "typeflow/optimizers.hpp"
#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

#include "support/check_optimizer.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// Averages of w, which each run adds 1 to, and what they are by a loop.
template <class Expected>
void check_average(tf::ExponentialMovingAverage averages, const Expected& expected,
                   bool counts = false) {
  tf::Graph g;
  auto w = tf::variable<double>(g, "net/w", tf::zeros);
  tf::Effect train = assign_add(w, 1);
  if (counts) {
    averages.num_updates = global_step(g);
    train += assign_add(global_step(g), 1);
  }
  (train + averages.apply(g.trainable())).named("train");
  (averages.average(w) + 0).named("average");
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  interpreter.variables = programs.variables =
      test::start_values(g, {{"net/w", test::doubles({}, {5})}});
  for (int step = 1; step <= 6; ++step) {
    CAPTURE(step);
    interpreter.run({"train"});
    programs.run({"train"});
    const std::string name = "net/w/ExponentialMovingAverage";
    CHECK(interpreter.variables.at(name).value(0) == doctest::Approx(expected(step)));
    CHECK(programs.run({"average"})[0].value(0) == doctest::Approx(expected(step)));
  }
  CHECK(g.trainable().size() == 1);
}

}  // namespace

TEST_CASE("moving averages start at what the variables are") {
  check_average({.decay = 0.8}, [](int step) {
    double average = 5;
    for (int t = 1; t <= step; ++t) average = 0.8 * average + 0.2 * (5 + t);
    return average;
  });
  check_average({.decay = 0.3, .num_updates = 2}, [](int step) {
    double average = 5;
    for (int t = 1; t <= step; ++t) average = 0.25 * average + 0.75 * (5 + t);
    return average;
  });
}

TEST_CASE("moving averages that follow fast at first") {
  check_average(
      {.decay = 0.3},
      [](int step) {
        double average = 5;
        for (int t = 1; t <= step; ++t) {
          const double decay = std::min(0.3, static_cast<double>(t) / (9 + t));
          average = decay * average + (1 - decay) * (5 + t);
        }
        return average;
      },
      true);
}

TEST_CASE("moving averages without the bias of a start at zero") {
  check_average({.decay = 0.8, .zero_debias = true}, [](int step) {
    double sum = 0;
    for (int t = 1; t <= step; ++t) sum = 0.8 * sum + 0.2 * (5 + t);
    return sum / (1 - std::pow(0.8, step));
  });
}

namespace {

// A variable of each kind of initialiser, and averages that no run has updated.
constexpr void drawn(tf::Graph& g) {
  auto W = tf::variable<float, 3, 4>(g, "fc/W");
  tf::variable<double, 3>(g, "constant", tf::filled(7));
  tf::variable<float, 4, 4>(g, "seeded", tf::normal().with_seed(5));
  tf::variable<float, 2, 3>(g, "turned", tf::orthogonal());
  const tf::ExponentialMovingAverage averages{.decay = 0.5};
  const tf::ExponentialMovingAverage unbiased{.decay = 0.5, .zero_debias = true};
  const tf::VariableList trained = g.trainable();
  auto other = tf::variable<float, 2>(g, "other", tf::ones);
  (averages.apply(trained) + unbiased.apply(g.trainable("other"))).named("update");
  (averages.average(W) + 0).named("smooth");
  (unbiased.average(other) + 0).named("debiased");
}

}  // namespace

TEST_CASE("averages are what their variables start with until the first update") {
  tf::Variables variables;
  tf::Session<drawn> session(variables, {.seed = 3});
  const auto check_equal = [&](const std::string& name, auto zero) {
    CAPTURE(name);
    using T = decltype(zero);
    const auto v = variables.get<T>(name);
    const auto average = variables.get<T>(name + "/ExponentialMovingAverage");
    CHECK(std::ranges::equal(v, average));
    CHECK(v[0] != 0);
  };
  check_equal("fc/W", 0.0f);
  check_equal("constant", 0.0);
  check_equal("seeded", 0.0f);
  check_equal("turned", 0.0f);
  CHECK(variables.get<float>("other/ExponentialMovingAverage")[0] == 0);
  CHECK(session.run<"smooth">()(1, 2) == variables.get<float>("fc/W")[6]);

  // An update of what was set meanwhile counts from that.
  const std::vector<float> set(12, 2);
  variables.set<float>("fc/W", set);
  session.run<"update">();
  CHECK(session.run<"smooth">()(1, 2) == 2);
  CHECK(session.run<"debiased">()(1) == 1);
}

TEST_CASE("a moving average's decay outside of [0, 1] is a mistake of the model") {
  for (const double decay : {1.5, -0.1}) {
    tf::Graph g;
    tf::variable<float>(g, "v", tf::zeros);
    const tf::ExponentialMovingAverage averages{.decay = decay};
    CHECK(message_of([&] { averages.apply(g.trainable()); }).find("decay must be in [0, 1]") !=
          std::string::npos);
  }
}
