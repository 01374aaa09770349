// SPDX-License-Identifier: Apache-2.0

// Copies between devices that begin as late as their receivers allow.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

/// /cpu:1 makes ten tensors. /cpu:0 uses one after the other, and takes twice as long for each.
constexpr void ten_receives(tf::Graph& g) {
  auto x = tf::placeholder<float, 64, 64>(g, "x");
  using E = tf::Expr<float, tf::Shape<64, 64>>;
  std::vector<E> made;
  tf::on<tf::Cpu<1>>(g, [&] {
    E next = tanh(x);
    for (int i = 0; i < 10; ++i) {
      next = tanh(matmul(next, x));
      made.push_back(next);
    }
    return next;
  });
  tf::on<tf::Cpu<0>>(g, [&] {
    E sum = tanh(x);
    for (const E& one : made) sum = tanh(matmul(tanh(matmul(sum, one)), one));
    return sum.named("y");
  });
}

/// The same with each tensor's use right behind it in the program.
constexpr void ten_uses(tf::Graph& g) {
  auto x = tf::placeholder<float, 64, 64>(g, "x");
  tf::Expr<float, tf::Shape<64, 64>> next = tf::on<tf::Cpu<1>>(g, [&] { return tanh(x); });
  tf::Expr<float, tf::Shape<64, 64>> sum = tf::on<tf::Cpu<0>>(g, [&] { return sigmoid(x); });
  for (int i = 0; i < 10; ++i) {
    next = tf::on<tf::Cpu<1>>(g, [&] { return tanh(matmul(next, x)); });
    sum = tf::on<tf::Cpu<0>>(g, [&] { return tanh(matmul(tanh(matmul(sum, next)), next)); });
  }
  sum.named("y");
}

/// A model that trains: tensors go back and forth, and a loop over two devices stands in between.
constexpr void trained(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 32>(g, "x");
  auto h = tanh(tf::dense<32>(g, "first", x));
  auto middle = tf::on<tf::Cpu<1>>(g, [&] {
    auto a = relu(tf::dense<32>(g, "a", h));
    return a + tf::fori_loop(0, 3, [&](auto, auto s) { return tanh(s) * 0.5f + a; }, a);
  });
  auto last = tf::on<tf::Cpu<2>>(g, [&] { return sigmoid(tf::dense<8>(g, "last", middle)); });
  auto loss = (mean(square(last)) + mean(square(h)) * 0.1f).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}

std::vector<float> inputs(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.2f * std::sin(static_cast<float>(3 * i));
  return x;
}

tf::CostModel model() {
  tf::CostModel out;
  out.rates = {.flops_per_second = 1e9, .bytes_per_second = 1e9, .launch_seconds = 1e-6};
  out.link = {.latency = 1e-6, .bytes_per_second = 1e9};
  return out;
}

}  // namespace

TEST_CASE("ten receives take less memory and no more time if they are late") {
  const tf::ByCost at_once(model(), {.late_copies = false});
  const tf::ByCost late(model());
  tf::Variables variables;
  tf::Session<ten_receives> before(variables,
                                   {.devices = tf::DeviceList::of(2), .by_cost = &at_once});
  tf::Session<ten_receives> after(variables, {.devices = tf::DeviceList::of(2), .by_cost = &late});
  const auto y_before = before.run<"y">(tf::feed<"x">(inputs(64 * 64)));
  for (int run = 0; run < 20; ++run) {
    CHECK(after.run<"y">(tf::feed<"x">(inputs(64 * 64))) == y_before);
  }
  MESSAGE("receiver: ", before.devices()[0].planned, " bytes, late ", after.devices()[0].planned);
  MESSAGE("sender: ", before.devices()[1].planned, " bytes, late ", after.devices()[1].planned);
  constexpr std::int64_t tensor = 64 * 64 * 4;
  CHECK(before.devices()[0].planned >= 10 * tensor);
  CHECK(after.devices()[0].planned <= 6 * tensor);
  CHECK(after.devices()[0].sent == 0);
  CHECK(before.devices()[1].sent == 10 * tensor);
  CHECK(after.devices()[1].sent == 20 * 10 * tensor);

  const tf::Simulation predicted_before = tf::simulate<"y">(before, at_once.model());
  const tf::Simulation predicted_after = tf::simulate<"y">(after, late.model());
  MESSAGE("predicted: ", predicted_before.seconds, " s, late ", predicted_after.seconds, " s");
  CHECK(predicted_before.wrong == "");
  CHECK(predicted_after.wrong == "");
  CHECK(predicted_after.seconds <= predicted_before.seconds * (1 + 1e-12));

  tf::Session<ten_receives> again(variables, {.devices = tf::DeviceList::of(2), .by_cost = &late});
  CHECK(tf::explain<"y">(again) == tf::explain<"y">(after));
}

TEST_CASE("late copies change no bit of a training, and its plans are right") {
  tf::CostModel costs = model();
  costs.link.bytes_per_second = 1e10;
  const tf::ByCost late(costs, {.sizes = 16});
  tf::Variables of_one;
  tf::Variables of_three;
  tf::Session<trained> one(of_one, {.seed = 3, .soft_placement = true});
  tf::Session<trained> three(of_three,
                             {.seed = 3, .devices = tf::DeviceList::of(3), .by_cost = &late});
  for (int step = 0; step < 30; ++step) {
    const auto a = one.run<"train", "loss">(tf::feed<"x">(inputs(16 * 32)));
    const auto b = three.run<"train", "loss">(tf::feed<"x">(inputs(16 * 32)));
    CHECK(a == b);
  }
  for (const std::string& name : of_one.names()) {
    CHECK(std::ranges::equal(of_one.get<float>(name), of_three.get<float>(name)));
  }
  three.with_plan<"train", "loss">([](const auto& program, const auto& devices, const auto& plan) {
    CHECK(tf::exec::verify(program, devices, plan, {16}, 20) == "");
  });
}

TEST_CASE("a limit of the sender's memory keeps copies early") {
  const tf::ByCost late(model());
  tf::Variables variables;
  constexpr std::int64_t tensor = 64 * 64 * 4;
  const auto planned = [&](std::int64_t limit, int device) {
    tf::Session<ten_uses> session(variables,
                                  {.devices = {{}, {.memory_limit = limit}}, .by_cost = &late});
    static_cast<void>(session.run<"y">(tf::feed<"x">(inputs(64 * 64))));
    return session.devices()[static_cast<std::size_t>(device)].planned;
  };
  CHECK(planned(0, 1) > 6 * tensor);
  CHECK(planned(6 * tensor, 1) <= 6 * tensor);
  CHECK(planned(0, 0) < planned(6 * tensor, 0));
}

TEST_CASE("an error of a step ends a run with late copies, and the next run is right") {
  const tf::ByCost late(model());
  tf::Variables variables;
  tf::Session<ten_receives> session(
      variables, {.devices = tf::DeviceList::of(2), .check_finite = true, .by_cost = &late});
  const auto y = session.run<"y">(tf::feed<"x">(inputs(64 * 64)));
  std::vector<float> bad = inputs(64 * 64);
  bad[5] = std::nanf("");
  for (int run = 0; run < 5; ++run) {
    CHECK_THROWS_AS(session.run<"y">(tf::feed<"x">(bad)), tf::Error);
    CHECK(session.run<"y">(tf::feed<"x">(inputs(64 * 64))) == y);
  }
}
