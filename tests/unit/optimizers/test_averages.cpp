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
  auto w = tf::variable<double>(g, "net/w", tf::zeros());
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

TEST_CASE("moving averages without bias that follow fast at first") {
  check_average(
      {.decay = 0.3, .zero_debias = true},
      [](int step) {
        double sum = 0;
        double weight = 1;
        for (int t = 1; t <= step; ++t) {
          const double decay = std::min(0.3, static_cast<double>(t) / (9 + t));
          sum = decay * sum + (1 - decay) * (5 + t);
          weight *= decay;
        }
        return sum / (1 - weight);
      },
      true);
}

TEST_CASE("a moving average with a decay of 1 stays where its variable was at the first update") {
  check_average({.decay = 1}, [](int) { return 5.0; });
  check_average({.decay = 1, .zero_debias = true}, [](int) { return 0.0; });
}

TEST_CASE("a moving average with decays from outside, 1 among them") {
  for (const bool zero_debias : {false, true}) {
    CAPTURE(zero_debias);
    tf::Graph g;
    auto w = tf::variable<double>(g, "w", tf::zeros());
    const tf::ExponentialMovingAverage averages{.decay = tf::placeholder<double>(g, "decay"),
                                                .zero_debias = zero_debias};
    const tf::Effect train = assign_add(w, 1);
    (train + averages.apply(g.trainable())).named("train");
    tf::Interpreter interpreter(g);
    tf::ir::ProgramInterpreter programs(g);
    interpreter.variables = programs.variables =
        test::start_values(g, {{"w", test::doubles({}, {5})}});
    double average = zero_debias ? 0 : 5;
    double weight = 1;
    double now = 5;
    for (const double decay : {1.0, 1.0, 0.5, 0.5, 1.0, 0.25}) {
      const tf::HostTensors feeds = {{"decay", test::doubles({}, {decay})}};
      interpreter.run({"train"}, feeds);
      programs.run({"train"}, feeds);
      average = decay * average + (1 - decay) * ++now;
      weight *= decay;
      const double expected = !zero_debias ? average : weight == 1 ? 0 : average / (1 - weight);
      for (const tf::HostTensors& variables : {interpreter.variables, programs.variables}) {
        CHECK(variables.at("w/ExponentialMovingAverage").value(0) == doctest::Approx(expected));
      }
    }
  }
}

TEST_CASE("moving averages of variables of 16 bits are float") {
  for (const bool zero_debias : {false, true}) {
    CAPTURE(zero_debias);
    tf::Graph g;
    auto w = tf::variable<tf::bfloat16, 2>(g, "w", tf::zeros());
    const tf::ExponentialMovingAverage averages{.zero_debias = zero_debias};
    const tf::Effect train = assign(w, 1);
    (train + averages.apply(g.trainable())).named("train");
    static_assert(std::is_same_v<decltype(averages.average(w)), tf::Variable<float, tf::Shape<2>>>);
    tf::Interpreter interpreter(g);
    tf::ir::ProgramInterpreter programs(g);
    interpreter.variables = programs.variables = test::start_values(g, {});
    double average = 0;
    for (int step = 0; step < 100; ++step) {
      interpreter.run({"train"});
      programs.run({"train"});
      average = 0.999 * average + 0.001;
    }
    if (zero_debias) average = 1;
    for (const tf::HostTensors& variables : {interpreter.variables, programs.variables}) {
      const tf::HostTensor& got = variables.at("w/ExponentialMovingAverage");
      CHECK(got.dtype == tf::DType::float32);
      CHECK(got.value(1) == doctest::Approx(average).epsilon(1e-5));
    }
  }
}

TEST_CASE("sums of gradients of 16 bits are float") {
  tf::Graph g;
  auto w = tf::variable<tf::bfloat16, 3>(g, "w", tf::zeros());
  auto table = tf::variable<tf::float16, 4, 2>(g, "table", tf::zeros());
  auto ids = tf::placeholder<std::int32_t, 3>(g, "ids");
  auto loss = cast<float>(sum(w)) + cast<float>(sum(gather(table, ids)));
  const tf::GradientSums sums(gradients(loss));
  sums.add().named("add");
  tf::GradientDescent{.rate = 1}.apply(sums.mean()).named("train");
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  interpreter.variables = programs.variables = test::start_values(g, {});
  const tf::HostTensors feeds = {{"ids", test::ints({3}, {2, 0, 2})}};
  for (int step = 0; step < 1000; ++step) {
    interpreter.run({"add"}, feeds);
    programs.run({"add"}, feeds);
  }
  interpreter.run({"train"});
  programs.run({"train"});
  for (const tf::HostTensors& variables : {interpreter.variables, programs.variables}) {
    CHECK(variables.at("w/accumulated").value(0) == 1000);
    CHECK(variables.at("table/accumulated").value(4) == 2000);
    CHECK(test::elements(variables.at("w")) == std::vector<double>(3, -1));
    CHECK(test::elements(variables.at("table")) == std::vector<double>{-1, -1, 0, 0, -2, -2, 0, 0});
  }
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
  auto other = tf::variable<float, 2>(g, "other", tf::ones());
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
    tf::variable<float>(g, "v", tf::zeros());
    const tf::ExponentialMovingAverage averages{.decay = decay};
    CHECK(message_of([&] { averages.apply(g.trainable()); }).find("decay must be in [0, 1]") !=
          std::string::npos);
  }
}
