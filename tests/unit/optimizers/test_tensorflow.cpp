// SPDX-License-Identifier: Apache-2.0

// Optimisers, schedules and moving averages beside TensorFlow's: ten steps of a vector and of a
// table of embeddings, of which a step reads rows once, twice or not at all.
// tests/peers/tensorflow_figures.py wrote down what TensorFlow computes.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/optimizers.hpp"
#include "typeflow/testing.hpp"

#include "peers/tensorflow_figures.hpp"
#include "support/check_optimizer.hpp"

namespace {

namespace tf = typeflow;
namespace peer = peers::tensorflow;

void check_equal(const tf::HostTensor& x, const std::vector<double>& expected, double tolerance) {
  REQUIRE(x.size() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(x.value(static_cast<std::int64_t>(i)) == doctest::Approx(expected[i]).epsilon(tolerance));
  }
}

void check_steps(const auto& optimizer, const std::vector<double>& w_after,
                 const std::vector<double>& table_after = {}) {
  CAPTURE(std::string(optimizer.name_of_test));
  tf::Graph g;
  auto w = tf::variable<double, 6>(g, "w");
  auto table = tf::variable<double, 5, 2>(g, "table");
  auto weights = tf::placeholder<double, 6>(g, "weights");
  auto goal = tf::placeholder<double, 6>(g, "goal");
  auto rows_goal = tf::placeholder<double, 4, 2>(g, "rows_goal");
  auto ids = tf::placeholder<std::int32_t, 4>(g, "ids");
  auto loss = sum(weights * square(w - goal)) + sum(square(gather(table, ids) - rows_goal));
  optimizer.optimizer.minimize(loss).named("train");
  tf::ir::ProgramInterpreter programs(g);
  programs.variables = test::start_values(g, {{"w", test::doubles({6}, peer::w_start)},
                                              {"table", test::doubles({5, 2}, peer::table_start)}});
  for (int step = 0; step < 10; ++step) {
    const std::vector<std::int32_t>& read = step % 2 == 0 ? peer::ids_even : peer::ids_odd;
    programs.run({"train"}, {{"weights", test::doubles({6}, peer::weights)},
                             {"goal", test::doubles({6}, peer::goal)},
                             {"rows_goal", test::doubles({4, 2}, peer::rows_goal)},
                             {"ids", test::ints({4}, {read.begin(), read.end()})}});
  }
  check_equal(programs.variables.at("w"), w_after, optimizer.tolerance);
  if (!table_after.empty()) {
    check_equal(programs.variables.at("table"), table_after, optimizer.tolerance);
  }
}

/// TensorFlow keeps settings as float, and computes its proximal steps so.
template <class O>
struct Tested {
  const char* name_of_test;
  O optimizer;
  double tolerance = 1e-6;
};

}  // namespace

TEST_CASE("optimisers take TensorFlow's steps, of sparse gradients too") {
  check_steps(Tested{"GradientDescent", tf::GradientDescent{.rate = 0.1}}, peer::descent_w,
              peer::descent_table);
  check_steps(Tested{"Momentum", tf::Momentum{.rate = 0.05, .momentum = 0.8}}, peer::momentum_w,
              peer::momentum_table);
  check_steps(Tested{"Nesterov", tf::Momentum{.rate = 0.05, .momentum = 0.8, .nesterov = true}},
              peer::nesterov_w, peer::nesterov_table);
  check_steps(Tested{"Adagrad", tf::Adagrad{.rate = 0.3, .initial = 0.2}}, peer::adagrad_w,
              peer::adagrad_table);
  check_steps(Tested{"Adam", tf::Adam{.rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.01}},
              peer::adam_w, peer::adam_table);
  check_steps(Tested{"RMSProp", tf::RMSProp{.rate = 0.05, .decay = 0.8, .epsilon = 0.01}},
              peer::rms_w, peer::rms_table);
  check_steps(Tested{"RMSProp with momentum",
                     tf::RMSProp{.rate = 0.05, .decay = 0.8, .momentum = 0.6, .epsilon = 0.01}},
              peer::rms_momentum_w, peer::rms_momentum_table);
  check_steps(
      Tested{"centred RMSProp",
             tf::RMSProp{
                 .rate = 0.05, .decay = 0.8, .momentum = 0.6, .epsilon = 0.01, .centered = true}},
      peer::rms_centered_w, peer::rms_centered_table);
  check_steps(Tested{"Adadelta", tf::Adadelta{.rate = 0.7, .decay = 0.9, .epsilon = 1e-4}},
              peer::adadelta_w, peer::adadelta_table);
  check_steps(Tested{"ProximalGradientDescent",
                     tf::ProximalGradientDescent{.rate = 0.1, .l1 = 0.3, .l2 = 0.2}, 1e-5},
              peer::proximal_w, peer::proximal_table);
  check_steps(Tested{"ProximalAdagrad",
                     tf::ProximalAdagrad{.rate = 0.2, .l1 = 0.1, .l2 = 0.3, .initial = 0.2}, 1e-5},
              peer::proximal_adagrad_w, peer::proximal_adagrad_table);
  check_steps(Tested{"Ftrl", tf::Ftrl{.rate = 0.3, .l1 = 0.4, .l2 = 0.1, .initial = 0.2}},
              peer::ftrl_w, peer::ftrl_table);
  check_steps(Tested{"Ftrl with shrinkage", tf::Ftrl{.rate = 0.3,
                                                     .rate_power = -0.7,
                                                     .l1 = 0.1,
                                                     .l2 = 0.2,
                                                     .l2_shrinkage = 0.3,
                                                     .initial = 0.2}},
              peer::ftrl_shrinkage_w, peer::ftrl_shrinkage_table);
}

TEST_CASE("LAMB and Adamax take Keras's steps") {
  check_steps(
      Tested{"LAMB",
             tf::Lamb{.rate = 0.1, .decay = 0.0, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.01}},
      peer::lamb_w, peer::lamb_table);
  check_steps(
      Tested{"Adamax", tf::Adamax{.rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.01}},
      peer::adamax_w);
}

TEST_CASE("schedules give TensorFlow's rates") {
  tf::Graph g;
  auto step = tf::placeholder<std::int64_t>(g, "step");
  exponential_decay(step, {.rate = 0.5, .steps = 10, .decay = 0.9}).named("exponential");
  exponential_decay(step, {.rate = 0.5, .steps = 10, .decay = 0.9, .staircase = true})
      .named("staircase");
  natural_exp_decay(step, {.rate = 0.5, .steps = 10, .decay = 0.9}).named("natural_exp");
  inverse_time_decay(step, {.rate = 0.5, .steps = 10, .decay = 0.9}).named("inverse_time");
  piecewise_constant(step, {7, 24}, {0.5, 0.25, 0.125}).named("piecewise");
  polynomial_decay(step, {.rate = 0.5, .steps = 15, .end = 0.01, .power = 1.5}).named("polynomial");
  polynomial_decay(step, {.rate = 0.5, .steps = 15, .end = 0.01, .power = 1.5, .cycle = true})
      .named("polynomial_cycle");
  cosine_decay(step, {.rate = 0.5, .steps = 24, .least = 0.1}).named("cosine");
  cosine_decay_restarts(step, {.rate = 0.5, .steps = 8, .longer = 2, .lower = 0.8, .least = 0.1})
      .named("restarts");
  const std::vector<std::string> names = {"exponential",      "staircase", "natural_exp",
                                          "inverse_time",     "piecewise", "polynomial",
                                          "polynomial_cycle", "cosine",    "restarts"};
  const std::vector<const std::vector<double>*> expected = {
      &peer::schedule_exponential,      &peer::schedule_staircase, &peer::schedule_natural_exp,
      &peer::schedule_inverse_time,     &peer::schedule_piecewise, &peer::schedule_polynomial,
      &peer::schedule_polynomial_cycle, &peer::schedule_cosine,    &peer::schedule_restarts};
  tf::Interpreter interpreter(g);
  for (std::size_t i = 0; i < peer::schedule_steps.size(); ++i) {
    tf::HostTensor at = test::tensor(tf::DType::int64, {}, {peer::schedule_steps[i]});
    const auto rates = interpreter.run(names, {{"step", at}});
    for (std::size_t k = 0; k < names.size(); ++k) {
      CAPTURE(names[k]);
      CAPTURE(peer::schedule_steps[i]);
      CHECK(rates[k].value(0) == doctest::Approx((*expected[k])[i]).epsilon(1e-5).scale(0));
    }
  }
}

TEST_CASE("moving averages are TensorFlow's, before the first update and after") {
  const auto check = [](tf::ExponentialMovingAverage averages, bool counted,
                        const std::vector<double>& expected) {
    tf::Graph g;
    auto x = tf::variable<double>(g, "x", tf::filled(3));
    tf::Effect update = assign_add(x, 1);
    if (counted) {
      averages.num_updates = global_step(g);
      update += assign_add(global_step(g), 1);
    }
    (update + averages.apply(g.trainable())).named("update");
    tf::ir::ProgramInterpreter programs(g);
    programs.variables = test::start_values(g, {});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(programs.variables.at("x/ExponentialMovingAverage").value(0) ==
            doctest::Approx(expected[i]).epsilon(1e-6));
      programs.run({"update"});
    }
  };
  check({.decay = 0.8}, false, peer::average);
  check({.decay = 0.8}, true, peer::average_counted);
  check({.decay = 0.8, .zero_debias = true}, false, peer::average_debiased);
}
