// SPDX-License-Identifier: Apache-2.0

// Pipelines: the gradients of the whole batch, the orders of work, and the share of idle time.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "unit/parallel/nets.hpp"

namespace {

namespace tf = typeflow;
using tf::PipelineOrder;
using tf::detail::pipeline_step;

constexpr tf::Momentum momentum{.rate = 0.1};

constexpr auto hidden(tf::Graph& g, auto x) {
  return dense<8>(g, "hidden", x, {.activation = tf::tanh});
}
constexpr auto middle(tf::Graph& g, auto x) {
  return dense<8>(g, "middle", x, {.activation = tf::tanh});
}
constexpr auto out(tf::Graph& g, auto x, auto y) {
  return mean(softmax_cross_entropy(dense<3>(g, "out", x), y));
}

constexpr void whole(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  minimize(momentum, out(g, middle(g, hidden(g, x)), y).named("loss")).named("train");
}
template <PipelineOrder Order, int Parts>
constexpr void pipe(tf::Graph& g) {
  auto x = tf::placeholder<float, Parts * tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, Parts * tf::batch>(g, "y");
  auto pipe = tf::pipeline<Parts>(
      g, Order, x, y, [&](auto a) { return hidden(g, a); }, [&](auto a) { return middle(g, a); },
      [&](auto a, auto b) { return out(g, a, b); });
  pipe.loss().named("loss");
  minimize(momentum, pipe.gradients()).named("train");
}
constexpr auto gpipe = PipelineOrder::all_forward_then_backward;
constexpr auto alternating = PipelineOrder::one_forward_one_backward;

/// A stage's steps as text: F0 F1 B0...
std::string order_of(PipelineOrder order, int stages, int parts, int stage) {
  std::string text;
  for (int i = 0; i < 2 * parts; ++i) {
    const tf::detail::PipelineStep step = pipeline_step(order, stages, parts, stage, i);
    text += (step.forward ? " F" : " B") + std::to_string(step.part);
  }
  return text;
}

template <PipelineOrder Order, int Parts>
void check(const std::vector<float>& expected, std::size_t rows) {
  tf::Variables variables;
  tf::Session<pipe<Order, Parts>> session(variables, {.seed = 5, .devices = tf::DeviceList::of(3)});
  const std::vector<float> got = test::train(session, rows);
  CHECK(test::difference(got, expected) < 1e-5);
  tf::Variables of_one;
  tf::Session<pipe<Order, Parts>> one(of_one, {.seed = 5, .threads = 1, .soft_placement = true});
  CHECK(test::train(one, rows) == got);

  // If every part takes a second at each stage, forward and backward, the run takes 2 (M + S - 1).
  tf::SimulationOptions options{.sizes = rows / Parts};
  tf::Simulation simulated = tf::simulate<"train">(session, options);
  CHECK(simulated.wrong.empty());
  std::map<tf::Id, double> seconds;
  std::vector<bool> begins(3, true);
  std::vector<int> parts(3, 0);
  session.with_devices([&](const auto& program, auto) {
    for (const tf::Span& span : simulated.spans) {
      if (span.step == tf::none) continue;
      const auto device = static_cast<std::size_t>(span.device);
      tf::Message name{};
      print_step(name, program, program.steps[span.step]);
      const bool ends = name.view().find("PartDone") != std::string_view::npos;
      const bool works = parts[device] < 2 * Parts;
      seconds[span.step] = begins[device] && works ? 1 : 0;
      begins[device] = ends;
      parts[device] += ends;
    }
  });
  CHECK(parts == std::vector<int>(3, 2 * Parts - 1));  // nothing follows the last one
  options.seconds = [&](tf::Id step) { return seconds[step]; };
  options.launch_seconds = 0;
  options.copied_bytes_per_second = 1e30;
  simulated = tf::simulate<"train">(session, options);
  CHECK(simulated.seconds == doctest::Approx(2 * (Parts + 3 - 1)));
  double busy = 0;
  for (const double of_device : simulated.busy) busy += of_device;
  CHECK(1 - busy / (3 * simulated.seconds) == doctest::Approx(2.0 / (Parts + 2)));
}

}  // namespace

TEST_CASE("stages work in GPipe's order, or alternate") {
  CHECK(order_of(gpipe, 3, 3, 1) == " F0 F1 F2 B0 B1 B2");
  CHECK(order_of(alternating, 3, 4, 0) == " F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(order_of(alternating, 3, 4, 1) == " F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(order_of(alternating, 3, 4, 2) == " F0 B0 F1 B1 F2 B2 F3 B3");
  CHECK(order_of(alternating, 4, 2, 0) == " F0 F1 B0 B1");
}

TEST_CASE("a pipeline trains as one device does with the whole batch, idle as predicted") {
  tf::Variables variables;
  tf::Session<whole> session(variables, {.seed = 5, .threads = 1});
  const std::vector<float> expected = test::train(session, 12);
  check<gpipe, 4>(expected, 12);
  check<alternating, 4>(expected, 12);
  check<alternating, 2>(expected, 12);
}

TEST_CASE("alternating stages keep the activations of fewer parts") {
  const auto peak = [&](auto& session) {
    const test::Batch batch = test::batch_of(6 * 64, 0);
    session.template run<"train">(tf::feed<"x">(batch.x), tf::feed<"y">(batch.y));
    return session.devices()[1].lower_bound;
  };
  tf::Variables variables;
  tf::Session<pipe<gpipe, 6>> all(variables, {.devices = tf::DeviceList::of(3)});
  tf::Session<pipe<alternating, 6>> turns(variables, {.devices = tf::DeviceList::of(3)});
  CHECK(peak(turns) < peak(all));
}
