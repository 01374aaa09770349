// SPDX-License-Identifier: Apache-2.0

// Momentum, Adagrad, Adam and AdamW against plain loops of their documented formulas, dense and
// sparse; what of them is one kernel; names of slots.

#include "support/check_kernels.hpp"
#include "support/check_optimizer.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

const auto adam = [](double& w, double d, double* s, int step) {
  s[0] = 0.8 * s[0] + 0.2 * d;
  s[1] = 0.9 * s[1] + 0.1 * d * d;
  const double rate = 0.05 * std::sqrt(1 - std::pow(0.9, step)) / (1 - std::pow(0.8, step));
  w -= rate * s[0] / (std::sqrt(s[1]) + 1e-3);
};

}  // namespace

TEST_CASE("momentum, and Nesterov's") {
  test::check_steps(tf::Momentum{.rate = 0.1, .momentum = 0.7}, {{"m"}}, false,
                    [](double& w, double d, double* s, int) {
                      s[0] = 0.7 * s[0] + d;
                      w -= 0.1 * s[0];
                    });
  test::check_steps(tf::Momentum{.rate = 0.1, .momentum = 0.7, .nesterov = true}, {{"m"}}, false,
                    [](double& w, double d, double* s, int) {
                      s[0] = 0.7 * s[0] + d;
                      w -= 0.1 * d + 0.1 * 0.7 * s[0];
                    });
}

TEST_CASE("Adagrad") {
  test::check_steps(tf::Adagrad{.rate = 0.3}, {{"sum", 0.1}}, false,
                    [](double& w, double d, double* s, int) {
                      s[0] += d * d;
                      w -= 0.3 * d / std::sqrt(s[0]);
                    });
}

TEST_CASE("Adam moves all rows, lazy Adam those that were read") {
  tf::Adam optimizer{.rate = 0.05, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3};
  test::check_steps(optimizer, {{"m"}, {"v"}}, true, adam);
  optimizer.lazy = true;
  test::check_steps(optimizer, {{"m"}, {"v"}}, false, adam);
}

namespace {

/// The steps of a program that use a variable.
std::vector<tf::Id> steps_with(const tf::ir::ProgramView& program, const std::string& path) {
  std::vector<tf::Id> out;
  for (const tf::ir::ProgramVariable& variable : program.variables) {
    tf::Message name{};
    tf::ir::print_name(name, program, variable.name);
    if (name.view() != path) continue;
    for (tf::Id s = 0; s < program.steps.size; ++s) {
      const tf::ir::Range operands = program.steps[s].operands;
      bool uses = false;
      for (tf::Id i = operands.first; i < operands.first + operands.count; ++i) {
        uses = uses || program.operands[i] == variable.slot;
      }
      if (uses) out.push_back(s);
    }
  }
  return out;
}

/// Each slot of W is used by one step, the one that changes W.
template <class Optimizer>
void check_one_kernel(const Optimizer& optimizer, const std::vector<std::string>& slots) {
  tf::Graph g;
  auto x = tf::placeholder<float, tf::batch, 64>(g, "x");
  auto W = tf::variable<float, 64, 32>(g, "W");
  auto loss = mean(square(matmul(x, W)));
  tf::minimize(optimizer, loss).named("train");
  const tf::ir::ProgramPools pools = tf::ir::compile(std::move(g));
  REQUIRE(pools.error.view() == "");
  const tf::ir::ProgramView program = tf::ir::view_of(pools);
  const std::vector<tf::Id> weights = steps_with(program, "W");
  for (const std::string& slot : slots) {
    const std::vector<tf::Id> steps = steps_with(program, "W/" + slot);
    REQUIRE(steps.size() == 1);
    CHECK(weights.back() == steps[0]);
  }
}

}  // namespace

TEST_CASE("AdamW decays the rows that were read, and moves all") {
  test::check_steps(
      tf::AdamW{.rate = 0.05, .decay = 0.3, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3},
      {{"m"}, {"v"}}, true, [](double& w, double d, double* s, int step) {
        if (d != 0) w -= 0.05 * 0.3 * w;
        adam(w, d, s, step);
      });
}

namespace {
constexpr void compiled(tf::Graph& g) {
  tf::Adagrad{}.minimize(test::optimizer_loss(g)).named("train");
}
}  // namespace

TEST_CASE("compiled steps are the interpreter's, dense and of each kind of sparse gradient") {
  test::check_against_interpreter<compiled>(3, 1e-12);
}

TEST_CASE("a dense step is one loop over a variable, its gradient and its slots") {
  check_one_kernel(tf::Momentum{.nesterov = true}, {"momentum/m"});
  check_one_kernel(tf::Adagrad{}, {"adagrad/sum"});
  check_one_kernel(tf::Adam{}, {"adam/m", "adam/v"});
  check_one_kernel(tf::AdamW{}, {"adamw/m", "adamw/v"});
}

TEST_CASE("two optimisers of a variable need two names; of two variables they don't") {
  tf::Graph g;
  auto v = tf::variable<float, 3>(g, "v");
  auto w = tf::variable<float, 3>(g, "net/w");
  const auto loss = sum(square(v)) + sum(square(w));
  tf::Adam{}.minimize(loss, g.trainable("v"));
  tf::Adam{}.minimize(loss, g.trainable("net"));
  tf::Adam{.name = "other"}.minimize(loss, g.trainable("v"));
  const std::string message = message_of([&] { tf::Adam{}.minimize(loss, g.trainable("net")); });
  CHECK(message.find("'net/w/adam/beta1_power' is there already: two optimisers of the variable "
                     "'net/w' need different names") != std::string::npos);
  std::vector<std::string> names;
  for (const tf::AnyVariable x : g.variables()) names.emplace_back(x.name().view());
  CHECK(std::ranges::count(names, "net/w/adam/m") == 1);
  CHECK(std::ranges::count(names, "v/other/v") == 1);
  CHECK(g.trainable().size() == 2);
}
