// SPDX-License-Identifier: Apache-2.0

// The library's resources: counters and mutexes. Order of effects, sharing between sessions and
// simultaneous runs, and errors.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/host.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

/// Calls f(i) in `count` threads, and waits for them.
template <class F>
void in_threads(int count, const F& f) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
}

constexpr void counting(tf::Graph& g) {
  auto steps = tf::counter(g, "steps");
  auto first = next(steps).named("first");
  auto second = next(steps, 10).named("second");
  (first + second).named("both");
  set(steps, 100).named("reset");
  // In the model's order, though `a` is needed late and waits for an assignment.
  auto v = tf::variable<std::int64_t>(g, "v", tf::filled(3));
  auto other = tf::counter(g, "other");
  auto a = next(other, assign_add(v, 4).value());
  auto b = next(other);
  (1000 * b + a).named("in_order");
  // In loops and branches.
  auto loops = tf::counter(g, "loops");
  auto sum = fori_loop(
      0, 10, [&](auto, auto state) { return state + next(loops); },
      tf::constant<std::int64_t>(g, 0));
  sum.named("sum");
  auto x = placeholder<std::int64_t>(g, "x");
  cond(
      greater(x, 0), [&] { return next(loops, x); }, [&] { return -next(loops, 1); })
      .named("chosen");
}

/// Another model with the same counter.
constexpr void counting_too(tf::Graph& g) { next(tf::counter(g, "steps")).named("n"); }

}  // namespace

TEST_CASE("a run counts once, in the model's order") {
  tf::Variables variables;
  tf::Session<counting> session(variables);
  CHECK(session.run<"first">() == 0);
  CHECK(session.run<"second">() == 1);
  CHECK(session.run<"both">() == 11 + 12);
  session.run<"reset">();
  CHECK(variables.resource<tf::Counter>("steps").value() == 100);
  const auto [second, first] = session.run<"second", "first">();
  CHECK(first == 100);
  CHECK(second == 101);
  CHECK(session.run<"in_order">() == 1000 * 7);
  CHECK(variables.resource<tf::Counter>("other").value() == 8);
}

TEST_CASE("branches and loops count") {
  tf::Variables variables;
  tf::Session<counting> session(variables);
  CHECK(session.run<"sum">() == 45);
  CHECK(variables.resource<tf::Counter>("loops").value() == 10);
  CHECK(session.run<"chosen">(tf::feed<"x">(std::int64_t{5})) == 10);
  CHECK(session.run<"chosen">(tf::feed<"x">(std::int64_t{0})) == -15);
  CHECK(variables.resource<tf::Counter>("loops").value() == 16);
}

TEST_CASE("sessions on a store share a counter, and no two runs get one number") {
  tf::Variables variables;
  tf::Session<counting> one(variables);
  tf::Session<counting_too> two(variables);
  constexpr int threads = 8;
  constexpr int runs = 200;
  std::vector<std::int64_t> seen(threads * runs);
  in_threads(threads, [&](int t) {
    for (int i = 0; i < runs; ++i) {
      seen[static_cast<std::size_t>(t * runs + i)] =
          t % 2 == 0 ? one.run<"first">() : two.run<"n">();
    }
  });
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == static_cast<std::int64_t>(i));

  tf::Variables others;
  tf::Session<counting_too> three(others);
  CHECK(three.run<"n">() == 0);
}

TEST_CASE("a store keeps resources apart from variables") {
  tf::Variables variables;
  {
    tf::Session<counting> session(variables);
    session.run<"first">();
  }
  CHECK(variables.names() == std::vector<std::string>{"v"});  // which are saved to files
  CHECK_FALSE(variables.contains("steps"));
  CHECK(variables.find("steps") == nullptr);
  CHECK(message_of([&] { variables.get<std::uint8_t>("steps"); }).find("'steps'") !=
        std::string::npos);
  CHECK(message_of([&] { variables.set<float>("steps", std::vector<float>{1}, {1, {1}}); }) ==
        "variable 'steps': expected Counter, got float [1]");
  CHECK(message_of([&] { variables.resource<tf::Mutex>("steps"); }) ==
        "resource 'steps': expected Mutex, which a session makes, got Counter");
  CHECK(message_of([&] { variables.resource<tf::Counter>("v"); }) ==
        "resource 'v': expected Counter, which a session makes, got a variable");
  CHECK(message_of([&] { variables.resource<tf::Counter>("w"); }) ==
        "resource 'w': expected Counter, which a session makes, got nothing of this "
        "name");
}

namespace {

std::atomic<int> inside{0};  ///< runs in the critical section
std::atomic<int> most{0};
std::latch* entered = nullptr;
std::latch* leave = nullptr;

struct StayInside {
  void operator()(std::int64_t) const {
    const int now = ++inside;
    if (now > most) most = now;
    if (entered != nullptr) entered->count_down();
    if (leave != nullptr) leave->wait();
    --inside;
  }
};

constexpr void locked(tf::Graph& g) {
  auto lock = tf::mutex(g, "lock");
  auto v = tf::variable<std::int64_t, 64>(g, "v", tf::zeros());
  auto x = placeholder<std::int64_t>(g, "x");
  critical_section(lock, [&] { return assign_add(v, x).value(); }).named("sum");
  const auto [before, after] = critical_section(lock, [&] {
    const auto old = v.read();
    const tf::Effect stored = assign(v, old + x);
    return std::tuple{old, tf::after(stored, v.read())};
  });
  (max(after - before) + 1000 * (max(before) - min(before))).named("difference");
  critical_section(lock, [&] {
    return fori_loop(
               0, 5, [&](auto, auto state) { return state + min(assign_add(v, x).value()); },
               tf::constant<std::int64_t>(g, 0))
        .named("looped");
  }).named("loop");
  critical_section(lock, [&] { return host(StayInside{}, x); }).named("slow");
}

struct FailAbove0 {
  void operator()(float x) const {
    if (x > 0) throw std::runtime_error("a bad day");
  }
};

/// Mistakes, and runs that fail while they hold the mutex.
constexpr void held(tf::Graph& g) {
  tf::Scope in(g, "door");
  auto lock = tf::mutex(g, "lock");
  auto second = tf::mutex(g, "second");
  auto x = placeholder<float>(g, "x");
  acquire(lock).named("take");
  release(lock).named("give");
  const tf::Effect first = acquire(lock);
  acquire(lock, first).named("twice");
  critical_section(lock, [&] {
    return critical_section(second, [&] { return host(FailAbove0{}, x); });
  }).named("fails");
}

}  // namespace

TEST_CASE("a read-modify-write by 8 simultaneous runs loses no update") {
  tf::Variables variables;
  tf::Session<locked> session(variables);
  tf::Session<locked> another(variables);
  constexpr int threads = 8;
  constexpr int runs = 250;
  std::atomic<int> wrong{0};
  in_threads(threads, [&](int t) {
    tf::Session<locked>& mine = t % 2 == 0 ? session : another;
    for (int i = 0; i < runs; ++i) {
      mine.run<"sum">(tf::feed<"x">(std::int64_t{1}));
      if (mine.run<"difference">(tf::feed<"x">(std::int64_t{2})) != 2) ++wrong;
      mine.run<"loop">(tf::feed<"x">(std::int64_t{1}));
    }
  });
  CHECK(wrong == 0);
  for (const std::int64_t v : variables.get<std::int64_t>("v")) CHECK(v == threads * runs * 8);
}

TEST_CASE("a run waits for the mutex that another run holds") {
  tf::Variables variables;
  tf::Session<locked> session(variables);
  std::latch in(1);
  std::latch out(1);
  entered = &in;
  leave = &out;
  std::jthread first([&] { session.run<"slow">(tf::feed<"x">(std::int64_t{1})); });
  in.wait();
  entered = nullptr;
  CHECK(variables.resource<tf::Mutex>("lock").is_held());
  std::atomic<bool> done{false};
  std::jthread next([&] {
    session.run<"sum">(tf::feed<"x">(std::int64_t{1}));
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(done);
  out.count_down();
  next.join();
  first.join();
  leave = nullptr;
  CHECK(done);
  CHECK(most == 1);
  CHECK_FALSE(variables.resource<tf::Mutex>("lock").is_held());
}

namespace {

/// Two critical sections, one after the other.
template <bool Reverse>
constexpr void transfers(tf::Graph& g) {
  tf::Effect all;
  const auto add = [&](tf::Label lock, tf::Label name) {
    auto v = tf::variable<std::int64_t>(g, name, tf::zeros());
    all += critical_section(tf::mutex(g, lock), [&]() -> tf::Effect { return assign_add(v, 1); });
  };
  if (Reverse) add("lock_b", "b");
  add("lock_a", "a");
  if (!Reverse) add("lock_b", "b");
  all.named("all");
}

}  // namespace

TEST_CASE("runs that take mutexes one after the other never wait for each other in a circle") {
  tf::Variables variables;
  tf::Session<transfers<false>> one(variables);
  tf::Session<transfers<true>> two(variables);
  in_threads(8, [&](int t) {
    for (int i = 0; i < 1000; ++i) t % 2 == 0 ? one.run<"all">() : two.run<"all">();
  });
  CHECK(variables.get<std::int64_t>("a")[0] == 8000);
  CHECK(variables.get<std::int64_t>("b")[0] == 8000);
}

TEST_CASE("the end of a run releases what it holds, also if it fails") {
  tf::Variables variables;
  tf::Session<held> session(variables);
  const tf::Mutex& lock = variables.resource<tf::Mutex>("door/lock");
  const tf::Mutex& second = variables.resource<tf::Mutex>("door/second");
  session.run<"door/take">();
  CHECK_FALSE(lock.is_held());
  for (int i = 0; i < 3; ++i) {
    CHECK(message_of([&] {
            session.run<"door/fails">(tf::feed<"door/x">(1.f));
          }).find("a bad day") != std::string::npos);
    CHECK_FALSE(lock.is_held());
    CHECK_FALSE(second.is_held());
    session.run<"door/fails">(tf::feed<"door/x">(0.f));
  }
}

TEST_CASE("mistakes of a run name the mutex") {
  tf::Variables variables;
  tf::Session<held> session(variables);
  const std::string give = message_of([&] { session.run<"door/give">(); });
  CHECK(give.find("MutexRelease") != std::string::npos);
  CHECK(give.find("mutex 'door/lock': expected to be held by the run that releases it, got a "
                  "release without acquire") != std::string::npos);
  const std::string twice = message_of([&] { session.run<"door/twice">(); });
  CHECK(twice.find("mutex 'door/lock': expected to be free, got a second acquire by the run that "
                   "holds it") != std::string::npos);
  CHECK_FALSE(variables.resource<tf::Mutex>("door/lock").is_held());
}

namespace {

constexpr void counter_named_lock(tf::Graph& g) { next(tf::counter(g, "lock")).named("n"); }
constexpr void variable_named_lock(tf::Graph& g) {
  (tf::variable<float, 3>(g, "lock") + 1).named("y");
}
constexpr void serving(tf::Graph& g) {
  auto w = tf::variable<float>(g, "w", tf::ones());
  next(tf::counter(g, "steps")).named("n");
  (w + 1).named("y");
}

}  // namespace

TEST_CASE("a name is one resource or one variable of a store") {
  tf::Variables variables;
  tf::Session<locked> session(variables);
  CHECK(message_of([&] { tf::Session<counter_named_lock> other(variables); }) ==
        "resource 'lock': expected Counter, got Mutex");
  CHECK(message_of([&] { tf::Session<variable_named_lock> other(variables); }) ==
        "variable 'lock': expected float [3], got Mutex");
}

TEST_CASE("a session that is told not to initialise makes resources, which no file has") {
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>{2}, {0, {}});
  tf::Session<serving> session(variables, {.initialize = false});
  CHECK(session.run<"n">() == 0);
  const tf::Variables& kept = variables;
  tf::Session<serving, tf::read_only> reader(kept);
  CHECK(reader.run<"y">() == 3);
}

TEST_CASE("the interpreter says that it has no resources") {
  tf::Graph g;
  counting_too(g);
  CHECK(message_of([&] { interpret(g, {}); }).find("the interpreter has no resources") !=
        std::string::npos);
}
