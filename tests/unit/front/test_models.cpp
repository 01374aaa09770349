// SPDX-License-Identifier: Apache-2.0

// The ways to write a model, each run in a session.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include <typeflow/typeflow.hpp>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;
using tf::ir::records;

struct Config {
  int inputs = 4;
  int hidden = 5;
  float keep = 0.5f;
};

template <Config C>
constexpr void mlp(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, C.inputs>(g, "x");
  auto h = dropout(relu(tf::dense<C.hidden>(g, "fc1", x)), {.keep = C.keep});
  auto y = tf::dense<1>(g, "fc2", h).named("y");
  tf::GradientDescent{.rate = 0.05f}.minimize(mean(square(y - 1)).named("loss")).named("train");
}

inline constexpr auto lambda = [](tf::Graph& g) {
  auto x = tf::placeholder<double, 2>(g, "x");
  sum(x * x).named("y");
};

/// A net as a closure that owns its layers.
constexpr auto q_net(tf::Graph& g, tf::Label name) {
  tf::Scope in(g, name);
  tf::Dense<3, 6> hidden(g, "hidden");
  tf::Dense<6, 2> q(g, "q");
  return [=](auto s) { return q(relu(hidden(s))); };
}
constexpr void two_nets(tf::Graph& g) {
  auto online = q_net(g, "online");
  auto target = q_net(g, "target");
  auto s = tf::placeholder<float, tf::batch, 3>(g, "s");
  auto q = online(s);
  auto goal = stop_gradient(target(2 * s));
  auto loss = mean(square(goal - q) + square(online(s) - q)).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss, g.trainable("online")).named("train");
}

template <int... Width>
constexpr void tower(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  int i = 0;
  auto h = tf::fold<Width...>(
      x, [&]<int W>(auto in) { return tanh(tf::dense<W>(g, {"layer", i++}, in)); });
  h.named("y");
  auto loss = mean(square(h)).named("loss");
  const auto list = g.trainable();
  tf::GradientDescent descent{.rate = 0.5f};
  descent.apply(tf::gradients(loss, list)).named("train");
}

constexpr void effects(tf::Graph& g) {
  tf::Effect all;
  for (int i = 0; i < 3; ++i) {
    auto v = tf::variable<float, 2>(g, {"v", i}, tf::filled(i));
    all += tf::assign_add(v, 1);
  }
  all.named("all");
  auto w = tf::variable<float>(g, "w", tf::zeros());
  auto first = tf::assign(w, w + 1);
  tf::after(first, w.read() * 10).named("after");
}

}  // namespace

TEST_CASE("models are templates of a configuration, and lambdas") {
  tf::Variables variables;
  tf::Session<mlp<Config{}>> train(variables, {.seed = 2});
  tf::Session<mlp<Config{}>, tf::inference> test(variables);
  CHECK(variables.names() == std::vector<std::string>{"fc1/W", "fc1/b", "fc2/W", "fc2/b"});
  const std::vector<float> x = {1, 2, 3, 4, 4, 3, 2, 1};
  const float before = test.run<"loss">(tf::feed<"x">(x));
  for (int i = 0; i < 200; ++i) train.run<"train">(tf::feed<"x">(x));
  CHECK(test.run<"loss">(tf::feed<"x">(x)) < before);
  tf::Variables others;
  tf::Session<mlp<Config{.inputs = 2}>> smaller(others);
  CHECK(others.dims("fc1/W") == tf::Dims{2, {2, 5}});
}

TEST_CASE("a lambda is a model") {
  tf::Variables variables;
  tf::Session<lambda> session(variables);
  CHECK(session.run<"y">(tf::feed<"x">(std::array<double, 2>{3, 4})) == 25);
}

TEST_CASE("closures own layers; a list of variables limits what is trained") {
  tf::Variables variables;
  tf::Session<two_nets> session(variables, {.seed = 3});
  const auto copy = [&](const char* name) {
    const auto v = variables.get<float>(name);
    return std::vector<float>(v.begin(), v.end());
  };
  const auto target = copy("target/q/W");
  const auto online = copy("online/q/W");
  session.run<"train">(tf::feed<"s">(std::vector<float>(12, 0.5f)));
  CHECK(copy("target/q/W") == target);
  CHECK(copy("online/q/W") != online);
  test::check_against_interpreter<two_nets>(9, 1e-5);
}

TEST_CASE("fold changes the type from layer to layer; gradients can be applied by hand") {
  test::check_against_interpreter<tower<8, 5, 2>>(6, 1e-5);
  tf::Variables variables;
  tf::Session<tower<8, 5, 2>> session(variables);
  CHECK(session.run<"y">(tf::feed<"x">(std::vector<float>(9, 1))).shape()[1] == 2);
}

TEST_CASE("effects add up, and after() orders a reading") {
  tf::Variables variables;
  tf::Session<effects> session(variables);
  session.run<"all">();
  for (int i = 0; i < 3; ++i) {
    const auto v = variables.get<float>("v_" + std::to_string(i));
    CHECK(v[1] == static_cast<float>(i + 1));
  }
  CHECK(session.run<"after">() == 10);
  CHECK(session.run<"after">() == 20);
}

TEST_CASE("a model runs at run time, too") {
  tf::Graph graph;
  mlp<Config{}>(graph);
  CHECK(records(graph).error.empty());
  CHECK(records(graph).nodes.size() == tf::ir::Lowering<mlp<Config{}>>::node_count);
}
