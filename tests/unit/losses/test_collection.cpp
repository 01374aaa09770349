// SPDX-License-Identifier: Apache-2.0

// The collection of losses and regularisers, by scope.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "support/message_of.hpp"
#include "typeflow/losses.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void model(tf::Graph& g) {
  {
    tf::Scope in(g, "net", {.regularizer = tf::l2_regularizer(0.5)});
    auto w = tf::variable<float, 2>(g, "w", tf::filled(3));  // 0.5 * 18 / 2
    tf::variable<float, 4>(g, "slot", tf::ones(), false);    // not trainable
    tf::variable<int, 4>(g, "count", tf::ones());
    tf::state<float, 4>(g, "seen", tf::ones());
    {
      tf::Scope inner(g, "inner", {.regularizer = tf::l1_l2_regularizer(0.1, 0.2)});
      tf::variable<double, 2>(g, "v", tf::filled(-2));  // 0.1 * 4 + 0.2 * 8 / 2
      auto b = tf::variable<float, 2>(g, "b", tf::filled(7));
      regularize(b, tf::no_regularizer);
    }
    tf::Scope free(g, "free", {.regularizer = tf::no_regularizer});
    tf::variable<float, 2>(g, "u", tf::filled(7));
    tf::Scope below(g, w);
    tf::variable<float, 2>(g, "m", tf::filled(9), false);
  }
  auto x = tf::variable<float, 3>(g, "x", tf::filled(-1));
  regularize(x, tf::l1_regularizer(2));  // 2 * 3

  for (int i = 1; i <= 2; ++i) {
    tf::NameScope in(g, "tower", i);
    g.add_loss(mean(i * x)).named("loss");  // -1, -2
    tf::NameScope inner(g, "aux");
    g.add_loss(sum(cast<double>(x)));  // -3
  }
  {
    tf::NameScope in(g, "tower", 12);
    g.add_loss(sum(x) * 100);
  }
  g.losses("tower_2")[1].named("aux_2");
  tf::regularization_loss(g).named("regularization");
  tf::regularization_loss<double>(g, "net/inner").named("inner");
  tf::regularization_loss(g, "net/free").named("nothing");
  tf::total_loss(g).named("all");
  tf::total_loss(g, "tower_1").named("tower");
  auto of_net = tf::total_loss(g, "net").named("of_net");
  for (const auto& [v, dv] : gradients(of_net)) {
    tf::Scope in(g, v);
    dv.named("gradient");
  }
}

constexpr int count(std::string_view path) {
  tf::Graph g;
  model(g);
  int n = 0;
  for (const tf::AnyExpr loss : g.losses(path)) n += loss.dims().rank == 0 ? 1 : 0;
  return n;
}
static_assert(count("") == 5);
static_assert(count("tower_1") == 2);
static_assert(count("tower_1/aux") == 1);
static_assert(count("tower") == 0);
static_assert(count("tower_1/au") == 0);

/// What is wrong with a model.
template <class Model>
std::string mistake(const Model& wrong) {
  return message_of([&] {
    tf::Graph g;
    wrong(g);
  });
}

}  // namespace

TEST_CASE("losses and regularisers are those of a scope, and add up") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"aux_2">() == -3);
  CHECK(session.run<"regularization">() == doctest::Approx(4.5 + 1.2 + 6));
  CHECK(session.run<"inner">() == doctest::Approx(1.2));
  CHECK(session.run<"nothing">() == 0);
  CHECK(session.run<"all">() == doctest::Approx(4.5 + 1.2 + 6 - 1 - 3 - 2 - 3 - 300));
  CHECK(session.run<"tower">() == -4);
  CHECK(session.run<"of_net">() == doctest::Approx(5.7));
}

TEST_CASE("a penalty's gradient is l1 sign(w) + l2 w") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"net/w/gradient">()(1) == doctest::Approx(0.5 * 3));
  CHECK(session.run<"net/inner/v/gradient">()(0) == doctest::Approx(-0.1 - 0.2 * 2));
}

TEST_CASE("mistakes with the collection are sentences") {
  CHECK(mistake([](tf::Graph& g) { tf::total_loss(g); }) ==
        "total_loss(g): the model has added no loss");
  CHECK(mistake([](tf::Graph& g) {
          auto x = tf::variable<float>(g, "x");
          g.add_loss(x * x);
          tf::total_loss(g, "tower_3");
        }) == "total_loss(g): the model has added no loss in 'tower_3'");
  CHECK(mistake([](tf::Graph& g) {
          regularize(tf::variable<int, 2>(g, "n"), tf::l2_regularizer(1));
        }) ==
        "regularize(variable 'n', regularizer): the variable must be floating-point, but is "
        "int32");
}
