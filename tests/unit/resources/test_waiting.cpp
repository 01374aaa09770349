// SPDX-License-Identifier: Apache-2.0

// Steps that wait for other runs: they hold no thread, and keep no other step from running.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/devices.hpp"
#include "typeflow/resources.hpp"
#include "typeflow/resources/waiting.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace acme {

/// A place for one number. Who puts one waits until it is empty, and who takes one until it is not.
class Box {
 public:
  static constexpr std::string_view name = "acme/Box";

  bool try_put(float x) {
    {
      const std::lock_guard lock(mutex_);
      if (held_) return false;
      held_ = x;
    }
    waiters.notify();
    return true;
  }
  bool try_take(float& x) {
    {
      const std::lock_guard lock(mutex_);
      if (!held_) return false;
      x = *held_;
      held_.reset();
    }
    waiters.notify();
    return true;
  }
  void put(float x) {
    tf::wait_in_thread(waiters, [&] { return try_put(x); });
  }
  float take() {
    float x = 0;
    tf::wait_in_thread(waiters, [&] { return try_take(x); });
    return x;
  }
  tf::Waiters waiters;

 private:
  std::mutex mutex_;
  std::optional<float> held_;
};

struct Put : tf::resource_operation<Box> {
  static constexpr std::string_view name = "acme/Put";
  static constexpr bool may_wait = true;
  static void compute(Put, Box& box, const tf::cpu_kernels::Tensor* in,
                      const tf::cpu_kernels::Tensor*, const tf::KernelCall& call) {
    tf::wait_for(call, box.waiters,
                 [&] { return box.try_put(*static_cast<const float*>(in->data)); });
  }
};
struct Take : tf::resource_operation<Box> {
  static constexpr std::string_view name = "acme/Take";
  static constexpr bool may_wait = true;
  static constexpr tf::Type infer(Take, const tf::Type&) {
    return {tf::DType::float32, tf::Dims{0, {}}};
  }
  static void compute(Take, Box& box, const tf::cpu_kernels::Tensor*,
                      const tf::cpu_kernels::Tensor* out, const tf::KernelCall& call) {
    tf::wait_for(call, box.waiters, [&] { return box.try_take(*static_cast<float*>(out->data)); });
  }
};
/// Says that it has run, and where; the error of a negative number.
struct Note : tf::custom {
  static constexpr std::string_view name = "acme/Note";
  static constexpr bool host_only = true;
  static constexpr tf::Type infer(Note, const tf::Type& x) { return x; }
  static inline std::atomic<int> count{0};
};

}  // namespace acme

template <>
struct typeflow::cpu_kernels::kernel_of<acme::Note> {
  template <class Arch>
  static void run(const acme::Note&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const float x = *static_cast<const float*>(in->data);
    if (x < 0) throw Error("a note of a negative number");
    *static_cast<float*>(out->data) = x;
    ++acme::Note::count;
  }
};

namespace {

constexpr int many = 100;

/// 100 takes on two devices, their sum, and work that depends on none of them.
constexpr void takes(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  tf::Expr<float> sum = tf::constant<float>(g, 0);
  for (int i = 0; i < many; ++i) {
    auto from = tf::on(g, tf::cpu(i % 2), [&] { return tf::resource<acme::Box>(g, {"box", i}); });
    sum = sum + apply(acme::Take{}, from);
  }
  auto others = tf::on(g, tf::cpu(1),
                       [&] { return tf::apply(acme::Note{}, x) + tf::apply(acme::Note{}, x * 2); });
  (sum * others).named("y");
}

/// One number after another from "in" to "out".
constexpr void pass_on(tf::Graph& g) {
  auto from = tf::resource<acme::Box>(g, "in");
  auto to = tf::on(g, tf::cpu(1), [&] { return tf::resource<acme::Box>(g, "out"); });
  auto last = tf::fori_loop(
      0, 5,
      [&](auto, auto before) {
        auto x = apply(acme::Take{}, from) + before;
        auto sent = apply(acme::Put{}, to, x);
        return tf::after(sent, x);
      },
      tf::constant<float>(g, 0));
  last.named("last");
}
/// A number that device 1 waits for.
constexpr void exchange(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto there = tf::on(g, tf::cpu(1), [&] { return tf::resource<acme::Box>(g, "there"); });
  auto back = tf::on(g, tf::cpu(1), [&] { return tf::resource<acme::Box>(g, "back"); });
  (apply(acme::Take{}, back) * 2).named("taken");
  apply(acme::Put{}, there, x).named("put");
  apply(acme::Put{}, back, apply(acme::Take{}, there) + 1).named("answer");
}
constexpr void waits_and_fails(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto from = tf::on(g, tf::cpu(1), [&] { return tf::resource<acme::Box>(g, "box"); });
  (apply(acme::Take{}, from) + tf::apply(acme::Note{}, x)).named("y");
}

}  // namespace

TEST_CASE("100 steps wait on two threads, while others compute") {
  tf::Variables variables;
  tf::Session<takes> session(variables, {.devices = {{}, {}}});
  for (int round = 0; round < 3; ++round) {
    const int before = acme::Note::count;
    auto y = std::async(std::launch::async, [&] { return session.run<"y">(tf::feed<"x">(2.0f)); });
    while (acme::Note::count != before + 2) std::this_thread::yield();
    for (int i = many - 1; i >= 0; --i) {
      variables.resource<acme::Box>("box_" + std::to_string(i)).put(static_cast<float>(i));
    }
    CHECK(y.get() == 4950.0f * 6);
  }
  session.with_plan<"y">([](const auto& program, const auto& devices, const auto& plan) {
    CHECK(plan.waits);
    CHECK(plan.streams.size() > many);
    CHECK(verify(program, devices, plan, {}, 10) == "");
  });
}

TEST_CASE("a loop waits in each iteration, on both of its devices") {
  tf::Variables variables;
  tf::Session<pass_on> session(variables, {.devices = {{}, {}}});
  for (int round = 0; round < 20; ++round) {
    auto last = std::async(std::launch::async, [&] { return session.run<"last">(); });
    for (int i = 1; i <= 5; ++i) {
      variables.resource<acme::Box>("in").put(static_cast<float>(i));
      CHECK(variables.resource<acme::Box>("out").take() == static_cast<float>(i * (i + 1) / 2));
    }
    CHECK(last.get() == 15);
  }
}

TEST_CASE("runs of a session wait for each other with the thread of one device") {
  tf::Variables variables;
  tf::Session<exchange> session(variables, {.devices = {{}, {}}});
  for (int round = 0; round < 50; ++round) {
    auto taken = std::async(std::launch::async, [&] { return session.run<"taken">(); });
    auto answer = std::async(std::launch::async, [&] { session.run<"answer">(); });
    session.run<"put">(tf::feed<"x">(static_cast<float>(round)));
    answer.get();
    CHECK(taken.get() == static_cast<float>(2 * (round + 1)));
  }
}

TEST_CASE("an error ends a run whose other steps wait, and takes nothing") {
  tf::Variables variables;
  tf::Session<waits_and_fails> session(variables, {.devices = {{}, {}}});
  for (int round = 0; round < 20; ++round) {
    const std::string text = message_of([&] { session.run<"y">(tf::feed<"x">(-1.0f)); });
    CHECK(text.find("a note of a negative number") != std::string::npos);
    variables.resource<acme::Box>("box").put(3);
    CHECK(session.run<"y">(tf::feed<"x">(4.0f)) == 7);
  }
}
