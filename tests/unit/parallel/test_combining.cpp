// SPDX-License-Identifier: Apache-2.0

// Three ways to combine towers: the mean of gradients, the gradients of the mean loss, the mean of
// separately trained copies. And where variables are.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "unit/parallel/nets.hpp"

namespace {

namespace tf = typeflow;
using test::difference;
using test::loss_of;
using test::train;

constexpr tf::GradientDescent descent{.rate = 0.2};
constexpr tf::Momentum momentum{.rate = 0.1};

enum class Way { gradients, losses, copies };

template <Way W, auto Optimizer>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3 * tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, 3 * tf::batch>(g, "y");
  const auto f = [&](auto a, auto b) { return loss_of(g, a, b).named("loss"); };
  if constexpr (W == Way::copies) {
    auto copies = tf::averaged_copies<3>(g, f, x, y);
    copies.loss().named("loss");
    copies.average(copies.step(*Optimizer)).named("train");
    copies.pull().named("pull");
  } else {
    auto towers = tf::data_parallel<3>(g, f, x, y);
    auto loss = towers.loss().named("loss");
    if constexpr (W == Way::losses) {
      minimize(*Optimizer, gradients(loss)).named("train");
    } else {
      minimize(*Optimizer, towers.gradients()).named("train");
    }
  }
}

template <Way W, auto Optimizer>
std::vector<float> trained(std::size_t steps = 20) {
  tf::Variables variables;
  tf::Session<model<W, Optimizer>> session(variables,
                                           {.seed = 5, .devices = tf::DeviceList::of(3)});
  return train(session, 12, steps);
}

/// Copies that train by themselves and are averaged in runs of their own.
constexpr void apart(tf::Graph& g) {
  auto x = tf::placeholder<float, 2 * tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, 2 * tf::batch>(g, "y");
  auto copies = tf::averaged_copies<2>(g, [&](auto a, auto b) { return loss_of(g, a, b); }, x, y);
  copies.loss().named("loss");
  copies.step(momentum).named("train");
  copies.average().named("average");
  copies.pull().named("pull");
}

/// Variables on two devices, the rest on a third.
constexpr void spread(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  tf::VariablesInTurn servers({tf::cpu(1), tf::cpu(2)});
  auto loss =
      tf::on(g, tf::cpu(0), [&] { return tf::on(g, servers, [&] { return loss_of(g, x, y); }); });
  minimize(momentum, loss.named("loss")).named("train");
}
constexpr void together(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  minimize(momentum, loss_of(g, x, y).named("loss")).named("train");
}

/// Layer 0 on one device, layer 1 and the loss on another.
constexpr void layers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto h = tf::on(g, tf::cpu(0), [&] {
    return dense<8>(g, "hidden", x,
                    {.regularizer = tf::l2_regularizer(0.01), .activation = tf::tanh});
  });
  auto loss = tf::on(g, tf::cpu(1), [&] {
    return mean(softmax_cross_entropy(dense<3>(g, "out", h), y)) + tf::regularization_loss(g);
  });
  minimize(momentum, loss.named("loss")).named("train");
}

template <auto Model>
std::vector<float> trained_on(int devices) {
  tf::Variables variables;
  tf::Session<Model> session(variables, {.seed = 5,
                                         .threads = 1,
                                         .devices = tf::DeviceList::of(devices),
                                         .soft_placement = devices == 1});
  return train(session, 12);
}

}  // namespace

TEST_CASE("the mean of the gradients is the gradient of the mean loss") {
  CHECK(difference(trained<Way::gradients, &momentum>(), trained<Way::losses, &momentum>()) < 1e-6);
}

TEST_CASE("averaged copies are averaged gradients, for plain gradient descent") {
  CHECK(difference(trained<Way::gradients, &descent>(), trained<Way::copies, &descent>()) < 1e-6);
}

TEST_CASE("copies begin alike, train by themselves, and are equal after each average") {
  tf::Variables variables;
  tf::Session<apart> session(variables, {.seed = 5, .devices = tf::DeviceList::of(2)});
  const auto copy = [&](const char* name) { return session.states().get<float>(name); };
  const auto equal = [&] {
    return std::ranges::equal(copy("tower_0/out/W"), copy("tower_1/out/W"));
  };
  CHECK(std::ranges::equal(copy("tower_0/out/W"), variables.get<float>("out/W")));
  CHECK(equal());
  const std::vector<float> before = test::weights(variables);
  train(session, 12, 3);
  CHECK(!equal());
  CHECK(test::weights(variables) == before);
  session.run<"average">();
  CHECK(equal());
  CHECK(std::ranges::equal(copy("tower_1/out/W"), variables.get<float>("out/W")));
  CHECK(test::weights(variables) != before);

  variables.get<float>("out/b")[1] = 7;
  session.run<"pull">();
  CHECK(copy("tower_0/out/b")[1] == 7);
  CHECK(copy("tower_1/out/b")[1] == 7);
}

TEST_CASE("variables take turns on the devices that are to have them") {
  CHECK(difference(trained_on<spread>(3), trained_on<together>(1)) < 1e-5);
  CHECK(trained_on<spread>(3) == trained_on<spread>(1));
  tf::Variables variables;
  tf::Session<spread> session(variables, {.devices = tf::DeviceList::of(3)});
  const tf::ir::ProgramView view = session.with_devices([](const auto& p, auto) { return p; });
  std::vector<std::string> places;
  for (const tf::ir::Slot& slot : view.slots) {
    if (slot.kind != tf::ir::SlotKind::variable) continue;
    tf::Message text{};
    print_name(text, view, view.variables[slot.index].name);
    text << ' ' << slot.device;
    places.emplace_back(text.view());
  }
  std::ranges::sort(places);
  // A slot is with its variable.
  CHECK(places == std::vector<std::string>{"hidden/W /cpu:1", "hidden/W/momentum/m /cpu:1",
                                           "hidden/b /cpu:2", "hidden/b/momentum/m /cpu:2",
                                           "out/W /cpu:1", "out/W/momentum/m /cpu:1",
                                           "out/b /cpu:2", "out/b/momentum/m /cpu:2"});
}

TEST_CASE("layers on devices of their own train as they do on one") {
  CHECK(difference(trained_on<layers>(2), trained_on<together>(1)) < 1e-5);
  CHECK(trained_on<layers>(2) == trained_on<layers>(1));
}
