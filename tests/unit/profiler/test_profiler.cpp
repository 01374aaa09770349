// SPDX-License-Identifier: Apache-2.0

// What a profiler collects: calls and times of kernels, their floating-point operations and bytes,
// what is fused into them, parameters and memory.

#include <typeflow/profiler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr int matmul_line = __LINE__ + 4;
constexpr void net(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 20>(g, "x");
  auto W = tf::variable<float, 20, 30>(g, "W", tf::normal(0, 1));
  auto h = matmul(x, W).named("h");
  {
    tf::Scope in(g, "head");
    auto b = tf::variable<float, 30>(g, "b", tf::ones());
    auto logits = relu(h + b).named("y");
    sum<0, 1>(logits).named("total");
  }
  tf::variable<std::int32_t>(g, "steps", tf::zeros());
}
constexpr void regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 8>(g, "x");
  auto y = placeholder<float, tf::batch, 4>(g, "y");
  auto loss = mean(softmax_cross_entropy(dense<4>(g, "fc", x), y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}
constexpr void towers(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 16>(g, "x");
  auto W = tf::variable<float, 16, 16>(g, "W", tf::normal(0, 1));
  auto left = tf::on(g, tf::cpu(1), [&] { return matmul(x, W); }).named("left");
  auto right = tf::on(g, tf::cpu(2), [&] { return exp(x); }).named("right");
  (left * right).named("y");
}
constexpr void loop(tf::Graph& g) {
  auto x = placeholder<float, 64>(g, "x");
  tf::fori_loop(0, 7, [&](auto, auto s) { return tanh(s) * 0.5f; }, x).named("y");
}

constexpr tf::ProfilerOptions known_rates{.rates = tf::DeviceRates{1e9, 2e9, 0}};

const tf::ProfiledStep& step_named(const tf::Profile& profile, const std::string& name) {
  const auto found = std::find_if(profile.steps.begin(), profile.steps.end(),
                                  [&](const tf::ProfiledStep& step) { return step.name == name; });
  REQUIRE(found != profile.steps.end());
  return *found;
}
bool fuses(const tf::ProfiledStep& step, const std::string& operation) {
  return std::find(step.fused.begin(), step.fused.end(), operation) != step.fused.end();
}

}  // namespace

TEST_CASE("a matrix product has 2mkn flops in each call, whatever the batch") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  tf::Profiler profiler(session, known_rates);
  for (const std::size_t batch : {3u, 3u, 5u}) {
    session.run<"h">(tf::feed<"x">(std::vector<float>(batch * 20, 1.0f)));
  }
  const tf::Profile profile = profiler.profile();
  REQUIRE(profile.steps.size() == 1);
  const tf::ProfiledStep& product = profile.steps[0];
  CHECK(product.name == "h");
  CHECK(product.file == "test_profiler.cpp");
  CHECK(product.line == matmul_line);
  CHECK(product.calls == 3);
  CHECK(product.flops == 2 * (3 + 3 + 5) * 20 * 30);
  // x, W and h, of 4 bytes each.
  CHECK(product.bytes == 4 * ((3 + 3 + 5) * 20 + 3 * 20 * 30 + (3 + 3 + 5) * 30));
  CHECK(product.output_bytes == 4 * 5 * 30);
  CHECK(product.seconds > 0);
  CHECK(product.least_seconds > 0);
  CHECK(product.least_seconds <= product.most_seconds);
  CHECK(product.least_seconds + product.most_seconds <= product.seconds);
  CHECK(profile.wall_seconds >= product.seconds);
  CHECK(profile.most_calls() == 3);
  REQUIRE(profile.calls.size() == 3);
  double sum = 0;
  for (const tf::ProfiledCall& call : profile.calls) sum += call.end - call.begin;
  CHECK(sum == doctest::Approx(product.seconds));
}

TEST_CASE("a kernel has the operations that are fused into it, and reads others' results") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  tf::Profiler profiler(session, known_rates);
  const std::vector<float> x(4 * 20, 1.0f);
  session.run<"head/total">(tf::feed<"x">(x));
  const tf::Profile profile = profiler.profile();
  bool adds = false;
  std::int64_t products = 0;
  for (const tf::ProfiledStep& step : profile.steps) {
    products += fuses(step, "MatMul");
    adds = adds || (fuses(step, "Add") && fuses(step, "Relu"));
    CHECK(step.inputs.size() < profile.steps.size());
  }
  CHECK(products == 1);
  CHECK(adds);
  const tf::ProfiledStep& total = step_named(profile, "head/total");
  CHECK(fuses(total, "Sum"));
  REQUIRE(total.inputs.size() == 1);
  CHECK(profile.steps[static_cast<std::size_t>(total.inputs[0])].operation == "MatMul");
}

TEST_CASE("runs with programs of their own are seen, whenever the program was made") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  const std::vector<float> x(4 * 20, 1.0f);
  session.run<"h">(tf::feed<"x">(x));
  tf::Profiler profiler(session, known_rates);
  session.run<"h">(tf::feed<"x">(x));
  session.run<"h", "head/y">(tf::feed<"x">(x));
  session.run<"head/total">(tf::feed<"x">(x));
  const tf::Profile profile = profiler.profile();
  CHECK(step_named(profile, "h").calls == 1);
  CHECK(step_named(profile, "head/y").calls == 1);    // of the session's program
  CHECK(step_named(profile, "head/y#1").calls == 1);  // of the run's own
  CHECK(step_named(profile, "head/total").calls == 1);
  CHECK(step_named(profile, "head/y#1").fused.size() == 1);
  // Made through the profiler, they are known as well as others.
  profiler.clear();
  for (int i = 0; i < 2; ++i) profiler.run<"h", "head/y">(tf::feed<"x">(x));
  const tf::Profile whole = profiler.profile();
  REQUIRE(whole.steps.size() == 1);
  CHECK(whole.steps[0].operation == "MatMul");
  CHECK(whole.steps[0].fused == std::vector<std::string>{"MatMul", "Add", "Relu"});
  CHECK(whole.steps[0].calls == 2);
}

TEST_CASE("a trace of the session takes the place of its profiler") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  tf::Profiler profiler(session, known_rates);
  tf::Trace trace;
  session.trace(&trace);
  const std::vector<float> x(4 * 20, 1.0f);
  session.run<"h">(tf::feed<"x">(x));
  session.run<"head/total">(tf::feed<"x">(x));
  CHECK(profiler.profile().steps.empty());
  CHECK(trace.spans().size() == 2);  // of the session's program
}

TEST_CASE("a kernel of a training step that writes a variable assigns") {
  tf::Variables variables;
  tf::Session<regression> session(variables, {.threads = 1});
  tf::Profiler profiler(session, known_rates);
  for (int i = 0; i < 10; ++i) {
    session.run<"train", "loss">(tf::feed<"x">(std::vector<float>(6 * 8, 0.5f)),
                                 tf::feed<"y">(std::vector<float>(6 * 4, 0.25f)));
  }
  const tf::Profile profile = profiler.profile();
  CHECK(profile.most_calls() == 10);
  int assigns = 0;
  std::int64_t flops = 0;
  for (const tf::ProfiledStep& step : profile.steps) {
    CHECK(step.calls == 10);
    assigns += static_cast<int>(std::count(step.fused.begin(), step.fused.end(), "Assign"));
    if (step.operation == "MatMul") flops += step.flops;
  }
  CHECK(assigns == 2);  // fc/W and fc/b
  CHECK(step_named(profile, "fc/W/update").operation == "MatMul");
  CHECK(fuses(step_named(profile, "fc/b/update"), "Assign"));
  // Forward (6,8) x (8,4), and the weights' gradient (8,6) x (6,4), with what is fused into them.
  CHECK(flops >= 10 * 2 * (2 * 6 * 8 * 4));
  CHECK(flops <= 10 * 2 * (2 * 6 * 8 * 4) + 10 * 20 * (6 * 4 + 8 * 4));
}

TEST_CASE("parameters are the elements of trainable variables, and memory is the session's") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  tf::Profiler profiler(session, known_rates);
  session.run<"head/total">(tf::feed<"x">(std::vector<float>(4 * 20, 1.0f)));
  const tf::Profile profile = profiler.profile();
  REQUIRE(profile.variables.size() == 3);
  CHECK(profile.variables[0].name == "W");
  CHECK(profile.variables[0].type == "float [20, 30]");
  CHECK(profile.variables[0].elements == 600);
  CHECK(profile.variables[0].bytes == 2400);
  CHECK(profile.variables[1].name == "head/b");
  CHECK(profile.parameters() == tf::parameters<net>());
  REQUIRE(profile.devices.size() == 1);
  CHECK(profile.devices[0].name == "/cpu:0");
  CHECK(profile.devices[0].peak_bytes == session.devices()[0].peak);
  CHECK(profile.devices[0].planned_bytes == session.devices()[0].planned);
  CHECK(profile.peak_bytes() == profile.devices[0].peak_bytes);
}

TEST_CASE("spans with known times give known sums, rates and shares of the roofline") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 2});
  tf::Profiler profiler(session, known_rates);
  session.run<"head/total">(tf::feed<"x">(std::vector<float>(100, 1.0f)));
  const tf::Id step = session.with_plan<"head/total">(
      [](const auto&, const auto&, const auto& plan) { return plan.launches[0].step; });
  profiler.clear();
  CHECK(profiler.profile().steps.empty());
  CHECK(profiler.profile().wall_seconds == 0);
  profiler.add({0, step, 1.0, 1.25}, 10);
  profiler.add({0, step, 2.0, 2.5}, 20);
  const tf::Profile profile = profiler.profile();
  REQUIRE(profile.steps.size() == 1);
  CHECK(profile.steps[0].calls == 2);
  CHECK(profile.steps[0].seconds == 0.75);
  CHECK(profile.steps[0].mean_seconds() == 0.375);
  CHECK(profile.steps[0].least_seconds == 0.25);
  CHECK(profile.steps[0].most_seconds == 0.5);
  // The product, and an Add and a Relu for each of its elements.
  CHECK(profile.steps[0].operation == "MatMul");
  CHECK(profile.steps[0].flops == 30 * 30 * (2 * 20 + 2));
  CHECK(profile.wall_seconds == 1.5);
  CHECK(profile.seconds() == 0.75);
  CHECK(profile.share(profile.steps[0]) == 1);
  // Two threads of 1e9 flops in a second, and one memory of 2e9 bytes: 37,800 flops take 18.9 us,
  // the (10 + 20) * 50 + 2 * 630 floats 5.52 us.
  CHECK(profile.devices[0].flops_per_second == 2e9);
  CHECK(profile.devices[0].bytes_per_second == 2e9);
  CHECK(profile.roofline_seconds(profile.steps[0]) == doctest::Approx(18.9e-6));
  CHECK(profile.roofline_share(profile.steps[0]) == doctest::Approx(18.9e-6 / 0.75));
  CHECK(profile.calls == std::vector<tf::ProfiledCall>{{0, 1.0, 1.25}, {0, 2.0, 2.5}});
  CHECK(message_of([&] { profiler.add({1, step, 0, 1}); }) ==
        "Profiler::add, device: expected a number from 0 to 0, got 1");
  CHECK(message_of([&] { profiler.add({0, -1, 0, 1}); }).starts_with("Profiler::add, step: "));
}

TEST_CASE("sums have all calls, timelines the last ones") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  tf::ProfilerOptions options = known_rates;
  options.calls = 3;
  tf::Profiler profiler(session, options);
  for (int i = 0; i < 5; ++i) profiler.add({0, 0, i * 1.0, i + 0.5}, 1);
  const tf::Profile profile = profiler.profile();
  CHECK(profile.steps[0].calls == 5);
  CHECK(profile.calls == std::vector<tf::ProfiledCall>{{0, 2, 2.5}, {0, 3, 3.5}, {0, 4, 4.5}});
}

TEST_CASE("kernels of several devices are told apart") {
  tf::Variables variables;
  tf::Session<towers> session(variables, {.devices = tf::DeviceList::of(3)});
  tf::Profiler profiler(session, known_rates);
  for (int i = 0; i < 4; ++i) {
    session.run<"y">(tf::feed<"x">(std::vector<float>(5 * 16, 0.5f)));
  }
  const tf::Profile profile = profiler.profile();
  REQUIRE(profile.devices.size() == 3);
  CHECK(step_named(profile, "left").device == 1);
  CHECK(step_named(profile, "right").device == 2);
  const tf::ProfiledStep& y = step_named(profile, "y");
  CHECK(y.device == 0);
  CHECK(y.inputs.size() == 2);
  for (const tf::ProfiledStep& step : profile.steps) CHECK(step.calls == 4);
}

TEST_CASE("a kernel in a loop is called in each iteration, and the loop has a row without calls") {
  tf::Variables variables;
  tf::Session<loop> session(variables, {.threads = 1});
  tf::Profiler profiler(session, known_rates);
  session.run<"y">(tf::feed<"x">(std::vector<float>(64, 0.5f)));
  const tf::Profile profile = profiler.profile();
  const auto inside = std::find_if(profile.steps.begin(), profile.steps.end(),
                                   [](const tf::ProfiledStep& step) { return step.calls == 7; });
  REQUIRE(inside != profile.steps.end());
  CHECK(fuses(*inside, "Tanh"));
  const auto whole = std::find_if(profile.steps.begin(), profile.steps.end(),
                                  [](const tf::ProfiledStep& step) { return step.calls == 0; });
  REQUIRE(whole != profile.steps.end());
  CHECK(whole->seconds == 0);
  const int number = static_cast<int>(inside - profile.steps.begin());
  CHECK(std::find(whole->inputs.begin(), whole->inputs.end(), number) != whole->inputs.end());
}

TEST_CASE("a session without its profiler runs as before") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  const std::vector<float> x(3 * 20, 0.5f);
  const auto before = session.run<"head/total">(tf::feed<"x">(x));
  {
    tf::Profiler profiler(session, known_rates);
    CHECK(session.run<"head/total">(tf::feed<"x">(x)) == before);
    CHECK(profiler.profile().most_calls() == 1);
  }
  CHECK(session.run<"head/total">(tf::feed<"x">(x)) == before);
}

TEST_CASE("without rates a processor has those of this machine") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.threads = 1});
  tf::Profiler profiler(session);
  const tf::ProfiledDevice device = profiler.profile().devices[0];
  CHECK(device.flops_per_second > 1e7);
  CHECK(device.bytes_per_second > 1e7);
}
