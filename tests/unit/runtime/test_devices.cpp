// SPDX-License-Identifier: Apache-2.0

// Sessions on several virtual devices: the bits of one device, one copy for each tensor and
// destination, limits of memory, and errors.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/exec/opcode.hpp>
#include <typeflow/host.hpp>
#include <typeflow/typeflow.hpp>

#include "support/allocations.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// Two towers on two devices, a loss on a third, and a step of training.
constexpr void towers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto W =
      tf::on(g, tf::cpu(1), [&] { return tf::variable<float, 12, 8>(g, "W", tf::normal(0, 0.3)); });
  auto b = tf::variable<float, 8>(g, "b", tf::filled(0.1));
  auto left = tf::on(g, tf::cpu(1), [&] { return tanh(matmul(x, W) + b); });
  auto right = tf::on(g, tf::cpu(2), [&] { return sigmoid(matmul(x, W) - b); });
  auto both = (left * right).named("both");
  auto loss = mean(square(both)).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}

template <class Session>
std::vector<float> train(Session& session) {
  std::vector<float> out;
  for (std::size_t step = 1; step <= 5; ++step) {
    const auto [loss, both] =
        session.template run<"train", "loss", "both">(tf::feed<"x">(inputs(step)));
    out.push_back(loss);
    out.insert(out.end(), both.data(), both.data() + both.size());
  }
  return out;
}

int copies(const tf::exec::Plan& plan) {
  int count = 0;
  for (const tf::exec::Instruction& i : plan.instructions) {
    count += i.opcode == tf::exec::Opcode::copy;
  }
  return count;
}

constexpr void loops(tf::Graph& g) {
  auto x = tf::placeholder<float, 6>(g, "x");
  auto a = tf::on(g, tf::cpu(1), [&] { return exp(x * 0.1f); });
  auto counted = tf::fori_loop(
      0, 9,
      [&](auto i, auto s) {
        auto y = tf::on(g, tf::cpu(2), [&] { return s * 0.5f + a * tf::cast<float>(i); });
        return tf::on(g, tf::cpu(0), [&] { return tanh(y) + s; });
      },
      a);
  counted.named("counted");
  auto tested = tf::while_loop(
      [&](auto s) { return tf::on(g, tf::cpu(2), [&] { return less(sum(s), 100.0f); }); },
      [&](auto s) { return tf::on(g, tf::cpu(1), [&] { return s * 1.25f + a; }); }, a);
  tested.named("tested");
  tf::cond(
      greater(sum(x), 0.0f), [&] { return tf::on(g, tf::cpu(2), [&] { return exp(a); }); },
      [&] { return tf::on(g, tf::cpu(1), [&] { return a - counted; }); })
      .named("chosen");
  auto [last, all] = tf::scan(
      [&](auto state, auto slice) {
        auto next = tf::on(g, tf::cpu(1), [&] { return state * 0.9f + slice; });
        return std::pair(next, tf::on(g, tf::cpu(2), [&] { return square(next); }));
      },
      tf::constant<float>(g, 0), x);
  last.named("last");
  all.named("all");
}

/// Loops of which up to Parallel iterations overlap, and their gradients.
template <int Parallel>
constexpr void overlapping(tf::Graph& g) {
  auto x = tf::placeholder<float, 6>(g, "x");
  auto [i, y] = tf::while_loop(
      [&](auto k, auto) { return less(k, 9); },
      [&](auto k, auto s) {
        auto t = tf::on(g, tf::cpu(1), [&] { return tanh(s) * 0.7f + x; });
        auto u = tf::on(g, tf::cpu(2), [&] { return sigmoid(t) * tf::cast<float>(k); });
        return std::tuple{k + 1, tf::on(g, tf::cpu(0), [&] { return u - s * 0.25f; })};
      },
      std::tuple{tf::constant<std::int32_t>(g, 0), x},
      {.max_iterations = 12, .parallel_iterations = Parallel});
  auto [last, all] = tf::scan(
      [&](auto state, auto slice) {
        auto next = tf::on(g, tf::cpu(0), [&] { return state * 0.9f + slice; });
        return std::pair(next, tf::on(g, tf::cpu(1), [&] { return exp(next); }));
      },
      tf::constant<float>(g, 0), y, {.parallel_iterations = Parallel});
  auto loss = (sum(square(all)) + last).named("loss");
  tf::gradients(loss, x).named("dx");
}
template <int Parallel>
std::vector<float> overlapped(int expected_frames) {
  tf::Variables variables;
  tf::Session<overlapping<Parallel>> session(variables, {.devices = tf::DeviceList::of(3)});
  session.template with_plan<"loss", "dx">([&](const auto&, const auto&, const auto& plan) {
    CHECK(plan.loops.size() >= 3);
    for (const tf::exec::Loop& loop : plan.loops) CHECK(loop.frames == expected_frames);
    CHECK(plan.frames == expected_frames);
  });
  CHECK(tf::simulate<"loss", "dx">(session).wrong == "");
  std::vector<float> out;
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> x(6, 0.1f * static_cast<float>(i));
    const auto [loss, dx] = session.template run<"loss", "dx">(tf::feed<"x">(x));
    out.push_back(loss);
    out.insert(out.end(), dx.begin(), dx.end());
  }
  return out;
}

/// What devices() says while a run is in progress.
std::function<void()> during_run;
float observe(float x) {
  if (during_run) during_run();
  return x;
}
constexpr void observed(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto a = tf::on(g, tf::cpu(1), [&] { return tanh(x); });
  auto b = tf::on(g, tf::cpu(0), [&] { return sum(exp(a)); });
  tf::host<tf::Result<float>>(tf::function<observe>, b).named("y");
}

/// Each step fails where its element of `bad` is not 0.
float refuse(float x, float bad) {
  if (bad != 0) throw tf::Error("refused", "a bad number");
  return x + 1;
}
constexpr void fragile(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto bad = tf::placeholder<float, 6>(g, "bad");
  auto y = x;
  for (int i = 0; i < 6; ++i) {
    y = tf::on(g, tf::cpu(i % 3), [&] {
      return tf::host<tf::Result<float>>(tf::function<refuse>, y, tf::select<0>(bad, i));
    });
  }
  y.named("y");
}

}  // namespace

TEST_CASE("several devices compute the bits of one") {
  tf::Variables of_one;
  tf::Variables of_three;
  tf::Session<towers> one(of_one, {.seed = 3, .threads = 1, .soft_placement = true});
  tf::Session<towers> three(of_three, {.seed = 3, .devices = tf::DeviceList::of(3)});
  CHECK(train(one) == train(three));
  for (const std::string& name : of_one.names()) {
    const auto a = of_one.get<float>(name);
    const auto b = of_three.get<float>(name);
    CHECK(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  }
}

TEST_CASE("several runs of a session on several devices may be made at once") {
  tf::Variables variables;
  tf::Session<towers> session(variables, {.seed = 3, .devices = tf::DeviceList::of(3)});
  const float expected = session.run<"loss">(tf::feed<"x">(inputs(4)));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        count += session.run<"loss">(tf::feed<"x">(inputs(4))) != expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}

TEST_CASE("a run on several devices allocates nothing from the second one on") {
  tf::Variables variables;
  tf::Session<towers> of_towers(variables, {.devices = tf::DeviceList::of(3)});
  tf::Session<loops> of_loops(variables, {.devices = tf::DeviceList::of(3)});
  const std::vector<float> x = inputs(4);
  const std::vector<float> few(6, 0.5f);
  std::vector<float> both(4 * 8);
  std::vector<float> counted(6);
  std::vector<float> tested(6);
  const auto run = [&] {
    of_towers.run<"train">(tf::feed<"x">(x), tf::into<"both">(both));
    of_loops.run<>(tf::feed<"x">(few), tf::into<"counted">(counted), tf::into<"tested">(tested));
  };
  run();
  const long before = allocations;
  for (int i = 0; i < 10; ++i) run();
  CHECK(allocations == before);
}

TEST_CASE("a tensor is copied once to each device that reads it") {
  tf::Variables variables;
  tf::Session<towers> session(variables, {.devices = tf::DeviceList::of(3)});
  // W from 1 to 2, b from 0 to 1 and 2, left from 1 to 0, right from 2 to 0.
  session.with_plan<"both">([](const auto&, const auto&, const auto& plan) {
    CHECK(copies(plan) == 5);
    CHECK(plan.used_devices == 3);
  });
  const std::string text = tf::explain<"both">(session);
  CHECK(text.find("/cpu:0\n") != std::string::npos);
  CHECK(text.find("copy             W -> %") != std::string::npos);
  CHECK(tf::simulate<"both">(session, {.sizes = 4}).wrong == "");
}

TEST_CASE("branches and loops over several devices compute the bits of one") {
  tf::Variables variables;
  tf::Session<loops> one(variables, {.threads = 1, .soft_placement = true});
  tf::Session<loops> three(variables, {.devices = tf::DeviceList::of(3)});
  for (int i = 0; i < 20; ++i) {
    std::vector<float> x(6);
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = 0.3f * static_cast<float>(i - 10) + 0.1f * static_cast<float>(k);
    CHECK(one.run<"counted", "tested", "chosen", "last", "all">(tf::feed<"x">(x)) ==
          three.run<"counted", "tested", "chosen", "last", "all">(tf::feed<"x">(x)));
  }
}

TEST_CASE("devices tell their memory, and refuse more than their limit") {
  tf::Variables variables;
  tf::Session<towers> session(variables,
                              {.devices = {{}, {.memory_limit = 1 << 20}, {.memory_limit = 1000}}});
  session.run<"loss">(tf::feed<"x">(inputs(2)));
  const std::vector<tf::DeviceStatistics> devices = session.devices();
  REQUIRE(devices.size() == 3);
  CHECK(devices[1].device == tf::cpu(1));
  CHECK(devices[1].memory_limit == 1 << 20);
  for (const tf::DeviceStatistics& device : devices) {
    CHECK(device.planned > 0);
    CHECK(device.lower_bound <= device.planned);
    CHECK(device.reserved >= device.planned);
    CHECK(device.allocations > 0);
  }
  const std::string text = message_of([&] { session.run<"loss">(tf::feed<"x">(inputs(100))); });
  CHECK(text.starts_with("the memory of /cpu:2: expected at most 1000 bytes of tensors, got "));
  CHECK(std::isfinite(session.run<"loss">(tf::feed<"x">(inputs(2)))));
  CHECK(session.devices()[1].allocations >= devices[1].allocations);
}

TEST_CASE("devices tell what runs in progress use, and the most that they have reserved") {
  tf::Variables variables;
  tf::Session<observed> session(variables, {.devices = tf::DeviceList::of(2)});
  const auto run = [&](std::size_t rows) { return session.run<"y">(tf::feed<"x">(inputs(rows))); };
  CHECK(session.devices()[1].peak == 0);
  CHECK(session.devices()[1].live == 0);
  std::vector<tf::DeviceStatistics> during;
  during_run = [&] { during = session.devices(); };
  run(10);
  std::vector<tf::DeviceStatistics> after = session.devices();
  REQUIRE(during.size() == 2);
  // The tensor that crosses: 10 x 12 floats, in whole lines of 64 bytes.
  CHECK(during[1].live == 512);
  CHECK(during[0].live >= 512);
  for (std::size_t d = 0; d < 2; ++d) {
    CHECK(after[d].live == 0);
    CHECK(during[d].live == after[d].planned);
    CHECK(after[d].peak == after[d].reserved);
  }
  // A second run inside of the first one's time.
  bool is_second = false;
  during_run = [&] {
    if (is_second) {
      during = session.devices();
    } else {
      is_second = true;
      std::thread([&] { run(10); }).join();
    }
  };
  // (The first run holds its devices' threads no longer: its host function is its last step.)
  run(10);
  CHECK(during[1].live == 2 * after[1].planned);
  const std::vector<tf::DeviceStatistics> both = session.devices();
  CHECK(both[1].reserved == 2 * after[1].reserved);
  CHECK(both[1].peak == both[1].reserved);
  CHECK(both[1].live == 0);
  during_run = nullptr;
  run(1000);
  CHECK(session.devices()[1].peak >= 1000 * 12 * 4);
  run(1);
  CHECK(session.devices()[1].peak >= session.devices()[1].reserved);
}

TEST_CASE("loops honour parallel_iterations, with the same bits") {
  const std::vector<float> chosen = overlapped<0>(4);
  CHECK(overlapped<1>(1) == chosen);
  CHECK(overlapped<2>(2) == chosen);
  CHECK(overlapped<10>(10) == chosen);
  CHECK(overlapped<1000>(16) == chosen);
}

TEST_CASE("an error on any device ends the run, and the next run is right") {
  tf::Variables variables;
  tf::Session<fragile> session(variables, {.devices = tf::DeviceList::of(3)});
  for (int round = 0; round < 20; ++round) {
    for (std::size_t step = 0; step < 6; ++step) {
      std::vector<float> bad(6, 0.0f);
      bad[step] = 1;
      const std::string text =
          message_of([&] { session.run<"y">(tf::feed<"x">(2.0f), tf::feed<"bad">(bad)); });
      CHECK(text.find("refused: a bad number") != std::string::npos);
      bad[step] = 0;
      CHECK(session.run<"y">(tf::feed<"x">(2.0f), tf::feed<"bad">(bad)) == 8);
    }
  }
}

TEST_CASE("more devices than a session can have are refused") {
  CHECK(message_of([] { tf::DeviceList::of(17); }).starts_with("devices: expected at most 16"));
}
