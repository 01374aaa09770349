// SPDX-License-Identifier: Apache-2.0

// Several virtual devices of the processor.
//
//   hand-over   a chain of small steps that alternates between two devices: nanoseconds for a step,
//               with its copy, signal and wait
//   products    two independent products of 1024 x 1024 matrices, on one device of a thread and on
//               two: the ratio of the times
//   planning    5,000 steps on 8 devices: milliseconds for the plan, and for its layout for another
//               batch size; the same plan with late copies

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/exec/planner.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

template <class F>
double least_seconds(int times, const F& f) {
  double least = 1e30;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  return least;
}

constexpr int links = 200;
constexpr void chain(tf::Graph& g) {
  auto x = tf::placeholder<float, 8>(g, "x");
  for (int i = 0; i < links; ++i) x = tf::on(g, tf::cpu(i % 2), [&] { return x * 0.5f + 1; });
  x.named("y");
}

constexpr tf::Extent size = 1024;
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<float, size, size>(g, "a");
  auto b = tf::placeholder<float, size, size>(g, "b");
  tf::on(g, tf::cpu(0), [&] { return matmul(a, b); }).named("ab");
  tf::on(g, tf::cpu(1), [&] { return matmul(b, a); }).named("ba");
}

void measure_hand_over() {
  tf::Variables variables;
  tf::Session<chain> session(variables, {.devices = tf::DeviceList::of(2)});
  const std::vector<float> x(8, 1.0f);
  std::vector<float> y(8);
  const double seconds =
      least_seconds(300, [&] { session.run<>(tf::feed<"x">(x), tf::into<"y">(y)); });
  std::printf("hand-over: %.0f ns a step\n", seconds / links * 1e9);
}

void measure_products() {
  tf::Variables variables;
  tf::Session<products> one(variables, {.threads = 1, .soft_placement = true});
  tf::Session<products> two(variables, {.devices = tf::DeviceList::of(2)});
  const std::vector<float> a(static_cast<std::size_t>(size * size), 0.5f);
  std::vector<float> ab(a.size());
  std::vector<float> ba(a.size());
  const auto run = [&](auto& session) {
    session.template run<>(tf::feed<"a">(a), tf::feed<"b">(a), tf::into<"ab">(ab),
                           tf::into<"ba">(ba));
  };
  double serial = 1e30;
  double parallel = 1e30;
  for (int i = 0; i < 10; ++i) {
    serial = std::min(serial, least_seconds(1, [&] { run(one); }));
    parallel = std::min(parallel, least_seconds(1, [&] { run(two); }));
  }
  std::printf("products: %.1f ms on one device, %.1f ms on two, ratio %.2f\n", serial * 1e3,
              parallel * 1e3, parallel / serial);
}

void measure_late_planning(const tf::ir::ProgramView& program,
                           const std::vector<tf::MachineDevice>& machine,
                           const std::vector<tf::Id>& steps) {
  int found = 0;
  const auto late = [&](const tf::exec::Demand& demand) {
    const auto seconds = [](tf::Id, int device) { return 1e-6 * (1 + device); };
    const auto bytes = [](tf::Id) { return 4096.0; };
    std::vector<tf::exec::LateCopy> copies =
        tf::exec::LateCopyFinder(program, static_cast<int>(machine.size()), demand, steps,
                                 tf::exec::LinkRates{1e-8, 1e12}, seconds, bytes)
            .run();
    found = static_cast<int>(copies.size());
    return copies;
  };
  tf::exec::Plan plan;
  const double early =
      least_seconds(10, [&] { plan = tf::exec::Planner(program, machine, steps).run(); });
  const tf::exec::Layout at_once = tf::exec::LayoutPlanner(program, plan, 64, false).run();
  const double seconds =
      least_seconds(10, [&] { plan = tf::exec::Planner(program, machine, steps, late).run(); });
  const tf::exec::Layout layout = tf::exec::LayoutPlanner(program, plan, 64, false).run();
  std::printf(
      "late copies: %d of %zu steps, %.1f ms (%.1f ms without); %.0f MB (%.0f MB without)\n", found,
      steps.size(), seconds * 1e3, early * 1e3, static_cast<double>(layout.total()) / 1e6,
      static_cast<double>(at_once.total()) / 1e6);
}

/// A program of single operations: a long chain on each device that takes from its neighbours, or
/// (late) from the device before it. By the costs of the latter each device is slower than the one
/// before, so that most copies are late.
void measure_planning(bool is_late) {
  constexpr int devices = 8;
  constexpr int steps = 5000;
  tf::Graph g;
  using X = tf::Expr<float, tf::Shape<tf::batch, 16>>;
  std::vector<X> x;
  for (int d = 0; d < devices; ++d) x.push_back(tf::placeholder<float, tf::batch, 16>(g, {"x", d}));
  for (int s = 0; s < steps; ++s) {
    const auto d = static_cast<std::size_t>(s % devices);
    const X other = is_late ? x[d == 0 ? 0 : d - 1]
                            : x[(d + 1 + static_cast<std::size_t>(s / devices) % 3) % devices];
    x[d] = tf::on(g, tf::cpu(static_cast<int>(d)), [&] { return tanh(x[d]) * other; });
  }
  for (int d = 0; d < devices; ++d) x[static_cast<std::size_t>(d)].named({"y", d});
  tf::ir::FusionLimits limits;
  limits.members = 2;
  const tf::ir::InterpretedProgram program(g, {}, limits);
  std::vector<tf::MachineDevice> machine;
  for (int d = 0; d < devices; ++d) machine.push_back({tf::cpu(d)});
  std::vector<tf::Id> all;
  for (tf::Id s = 0; s < main_steps(program.view()); ++s) all.push_back(s);
  tf::exec::Plan plan;
  if (is_late) return measure_late_planning(program.view(), machine, all);
  const double planning =
      least_seconds(10, [&] { plan = tf::exec::Planner(program.view(), machine, all).run(); });
  tf::exec::Layout layout;
  const double again = least_seconds(
      10, [&] { layout = tf::exec::LayoutPlanner(program.view(), plan, 64, false).run(); });
  std::printf(
      "planning: %zu steps, %d instructions, %.1f ms; layout %.1f ms, %.1f times the least\n",
      all.size(), plan.instructions.size(), planning * 1e3, again * 1e3,
      static_cast<double>(layout.bytes[0]) / static_cast<double>(layout.at_once[0]));
}

}  // namespace

int main() {
  measure_hand_over();
  measure_products();
  measure_planning(false);
  measure_planning(true);
}
