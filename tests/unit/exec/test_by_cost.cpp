// SPDX-License-Identifier: Apache-2.0

// Sessions whose open steps are placed by cost, and the model that says what steps cost.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/lower/cost.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// Three independent products and their sum; no operation is pinned.
constexpr void wide(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 64>(g, "x");
  auto a = tanh(tf::dense<64>(g, "a", x));
  auto b = sigmoid(tf::dense<64>(g, "b", x));
  auto c = relu(tf::dense<64>(g, "c", x));
  auto loss = mean(square(matmul(a, transpose(b)) - matmul(c, transpose(b)))).named("loss");
  concat<1>(a, b, c).named("y");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}

/// One of two towers is pinned.
constexpr void half_pinned(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 32>(g, "x");
  auto a = tf::on<tf::Cpu<2>>(g, [&] { return tanh(tf::dense<32>(g, "a", x)); });
  auto b = sigmoid(tf::dense<32>(g, "b", x));
  (a * b).named("y");
}

/// Control flow of which nothing is pinned.
constexpr void loops(tf::Graph& g) {
  auto x = tf::placeholder<float, 64>(g, "x");
  auto counted = tf::fori_loop(0, 50, [&](auto, auto s) { return tanh(s) * 0.5f + x; }, x);
  auto tested = tf::while_loop([&](auto s) { return less(sum(s), 100.0f); },
                               [&](auto s) { return s * 1.5f + 1; }, exp(x));
  auto chosen = tf::cond(greater(sum(x), 0.0f), [&] { return exp(x); }, [&] { return x - 1; });
  (counted + tested + chosen).named("y");
}

constexpr void effects(tf::Graph& g) {
  auto x = tf::placeholder<float, 8>(g, "x");
  auto count = tf::variable<float, 8>(g, "count", tf::filled(0));
  auto next = tf::assign_add(count, exp(x));
  next.named("next");
  auto noise = tf::random_normal<float, 8>(g, "noise");
  (noise + tanh(x)).named("noisy");
}

/// Four short paths, then a long one. The long one begins with a variable that the first one has
/// read, and that changes between.
constexpr void short_and_long(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 64>(g, "x");
  auto count = tf::variable<float, 64>(g, "count", tf::filled(0.5));
  tanh(count).named("early");
  tanh(tf::dense<64>(g, "a", x)).named("first");
  tanh(tf::dense<64>(g, "b", x)).named("second");
  tanh(tf::dense<64>(g, "c", x)).named("third");
  auto next = tf::assign_add(count, 0.25f * sum<0>(x));
  auto h = x + next.value();
  for (int i = 0; i < 4; ++i) h = tanh(tf::dense<64>(g, {"h", i}, h));
  h.named("late");
}

std::vector<float> inputs(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}

/// Rates for which it pays to spread small steps.
tf::CostModel cheap_links() {
  tf::CostModel model;
  model.rates = {1e9, 1e9, 1e-6};
  model.link = {1e-9, 1e12};
  return model;
}

int used_devices(const auto& session, auto name) {
  return session.template with_plan<name()>(
      [](const auto&, const auto&, const auto& plan) { return plan.used_devices; });
}

int number_of(const tf::exec::Plan& plan, const tf::ir::ProgramView& program,
              const std::string& name) {
  for (const tf::exec::Launch& launch : plan.launches) {
    tf::Message text{};
    print_step(text, program, program.steps[launch.step]);
    if (std::string(text.view()).starts_with(name)) return launch.device;
  }
  return -1;
}

}  // namespace

TEST_CASE("open steps are spread by cost, and compute the same bits") {
  const tf::ByCost placement(cheap_links(), {.sizes = 16});
  tf::Variables of_one;
  tf::Variables of_three;
  tf::Session<wide> one(of_one, {.seed = 5, .threads = 1});
  tf::Session<wide> three(of_three,
                          {.seed = 5, .devices = tf::DeviceList::of(3), .by_cost = &placement});
  for (int step = 0; step < 5; ++step) {
    const auto [loss, y] = one.run<"train", "loss", "y">(tf::feed<"x">(inputs(16 * 64)));
    const auto [loss_3, y_3] = three.run<"train", "loss", "y">(tf::feed<"x">(inputs(16 * 64)));
    CHECK(loss == loss_3);
    CHECK(y == y_3);
  }
  for (const std::string& name : of_one.names()) {
    const auto a = of_one.get<float>(name);
    const auto b = of_three.get<float>(name);
    CHECK(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  }
  CHECK(used_devices(three, [] { return tf::Text("train"); }) > 1);
  CHECK(tf::simulate<"train">(three, {.sizes = 16}).wrong == "");
  CHECK(tf::simulate<"train">(three, placement.model(), 16).seconds <
        tf::simulate<"train">(one, placement.model(), 16).seconds);
}

TEST_CASE("streams run steps in the order in which they were placed") {
  tf::CostModel model = cheap_links();
  model.rates.launch_seconds = 0;
  const tf::ByCost placement(model, {.sizes = 16});
  tf::Variables of_one;
  tf::Variables of_two;
  tf::Session<short_and_long> one(of_one, {.seed = 3, .threads = 1});
  tf::Session<short_and_long> two(
      of_two, {.seed = 3, .devices = tf::DeviceList::of(2), .by_cost = &placement});
  for (int run = 0; run < 3; ++run) {
    const auto x = inputs(16 * 64);
    CHECK(one.run<"early", "first", "second", "third", "late">(tf::feed<"x">(x)) ==
          two.run<"early", "first", "second", "third", "late">(tf::feed<"x">(x)));
  }
  CHECK(tf::simulate<"early", "first", "second", "third", "late">(two, {.sizes = 16}).wrong == "");

  tf::PlacementSchedule of_program;
  tf::PlacementSchedule best;
  std::vector<tf::Id> run_steps;
  two.with_steps<"early", "first", "second", "third", "late">(
      [&](const auto& program, const auto& devices, const auto& steps) {
        const tf::PlacementGraph graph =
            tf::exec::graph_of(program, devices, steps, model, placement.options());
        const tf::PlacementMachine machine = tf::exec::machine_of(devices, model);
        of_program = place_by_cost(graph, machine, {.order = tf::exec::PlacementOrder::of_graph});
        best = place_by_cost(graph, machine);
        run_steps.assign(steps.begin(), steps.end());
      });
  CHECK(best.order != of_program.order);
  CHECK(best.seconds < 0.9 * of_program.seconds);
  two.with_plan<"early", "first", "second", "third", "late">(
      [&](const auto&, const auto&, const auto& plan) {
        for (int device = 0; device < 2; ++device) {
          std::vector<tf::Id> placed;
          for (const int node : best.order) {
            const auto n = static_cast<std::size_t>(node);
            if (best.nodes[n].device == device) placed.push_back(run_steps[n]);
          }
          std::vector<tf::Id> launched;
          for (const tf::exec::Launch& launch : plan.launches) {
            if (launch.device == device) launched.push_back(launch.step);
          }
          CHECK(launched == placed);
        }
      });
  CHECK(tf::simulate<"early", "first", "second", "third", "late">(two, model, 16).seconds <
        of_program.seconds);
}

TEST_CASE("where copies are dear, all stays on one device") {
  tf::CostModel model = cheap_links();
  model.link = {1, 1e3};
  const tf::ByCost placement(model, {.sizes = 16});
  tf::Variables variables;
  tf::Session<wide> session(variables, {.devices = tf::DeviceList::of(3), .by_cost = &placement});
  CHECK(used_devices(session, [] { return tf::Text("train"); }) == 1);
}

TEST_CASE("what the model pins stays, and explain shows candidates for the rest") {
  const tf::ByCost placement(cheap_links(), {.sizes = 16});
  tf::Variables variables;
  tf::Session<half_pinned> session(variables,
                                   {.devices = tf::DeviceList::of(3), .by_cost = &placement});
  session.with_plan<"y">([](const auto& program, const auto&, const auto& plan) {
    CHECK(number_of(plan, program, "Tanh") == 2);
    CHECK(number_of(plan, program, "y") >= 0);
  });
  const std::string text = tf::explain<"y">(session);
  CHECK(text.starts_with("Tanh (test_by_cost.cpp:"));
  CHECK(text.find(" ms  [/cpu:") != std::string::npos);  // candidates of y
  CHECK(text.find("\n/cpu:2\n") != std::string::npos);   // and the plan
  // A demand of the session keeps the open one from two devices.
  tf::ByCostOptions demands{.sizes = 16};
  session.with_steps<"y">([&](const auto& program, const auto&, const auto&) {
    demands.demands.feasible.assign(static_cast<std::size_t>(program.steps.size), 0b010);
  });
  const tf::ByCost demanding(cheap_links(), demands);
  tf::Session<half_pinned> other(variables,
                                 {.devices = tf::DeviceList::of(3), .by_cost = &demanding});
  other.with_plan<"y">([](const auto& program, const auto&, const auto& plan) {
    CHECK(number_of(plan, program, "Tanh") == 2);
    CHECK(number_of(plan, program, "y") == 1);
  });
}

TEST_CASE("branches and loops move with their blocks") {
  const tf::ByCost placement(cheap_links());
  tf::Variables variables;
  tf::Session<loops> one(variables, {.threads = 1});
  tf::Session<loops> three(variables, {.devices = tf::DeviceList::of(3), .by_cost = &placement});
  CHECK(used_devices(three, [] { return tf::Text("y"); }) > 1);
  for (const float sign : {1.0f, -1.0f}) {
    std::vector<float> x = inputs(64);
    for (float& value : x) value = sign * (value + 0.5f);
    CHECK(one.run<"y">(tf::feed<"x">(x)) == three.run<"y">(tf::feed<"x">(x)));
  }
  CHECK(tf::simulate<"y">(three).wrong == "");
}

TEST_CASE("assignments stay with their variable, and random numbers are the same") {
  const tf::ByCost placement(cheap_links());
  tf::Variables of_one;
  tf::Variables of_two;
  tf::Session<effects> one(of_one, {.seed = 1, .threads = 1});
  tf::Session<effects> two(of_two,
                           {.seed = 1, .devices = tf::DeviceList::of(2), .by_cost = &placement});
  for (int i = 0; i < 3; ++i) {
    CHECK(one.run<"next", "noisy">(tf::feed<"x">(inputs(8))) ==
          two.run<"next", "noisy">(tf::feed<"x">(inputs(8))));
  }
}

TEST_CASE("a limit of memory moves steps to other devices") {
  const std::int64_t batch = 256;
  tf::CostModel dear = cheap_links();
  dear.link = {1, 1e9};  // without a limit, all would stay on the first device
  const tf::ByCost placement(dear, {.sizes = batch});
  tf::Variables variables;
  tf::Session<wide> free(variables, {.devices = tf::DeviceList::of(2), .by_cost = &placement});
  const auto x = inputs(static_cast<std::size_t>(batch) * 64);
  free.run<"loss">(tf::feed<"x">(x));
  const std::int64_t planned = free.devices()[0].planned;
  CHECK(free.devices()[1].planned == 0);
  const std::int64_t limit = planned * 9 / 10;
  tf::Session<wide> limited(variables,
                            {.devices = {{.memory_limit = limit}, {}}, .by_cost = &placement});
  CHECK(limited.run<"loss">(tf::feed<"x">(x)) == free.run<"loss">(tf::feed<"x">(x)));
  CHECK(limited.devices()[0].planned <= limit);
  CHECK(limited.devices()[1].planned > 0);
}

TEST_CASE("each step has an estimate, which measured means replace") {
  tf::Variables variables;
  tf::Session<wide> session(variables, {.threads = 1});
  tf::CostModel model;
  model.rates = {1e9, 2e9, 1e-6};
  const auto check_estimates = [&](const auto& program, const auto& devices, bool is_measured) {
    const tf::exec::StepCosts costs(model, program, devices, tf::SymbolSizes(16));
    for (tf::Id step = 0; step < program.steps.size; ++step) {
      const tf::ir::StepCost cost = cost_of(program, program.steps[step], tf::SymbolSizes(16));
      const double told =
          std::max(static_cast<double>(cost.flops) / 1e9, static_cast<double>(cost.bytes) / 2e9) +
          1e-6;
      CHECK(costs.seconds(step, 0) > 1e-6);
      CHECK(costs.is_measured(step, 0) == is_measured);
      if (!is_measured) CHECK(costs.seconds(step, 0) == doctest::Approx(told));
    }
  };
  session.with_devices(
      [&](const auto& program, const auto& devices) { check_estimates(program, devices, false); });
  tf::Trace trace;
  session.trace(&trace);
  for (int i = 0; i < 9; ++i) {
    session.run<"train", "loss", "y">(tf::feed<"x">(inputs(16 * 64)));
  }
  session.trace<tf::Trace>(nullptr);
  tf::measure(model, session, trace);
  session.with_devices([&](const auto& program, const auto& devices) {
    check_estimates(program, devices, true);
    const tf::exec::StepCosts costs(model, program, devices, tf::SymbolSizes(16));
    std::vector<double> samples;
    for (const tf::Span& span : trace.spans()) {
      if (span.step == 0) samples.push_back(span.end - span.begin);
    }
    REQUIRE(samples.size() == 9);
    CHECK(costs.seconds(0, 0) ==
          doctest::Approx(tf::exec::mean_without_outliers(samples).seconds + 1e-6));
  });
}

TEST_CASE("a mean leaves out outliers") {
  const auto mean = tf::exec::mean_without_outliers({10, 11, 9, 10, 12, 8, 10, 500});
  CHECK(mean.samples == 7);
  CHECK(mean.seconds == doctest::Approx(10));
  CHECK(tf::exec::mean_without_outliers({5, 5, 5, 5, 9}).seconds == doctest::Approx(5));
  CHECK(tf::exec::mean_without_outliers({3}).seconds == doctest::Approx(3));
  CHECK(message_of([] { tf::exec::mean_without_outliers({}); }).find("expected samples") !=
        std::string::npos);
}

TEST_CASE("a step that was measured on one device has that cost on others of its kind") {
  tf::Variables variables;
  tf::Session<half_pinned> session(variables, {.devices = tf::DeviceList::of(3)});
  tf::CostModel model;
  session.with_devices([&](const auto& program, const auto& devices) {
    const std::vector<std::string> names = tf::exec::step_names(program);
    model.measured[names[0]]["/cpu:2"] = {0.25, 4};
    model.measured[names[1]]["/gpu:0"] = {0.5, 4};
    const tf::exec::StepCosts costs(model, program, devices, {});
    CHECK(costs.seconds(0, 1) == doctest::Approx(0.25 + model.rates.launch_seconds));
    CHECK_FALSE(costs.is_measured(1, 0));
  });
}

TEST_CASE("predicted and measured timelines stand side by side") {
  const tf::ByCost placement(cheap_links(), {.sizes = 16});
  tf::Variables variables;
  tf::Session<wide> session(variables, {.devices = tf::DeviceList::of(3), .by_cost = &placement});
  const auto x = inputs(16 * 64);
  session.run<"loss">(tf::feed<"x">(x));
  tf::Trace trace;
  session.trace(&trace);
  session.run<"loss">(tf::feed<"x">(x));
  session.trace<tf::Trace>(nullptr);
  const std::vector<tf::Span> predicted =
      tf::simulate<"loss">(session, placement.model(), 16).spans;
  const std::vector<tf::Span> measured = trace.spans();
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::string svg = tf::timeline_svg(session, predicted, measured, 800);
  CHECK(count(svg, "<rect ") == predicted.size() + measured.size());
  CHECK(count(svg, " predicted</text>") == 3);
  CHECK(count(svg, " measured</text>") == 3);
  CHECK(count(svg, "<svg ") == count(svg, "</svg>"));
  const std::string json = tf::chrome_trace(session, predicted, measured);
  CHECK(count(json, "\"ph\": \"X\", ") == predicted.size() + measured.size());
  CHECK(count(json, "\"name\": \"predicted\"") == 1);
  CHECK(count(json, "\"name\": \"measured\"") == 1);
  CHECK(count(json, "\"pid\": 1") == measured.size() + 1 + 3);
  CHECK(count(json, "},\n]") == 0);
}
