// SPDX-License-Identifier: Apache-2.0

// Recordings make neighbouring launches of one map kernel as one, if none needs another's results.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/optimizers.hpp>

namespace {

namespace tf = typeflow;
using test::CudaOnHost;
using test::CudaTargetOnHost;

/// Gradients are scaled by the norm of all, so that hardly a step of the optimizer is part of the
/// kernel of its gradient. Sizes: with and without whole packets of 16 bytes.
template <class Optimizer>
constexpr void clipped(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 12>(g, "x");
  auto first = tanh(tf::dense<20>(g, "first", x));
  auto second = tanh(tf::dense<8>(g, "second", first));
  auto third = tanh(tf::dense<7>(g, "third", second));
  auto loss = mean(square(tf::dense<3>(g, "last", third))).named("loss");
  auto gradients = clip_by_global_norm(tf::gradients(loss, g.trainable()), 0.1f);
  tf::minimize(Optimizer{.rate = 0.05f}, gradients).named("train");
}

struct Trained {
  std::vector<std::byte> bytes;  // of all variables
  int launches = 0;              // of the first step
  int recorded = 0;              // that the second step recorded
};
/// `steps` steps of a model. `waits`: each kernel is launched by itself.
template <auto Model, bool HasInput = true>
Trained trained(bool waits, int steps = 4) {
  Trained out;
  tf::Variables variables;
  tf::Session<Model, tf::training, CudaTargetOnHost> session(variables,
                                                             {.seed = 3, .wait_for_steps = waits});
  std::vector<float> x(5 * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  for (int i = 0; i < steps; ++i) {
    const int before = CudaOnHost::get().launches;
    if constexpr (HasInput) {
      session.template run<"train">(tf::feed<"x">(x));
    } else {
      session.template run<"train">();
    }
    const int launches = CudaOnHost::get().launches - before;
    if (i == 0) out.launches = launches;
    if (i == 1) out.recorded = launches;
  }
  for (const std::string& name : variables.names()) {
    const tf::VariableEntry& entry = *std::as_const(variables).find(name);
    const std::byte* const bytes = entry.bytes.data();
    out.bytes.insert(out.bytes.end(), bytes, bytes + entry.bytes.size());
  }
  return out;
}

/// u and w need s as it is before and after its own step, so they can't be computed together.
constexpr void in_turn(tf::Graph& g) {
  auto u = tf::variable<float, 64>(g, "u", tf::ones());
  auto s = tf::variable<float>(g, "s", tf::ones());
  auto w = tf::variable<float, 128>(g, "w", tf::ones());
  const tf::Effect first = assign(u, u.read() + s.read());
  const tf::Effect second = assign(s, tf::after(first, s.read() * 3.0f));
  const tf::Effect third = assign(w, tf::after(second, w.read() + s.read()));
  third.named("train");
}

/// More steps than a table of arguments holds, of sizes that whole packets do or do not fill.
template <int... I>
constexpr tf::Effect move_all(tf::Graph& g, std::integer_sequence<int, I...>) {
  tf::Effect all;
  const auto move = [&](auto v) { all += assign(v, 0.75f * v.read() + 1.0f); };
  (move(tf::variable<float, 5 + I>(g, {"v", I}, tf::filled(I))), ...);
  return all;
}
constexpr int many = 100;
constexpr void many_variables(tf::Graph& g) {
  move_all(g, std::make_integer_sequence<int, many>{}).named("train");
}

}  // namespace

TEST_CASE("launches conflict if one writes what the other reads or writes") {
  tf::LaunchGroups groups;
  const auto admits = [&](std::uintptr_t begin, std::uintptr_t end, bool writes) {
    const tf::MemoryAccess access{begin, end, writes};
    return groups.admits({&access, 1});
  };
  CHECK(groups.empty());
  CHECK(admits(0, 1000, true));
  const tf::MemoryAccess held[] = {{100, 200, false}, {300, 400, true}};
  groups.add([](tf::CudaStream&, const std::byte*, int) {}, "x", 1, held, held);
  CHECK(!groups.empty());
  CHECK(admits(100, 200, false));  // both read
  CHECK(!admits(100, 200, true));
  CHECK(!admits(199, 250, true));
  CHECK(admits(200, 300, true));  // between them
  CHECK(!admits(0, 101, true));
  CHECK(!admits(300, 400, false));
  CHECK(!admits(350, 360, true));
  CHECK(!admits(0, 1000, false));
  CHECK(admits(400, 500, true));
}

TEST_CASE("launches of one function are made together, in the order in which they came") {
  static std::vector<std::string> made;
  made.clear();
  constexpr tf::LaunchGroups::Launch first = [](tf::CudaStream&, const std::byte* of, int count) {
    made.push_back("first " +
                   std::string(reinterpret_cast<const char*>(of), static_cast<std::size_t>(count)));
  };
  constexpr tf::LaunchGroups::Launch second = [](tf::CudaStream&, const std::byte* of, int count) {
    made.push_back("second " +
                   std::string(reinterpret_cast<const char*>(of), static_cast<std::size_t>(count)));
  };
  tf::CudaStream stream(CudaOnHost::runtime(), 0);
  CHECK(stream.capture() == nullptr);  // nothing is recorded
  tf::LaunchGroups groups;
  groups.add(first, "a", 1, {}, {});
  groups.add(second, "b", 1, {}, {});
  groups.add(first, "c", 1, {}, {});
  const auto flush = [&] {
    groups.flush([&](const tf::LaunchGroups::Group& group) {
      group.launch(stream, group.arguments.data(), group.count);
    });
  };
  flush();
  CHECK(made == std::vector<std::string>{"first ac", "second b"});
  CHECK(groups.empty());
  flush();
  CHECK(made.size() == 2);
}

TEST_CASE("the steps of an optimizer over eight variables are two launches") {
  const auto check = [](const Trained& one_by_one, const Trained& together, int fewer) {
    CHECK(one_by_one.launches == together.launches);
    CHECK(one_by_one.recorded == one_by_one.launches);
    CHECK(together.recorded == together.launches - fewer);
    CHECK(one_by_one.bytes.size() > 2000);
    CHECK(one_by_one.bytes == together.bytes);
  };
  // Whole packets of 16 bytes make up some sizes, but not others. The first variable's step is part
  // of the kernel that folds its gradient, or computes it; seven are left.
  check(trained<clipped<tf::Adam>>(true), trained<clipped<tf::Adam>>(false), 5);
  check(trained<clipped<tf::Momentum>>(true), trained<clipped<tf::Momentum>>(false), 5);
  check(trained<clipped<tf::GradientDescent>>(true), trained<clipped<tf::GradientDescent>>(false),
        5);
}

TEST_CASE("steps that need one another's results are launched in turn") {
  const Trained one_by_one = trained<in_turn, false>(true);
  const Trained together = trained<in_turn, false>(false);
  CHECK(together.recorded == one_by_one.recorded);
  CHECK(one_by_one.bytes == together.bytes);
  // s is 1, 3, 9, 27 before the steps: u has 1 + 40 at the end, w 1 + 120.
  const auto value = [&](std::size_t i) {
    float v = 0;
    std::memcpy(&v, together.bytes.data() + 4 * i, sizeof v);
    return v;
  };
  CHECK(value(0) == 81);  // s
  CHECK(value(1) == 41);
  CHECK(value(64) == 41);
  CHECK(value(65) == 121);
  CHECK(value(192) == 121);
}

TEST_CASE("any number of steps is made with tables of 4 KiB") {
  const Trained together = trained<many_variables, false>(false, 3);
  CHECK(together.launches == many);
  CHECK(together.recorded < many / 8);
  CHECK(together.recorded >= 4);
  std::vector<float> right;
  std::vector<std::string> names;
  for (int i = 0; i < many; ++i) names.push_back("v_" + std::to_string(i));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const int i = std::stoi(name.substr(2));
    auto v = static_cast<float>(i);
    for (int step = 0; step < 3; ++step) v = 0.75f * v + 1.0f;
    right.insert(right.end(), static_cast<std::size_t>(5 + i), v);
  }
  REQUIRE(together.bytes.size() == right.size() * sizeof(float));
  CHECK(std::memcmp(together.bytes.data(), right.data(), together.bytes.size()) == 0);
}
