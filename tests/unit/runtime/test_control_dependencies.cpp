// SPDX-License-Identifier: Apache-2.0

// Control dependencies between operations that exchange no data: after(completed(a), x).

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/host.hpp>
#include <typeflow/resources.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

std::atomic<int> finished{0};

/// Takes its time, and then counts.
float slow(float x) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ++finished;
  return x + 1;
}
/// How often slow has finished.
float seen(float x) { return x + static_cast<float>(finished.load()); }

/// `seen` runs on another device than `slow` and takes nothing of it.
constexpr void on_two_devices(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto z = tf::placeholder<float>(g, "z");
  auto a = tf::on(g, "/cpu:1",
                  [&] { return tf::host<tf::Result<float>>(tf::function<slow>, x).named("a"); });
  auto late = tf::after(tf::completed(a), z);
  tf::on(g, "/cpu:0",
         [&] { return tf::host<tf::Result<float>>(tf::function<seen>, late).named("b"); });
  auto v = tf::variable<float>(g, "v", tf::zeros());
  tf::run_after(tf::completed(a, x, z), tf::assign(v, z)).named("set");
}

constexpr void refreshed(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::zeros());
  auto x = tf::placeholder<float>(g, "x");
  tf::after(tf::assign(v, x), v.read()).named("new");
}

/// Four large tensors of one device, which the other one reads one after the other. They do not
/// depend on one another. With Chained each begins when the one before has been used.
template <bool Chained>
constexpr void large_tensors(tf::Graph& g) {
  auto x = tf::placeholder<float, 512, 2>(g, "x");
  auto w = tf::placeholder<float, 2, 512>(g, "w");
  auto total = tf::constant<float>(g, 0);
  tf::Effect used;
  for (int i = 0; i < 4; ++i) {
    const auto large = tf::on(g, tf::cpu(1), [&] {
      auto rows = x * static_cast<float>(i + 1);
      return tanh(matmul(Chained && i > 0 ? tf::after(used, rows) : rows, w));  // 1 MiB
    });
    tf::on(g, tf::cpu(0), [&] {
      auto sum_of_products = sum(matmul(large, large));
      total = total + sum_of_products;
      used = tf::completed(sum_of_products);
    });
  }
  total.named("total");
}

template <bool Chained>
std::int64_t peak_bytes(float& total) {
  tf::Variables variables;
  tf::Session<large_tensors<Chained>> session(variables, {.devices = tf::DeviceList::of(2)});
  std::vector<float> x(1024);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 64 - 0.1f;
  total = session.template run<"total">(tf::feed<"x">(x), tf::feed<"w">(x));
  CHECK(tf::simulate<"total">(session, {.sizes = 1}).wrong == "");
  std::int64_t bytes = 0;
  for (const tf::DeviceStatistics& device : session.devices()) bytes += device.peak;
  return bytes;
}

/// The two reads are first in loops of their own, which `sum` then joins.
constexpr void two_reads(tf::Graph& g) {
  auto v = tf::variable<float, 4>(g, "v", tf::ones());
  auto set = tf::assign_add(v, v).named("set");
  auto plain = v.read().named("plain");
  auto late = tf::after(set, v.read()).named("late");
  (plain + late).named("sum");
}

}  // namespace

TEST_CASE("an operation begins after a tensor that it depends on, and computes it") {
  tf::Variables variables;
  tf::Session<on_two_devices> session(variables, {.devices = tf::DeviceList::of(2)});
  finished = 0;
  for (int i = 1; i <= 20; ++i) {
    CHECK(session.run<"b">(tf::feed<"x">(0.0f), tf::feed<"z">(0.0f)) == static_cast<float>(i));
  }
  CHECK(finished == 20);
  session.run<"set">(tf::feed<"x">(0.0f), tf::feed<"z">(7.0f));
  CHECK(finished == 21);
  CHECK(variables.get<float>("v")[0] == 7);
}

TEST_CASE("a chain of control edges serialises large operations and lowers the peak of memory") {
  float free_total = 0;
  float chained_total = 0;
  const std::int64_t without = peak_bytes<false>(free_total);
  const std::int64_t with = peak_bytes<true>(chained_total);
  CHECK(free_total == chained_total);
  constexpr std::int64_t large = 512 * 512 * 4;
  MESSAGE("peak: ", without, " bytes, with control edges ", with);
  CHECK(with >= 3 * large);  // a tensor on either device, and the product
  CHECK(with + 2 * large < without);
}

TEST_CASE("a read after an assignment always gives the new value") {
  tf::Variables variables;
  tf::Session<refreshed> session(variables);
  for (int i = 0; i < 20; ++i) {
    const auto x = static_cast<float>(i);
    CHECK(session.run<"new">(tf::feed<"x">(x)) == x);
  }
}

TEST_CASE("a loop that takes in one with a control dependency has it, too") {
  tf::Variables variables;
  tf::Session<two_reads> session(variables);
  CHECK(session.run<"sum">()(0) == 4);
  CHECK(variables.get<float>("v")[0] == 2);
  const auto [plain, sum] = session.run<"plain", "sum">();
  CHECK(plain(0) == 4);
  CHECK(sum(0) == 8);
  CHECK(session.run<"plain">()(0) == 4);
}
