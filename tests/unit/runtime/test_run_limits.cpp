// SPDX-License-Identifier: Apache-2.0

// Stop tokens and deadlines of runs: which error a run throws, what it names, that whoever waits in
// a run is woken, and that the next run is right.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/host.hpp>
#include <typeflow/resources.hpp>
#include <typeflow/run_limits.hpp>
#include <typeflow/typeflow.hpp>

#include "support/allocations.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using namespace std::chrono_literals;

static_assert(std::is_base_of_v<tf::Error, tf::Cancelled>);
static_assert(std::is_base_of_v<tf::Error, tf::DeadlineExceeded>);

/// What the steps of the models below do: step i calls actions[i], if there is one.
std::vector<std::function<void()>> actions(8);
std::atomic<int> steps_done{0};
float act(float x, std::int32_t i) {
  if (actions[static_cast<std::size_t>(i)]) actions[static_cast<std::size_t>(i)]();
  ++steps_done;
  return x + 1;
}
struct Actions {
  Actions() { steps_done = 0; }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { actions.assign(8, nullptr); }
};

/// Six steps; step i runs on /cpu:(i % Devices).
template <int Devices>
constexpr void steps(tf::Graph& g) {
  auto y = tf::placeholder<float>(g, "x");
  for (std::int32_t i = 0; i < 6; ++i) {
    tf::Scope scope(g, "step", i);
    y = tf::on(g, tf::cpu(i % Devices), [&] {
      return tf::host<tf::Result<float>>(tf::function<act>, y, tf::constant<std::int32_t>(g, i));
    });
  }
  y.named("y");
}

/// A loop that never ends where x is not negative, over Devices devices.
template <int Devices>
constexpr void endless(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  tf::while_loop(
      [&](auto s) { return tf::on(g, tf::cpu(0), [&] { return greater_equal(s, 0.0f); }); },
      [&](auto s) {
        auto half = tf::on(g, tf::cpu(1 % Devices), [&] { return sigmoid(s); });
        return tf::on(g, tf::cpu(2 % Devices), [&] { return half + 1; });
      },
      x)
      .named("y");
}

/// Adds x to a variable, with a lock; a step on /cpu:1 inside. Host functions do actions[0] there.
constexpr void locked(tf::Graph& g) {
  auto lock = tf::mutex(g, "lock");
  auto total = tf::variable<float>(g, "total", tf::zeros());
  auto x = tf::placeholder<float>(g, "x");
  tf::critical_section(lock, [&] {
    auto y = tf::on(g, tf::cpu(1), [&] {
      return tf::host<tf::Result<float>>(tf::function<act>, total.read() + x,
                                         tf::constant<std::int32_t>(g, 0));
    });
    return tf::after(assign(total, y), y);
  }).named("y");
}

/// Runs f in another thread.
struct Background {
  template <class F>
  explicit Background(const F& f) : thread(f) {}
  std::jthread thread;
};

void wait_for(const std::atomic<bool>& flag) { flag.wait(false); }
void set(std::atomic<bool>& flag) {
  flag.store(true);
  flag.notify_all();
}

}  // namespace

TEST_CASE("a run whose stop token has been stopped makes no step") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<1>> one(variables);
  tf::Session<steps<3>> three(variables, {.devices = tf::DeviceList::of(3)});
  std::stop_source source;
  CHECK(one.run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token())) == 8);
  CHECK(three.run<"y">(tf::stop_when(source.get_token()), tf::feed<"x">(2.0f)) == 8);
  source.request_stop();
  const int before = steps_done;
  const auto stopped = [&](auto& session) {
    CHECK_THROWS_AS(
        session.template run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token())),
        tf::Cancelled);
    return message_of(
        [&] { session.template run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token())); });
  };
  CHECK(stopped(one).starts_with("run: was cancelled; it came to step_0/Host"));
  CHECK(stopped(three).starts_with("run: was cancelled; it came to step_0/Host"));
  CHECK(steps_done == before);
  CHECK(one.run<"y">(tf::feed<"x">(2.0f)) == 8);
  CHECK(three.run<"y">(tf::feed<"x">(2.0f)) == 8);
}

TEST_CASE("a run ends after the step during which it is cancelled") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<1>> one(variables);
  tf::Session<steps<3>> three(variables, {.devices = tf::DeviceList::of(3)});
  const auto check = [&](auto& session) {
    for (int last = 0; last < 6; ++last) {
      CAPTURE(last);
      std::stop_source source;
      actions.assign(8, nullptr);
      actions[static_cast<std::size_t>(last)] = [&] { source.request_stop(); };
      steps_done = 0;
      const auto run = [&] {
        return session.template run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token()));
      };
      if (last < 5) {
        const std::string next = last < 4 ? "step_" + std::to_string(last + 1) + "/Host (" : "y (";
        CHECK(message_of(run).starts_with("run: was cancelled; it came to " + next));
        CHECK(steps_done == last + 1);
      } else if (std::is_same_v<decltype(session), tf::Session<steps<1>>&>) {
        CHECK(run() == 8);  // there is nothing left to end
      }
      actions.assign(8, nullptr);
      CHECK(session.template run<"y">(tf::feed<"x">(3.0f)) == 9);
    }
  };
  check(one);
  check(three);
}

TEST_CASE("deadlines end runs, and those far away do not") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<1>> one(variables);
  tf::Session<steps<3>> three(variables, {.devices = tf::DeviceList::of(3)});
  const auto check = [&](auto& session) {
    const auto run = [&](const auto&... limits) {
      return session.template run<"y">(tf::feed<"x">(2.0f), limits...);
    };
    CHECK(run(tf::within(1h)) == 8);
    CHECK(run(tf::within(std::chrono::hours::max())) == 8);
    CHECK(run(tf::until(std::chrono::steady_clock::time_point::max())) == 8);
    CHECK(run(tf::until(std::chrono::steady_clock::now() + 1h), tf::within(2h)) == 8);
    CHECK_THROWS_AS(run(tf::within(0s)), tf::DeadlineExceeded);
    CHECK_THROWS_AS(run(tf::within(-1s), tf::within(1h)), tf::DeadlineExceeded);
    CHECK_THROWS_AS(run(tf::until(std::chrono::steady_clock::now())), tf::DeadlineExceeded);
    CHECK(message_of([&] {
            run(tf::within(0s));
          }).starts_with("run: did not end within 0 s; it came to step_0/Host"));
    CHECK(message_of([&] {
            run(tf::until(std::chrono::steady_clock::time_point::min()));
          }).starts_with("run: did not end by its deadline; it came to step_0/Host"));
    actions[2] = [] { std::this_thread::sleep_for(5ms); };
    CHECK(message_of([&] {
            run(tf::within(5ms));
          }).starts_with("run: did not end within 0.005 s; it came to step_"));
    actions.assign(8, nullptr);
    CHECK(run() == 8);
  };
  check(one);
  check(three);
}

TEST_CASE("an error before a stop is the run's error, and a stop before an error") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<3>> session(variables, {.devices = tf::DeviceList::of(3)});
  for (int round = 0; round < 20; ++round) {
    std::stop_source source;
    const auto run = [&] {
      return session.run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token()));
    };
    actions[1] = [] { throw tf::Error("no good"); };
    std::string text = message_of(run);
    CHECK(text.starts_with("step_1/Host"));
    CHECK(text.ends_with("no good"));
    actions[1] = [&] {
      source.request_stop();
      throw tf::Error("no good");
    };
    text = message_of(run);
    CHECK(text.starts_with("run: was cancelled; it came to step_1/Host"));
    actions[1] = nullptr;
    CHECK(session.run<"y">(tf::feed<"x">(2.0f)) == 8);
  }
}

TEST_CASE("an endless loop ends, on one device and on three") {
  tf::Variables variables;
  tf::Session<endless<1>> one(variables);
  tf::Session<endless<3>> three(variables, {.devices = tf::DeviceList::of(3)});
  const auto check = [&](auto& session) {
    CHECK_THROWS_AS(session.template run<"y">(tf::feed<"x">(0.0f), tf::within(5ms)),
                    tf::DeadlineExceeded);
    std::stop_source source;
    {
      const Background canceller([&] {
        std::this_thread::sleep_for(2ms);
        source.request_stop();
      });
      CHECK_THROWS_AS(session.template run<"y">(tf::feed<"x">(0.0f),
                                                tf::stop_when(source.get_token()), tf::within(1h)),
                      tf::Cancelled);
    }
    CHECK(session.template run<"y">(tf::feed<"x">(-1.0f)) == -1);
  };
  check(one);
  check(three);
}

TEST_CASE("a stream that waits for another device is woken") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<3>> session(variables, {.devices = tf::DeviceList::of(3)});
  std::stop_source source;
  std::atomic<bool> waits{false};
  // Step 1 ends only when the run has been cancelled; meanwhile /cpu:0 and /cpu:2 wait.
  actions[1] = [&] {
    waits = true;
    while (!source.stop_requested()) std::this_thread::yield();
  };
  const Background canceller([&] {
    while (!waits) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);
    source.request_stop();
  });
  CHECK_THROWS_AS(session.run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token())),
                  tf::Cancelled);
  CHECK(steps_done == 2);
  actions[1] = nullptr;
  CHECK(session.run<"y">(tf::feed<"x">(2.0f)) == 8);
}

TEST_CASE("a run that waits for a mutex is woken, and so is one that waits for runs with locks") {
  const Actions actions_of_test;
  tf::Variables variables;
  // On one device the second run waits for the mutex, on two for all of the first one.
  tf::Session<locked> one(variables, {.threads = 1, .soft_placement = true});
  tf::Session<locked> two(variables, {.devices = tf::DeviceList::of(2)});
  const auto check = [&](auto& session, const char* where) {
    std::atomic<bool> holds{false};
    std::atomic<bool> may_end{false};
    const float total = session.template run<"y">(tf::feed<"x">(0.0f));
    actions[0] = [&] {
      set(holds);
      wait_for(may_end);
    };
    float first = 0;
    {
      const Background holder([&] { first = session.template run<"y">(tf::feed<"x">(1.0f)); });
      wait_for(holds);
      const std::string text =
          message_of([&] { session.template run<"y">(tf::feed<"x">(1.0f), tf::within(5ms)); });
      CAPTURE(text);
      CHECK(text.starts_with("run: did not end within 0.005 s"));
      CHECK(text.find(where) != std::string::npos);
      std::stop_source source;
      const Background canceller([&] { source.request_stop(); });
      CHECK_THROWS_AS(
          session.template run<"y">(tf::feed<"x">(1.0f), tf::stop_when(source.get_token())),
          tf::Cancelled);
      set(may_end);
    }
    actions[0] = nullptr;
    CHECK(first == total + 2);
    CHECK(session.template run<"y">(tf::feed<"x">(0.0f)) == total + 3);
  };
  check(one, "MutexAcquire");
  check(two, "");
}

TEST_CASE("a cancelled run does not wait for devices that other runs use") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<3>> session(variables, {.devices = tf::DeviceList::of(3)});
  std::atomic<bool> holds{false};
  std::atomic<bool> may_end{false};
  actions[1] = [&] {
    set(holds);
    wait_for(may_end);
  };
  float first = 0;
  {
    const Background other([&] { first = session.run<"y">(tf::feed<"x">(1.0f)); });
    wait_for(holds);
    CHECK_THROWS_AS(session.run<"y">(tf::feed<"x">(1.0f), tf::within(5ms)), tf::DeadlineExceeded);
    set(may_end);
  }
  CHECK(first == 7);
  CHECK(session.run<"y">(tf::feed<"x">(2.0f)) == 8);
}

TEST_CASE("runs with limits allocate nothing from the second one on") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<steps<3>> session(variables, {.devices = tf::DeviceList::of(3)});
  const std::stop_source source;
  const auto run = [&] {
    return session.run<"y">(tf::feed<"x">(2.0f), tf::stop_when(source.get_token()), tf::within(1h));
  };
  run();
  const long before = allocations;
  for (int i = 0; i < 20; ++i) run();
  CHECK(allocations == before);
}

TEST_CASE("simultaneous runs with limits of their own") {
  const Actions actions_of_test;
  tf::Variables variables;
  tf::Session<endless<3>> session(variables, {.devices = tf::DeviceList::of(3)});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          const bool ends = (i + t) % 2 == 0;
          try {
            const float y = session.run<"y">(tf::feed<"x">(ends ? -1.0f : 0.0f),
                                             tf::within(ends ? 3600s : std::chrono::seconds(0)));
            wrong += !ends || y != -1;
          } catch (const tf::DeadlineExceeded&) {
            wrong += ends;
          }
        }
      });
    }
  }
  CHECK(wrong == 0);
}
