// SPDX-License-Identifier: Apache-2.0

// Runs of branches and loops: what they allocate, print and draw, several at once, sessions of
// other modes, runners, and what they refuse.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/make_runner.hpp>
#include <typeflow/typeflow.hpp>

#include "support/allocations.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// The root of a number by Newton's iteration, to a tolerance.
constexpr void newton(tf::Graph& g) {
  auto a = tf::placeholder<double>(g, "a");
  auto root = tf::while_loop([&](auto r) { return tf::greater(tf::abs(r * r - a), 1e-12 * a); },
                             [&](auto r) { return 0.5 * (r + a / r); }, a, {.max_iterations = 200});
  root.named("root");
}

/// A machine with a stack of at most 8 numbers: a code below 10 pushes itself, 10 adds the two on
/// top, 11 multiplies them.
struct Machine {
  tf::Expr<float, tf::Shape<8>> stack;
  tf::Expr<std::int32_t> height;
};
constexpr void machine(tf::Graph& g) {
  auto codes = tf::placeholder<std::int32_t, tf::batch>(g, "codes");
  auto place = tf::constant<std::int32_t, 8>(g, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto at = [&](auto stack, auto i) {
    return tf::sum(tf::where(tf::equal(place, i), stack, 0.0f));
  };
  const auto with = [&](auto stack, auto i, auto value) {
    return tf::where(tf::equal(place, i), value, stack);
  };
  auto last = tf::fold_left(
      [&](Machine m, auto code) {
        const auto joined = [&](auto join) {
          auto x = at(m.stack, m.height - 2);
          auto y = at(m.stack, m.height - 1);
          return Machine{with(m.stack, m.height - 2, join(x, y)), m.height - 1};
        };
        return tf::cond(
            tf::less(code, 10),
            [&] { return Machine{with(m.stack, m.height, tf::cast<float>(code)), m.height + 1}; },
            [&] {
              return tf::cond(
                  tf::equal(code, 10), [&] { return joined([](auto x, auto y) { return x + y; }); },
                  [&] { return joined([](auto x, auto y) { return x * y; }); });
            });
      },
      Machine{tf::zeros<float, 8>(g), tf::constant<std::int32_t>(g, 0)}, codes);
  at(last.stack, last.height - 1).named("top");
  last.height.named("height");
}

/// States of one shape and many types, which stay or change places beside one that is computed.
constexpr void turns(tf::Graph& g) {
  auto x = tf::placeholder<float, 37>(g, "x");
  auto n = tf::placeholder<std::int64_t, 37>(g, "n");
  auto p = tf::placeholder<bool, 37>(g, "p");
  auto q = tf::placeholder<tf::bfloat16, 37>(g, "q");
  auto z = tf::complex(x, x * 2.0f);
  auto last = tf::fori_loop(
      0, 3,
      [](auto, auto y, auto a, auto b, auto, auto m, auto r, auto h, auto w) {
        return std::tuple{y * y + 1.0f, b, a, y, m, r, h, w};
      },
      std::tuple{x, x, -x, x, n, p, q, z});
  std::get<0>(last).named("y");
  std::get<1>(last).named("a");
  std::get<2>(last).named("b");
  std::get<3>(last).named("before");
  std::get<4>(last).named("m");
  std::get<5>(last).named("r");
  std::get<6>(last).named("h");
  std::get<7>(last).named("w");
}

constexpr void statements(tf::Graph& g) {
  auto total = tf::variable<float>(g, "total", tf::zeros());
  auto x = tf::placeholder<float>(g, "x", 1.0f);
  tf::Effect before = tf::assign(total, x);
  tf::Effect adds = tf::fori_loop(
      g, 0, 3, [&](auto i) { tf::assign(total, total.read() * 2.0f + tf::cast<float>(i)); });
  tf::Effect after = tf::assign_add(total, 100.0f);
  tf::group(before, adds, after).named("all");
  auto zero = tf::zeros<float, 4>(g);
  auto [sum, draws] = tf::scan(
      [&](auto s, auto) {
        auto u = tf::random_uniform<float, 4>(g);
        return std::pair{s + u, u};
      },
      zero, tf::zeros<float, 5>(g));
  draws.named("draws");
  sum.named("sum");
  tf::fori_loop(
      0, 3, [&](auto i, auto y) { return tf::print(y + tf::cast<float>(i), "y"); }, x)
      .named("printed");
  tf::fori_loop(
      0, 3, [&](auto i, auto y) { return y / tf::cast<float>(1 - i); }, x)
      .named("divided");
}

constexpr void inside(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  tf::fori_loop(0, 3, [&](auto, auto y) { return (y * x).named("product") + 1.0f; }, x).named("y");
}

constexpr void without_end(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  tf::while_loop([](auto y) { return tf::greater(y, 0.0f); }, [](auto y) { return y + 1.0f; }, x,
                 {.max_iterations = 20})
      .named("y");
}

}  // namespace

TEST_CASE("Newton's iteration to a tolerance") {
  tf::Variables store;
  tf::Session<newton> session(store);
  for (const double a : {2.0, 1e-6, 12345.0}) {
    const double root = session.run<"root">(tf::feed<"a">(a));
    CHECK(root == doctest::Approx(std::sqrt(a)).epsilon(1e-11));
  }
}

TEST_CASE("a machine with a stack") {
  tf::Variables store;
  tf::Session<machine> session(store);
  const auto top = [&](const std::vector<std::int32_t>& codes) {
    const auto [value, height] = session.run<"top", "height">(tf::feed<"codes">(codes));
    CHECK(height == 1);
    return static_cast<float>(value);
  };
  CHECK(top({7}) == 7);
  CHECK(top({2, 3, 10}) == 5);
  CHECK(top({2, 3, 10, 4, 11}) == 20);
  CHECK(top({1, 2, 3, 4, 5, 11, 10, 11, 10}) == 1 + 2 * (3 + 4 * 5));
}

TEST_CASE("states of many types are given on beside one that is computed") {
  tf::Variables variables;
  tf::Session<turns> session(variables);
  std::array<float, 37> x;
  std::array<std::int64_t, 37> n;
  std::array<bool, 37> p;
  std::array<tf::bfloat16, 37> q;
  for (std::size_t i = 0; i < 37; ++i) {
    x[i] = static_cast<float>(i) / 20.0f - 1.0f;
    n[i] = (std::int64_t{1} << 40) * static_cast<std::int64_t>(i) - 5;
    p[i] = i % 3 == 0;
    q[i] = tf::bfloat16(static_cast<float>(i));
  }
  const auto [y, a, b, before, m, r, h, w] =
      session.run<"y", "a", "b", "before", "m", "r", "h", "w">(tf::feed<"x">(x), tf::feed<"n">(n),
                                                               tf::feed<"p">(p), tf::feed<"q">(q));
  for (std::size_t i = 0; i < 37; ++i) {
    float v = x[i];
    for (int k = 0; k < 2; ++k) v = v * v + 1;
    CHECK(before(i) == doctest::Approx(v));
    CHECK(y(i) == doctest::Approx(v * v + 1));
    CHECK(a(i) == -x[i]);
    CHECK(b(i) == x[i]);
    CHECK(m(i) == n[i]);
    CHECK(r(i) == p[i]);
    CHECK(static_cast<float>(h(i)) == static_cast<float>(q[i]));
    CHECK(w(i) == std::complex<float>(x[i], 2 * x[i]));
  }
}

TEST_CASE("statements in a body happen in the model's order") {
  tf::Variables store;
  tf::Session<statements> session(store);
  session.run<"all">(tf::feed<"x">(5.0f));
  float total = 5;
  for (int i = 0; i < 3; ++i) total = total * 2 + static_cast<float>(i);
  CHECK(store.get<float>("total").data()[0] == total + 100);
}

TEST_CASE("each iteration draws other numbers, each seed and draw the same") {
  const auto draw = [](int runs) {
    tf::Variables store;
    tf::Session<statements> session(store);
    std::vector<float> draws(20);
    for (int i = 0; i < runs; ++i) session.run<"draws">(tf::into<"draws">(draws));
    return draws;
  };
  const std::vector<float> first = draw(1);
  CHECK(first == draw(1));
  CHECK(first != draw(2));
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) CHECK(first[i] != first[k]);
    CHECK(first[i] >= 0);
    CHECK(first[i] < 1);
  }
  // The interpreter draws the same.
  tf::Graph g;
  statements(g);
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  for (const char* const name : {"draws", "sum"}) {
    const tf::HostTensor meant = interpreter.run({name})[0];
    const tf::HostTensor got = programs.run({name})[0];
    for (std::int64_t i = 0; i < meant.size(); ++i) {
      CHECK(got.value(i) == doctest::Approx(meant.value(i)).epsilon(1e-6));
    }
  }
}

TEST_CASE("a body prints in each iteration") {
  std::vector<std::string> lines;
  tf::Variables store;
  tf::Session<statements> session(
      store, {.print = [&](std::string_view line) { lines.emplace_back(line); }});
  session.run<"printed">(tf::feed<"x">(2.0f));
  REQUIRE(lines.size() == 3);
  for (const std::string& line : lines) CHECK(line.starts_with("y "));
  CHECK(lines[0].find('2') != std::string::npos);
  CHECK(lines[2].find('5') != std::string::npos);
}

TEST_CASE("check_finite finds the step of a body that makes what is not finite") {
  tf::Variables store;
  tf::Session<statements> session(store, {.check_finite = true});
  const std::string message = message_of([&] { session.run<"divided">(tf::feed<"x">(2.0f)); });
  CHECK(message.find("test_control_flow_runs.cpp") != std::string::npos);
}

TEST_CASE("an iteration allocates nothing") {
  tf::Variables store;
  tf::Session<machine> session(store);
  const std::vector<std::int32_t> codes{1, 2, 3, 4, 5, 11, 10, 11, 10};
  float top = session.run<"top">(tf::feed<"codes">(codes));
  const long before = allocations;
  for (int i = 0; i < 10; ++i) top += session.run<"top">(tf::feed<"codes">(codes));
  CHECK(allocations == before);
  CHECK(top == 11 * 47);
}

TEST_CASE("several threads run one session") {
  tf::Variables store;
  tf::Session<newton> session(store);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 1; i <= 200; ++i) {
        const double a = i + 1000 * t;
        const double root = session.run<"root">(tf::feed<"a">(a));
        if (std::abs(root * root - a) > 1e-9 * a) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("more iterations than allowed are an error of the run") {
  tf::Variables store;
  tf::Session<without_end> session(store);
  CHECK(session.run<"y">(tf::feed<"x">(-1.0f)) == -1);
  const std::string message = message_of([&] { session.run<"y">(tf::feed<"x">(1.0f)); });
  CHECK(message.find("its condition holds after 20 iterations, the most that max_iterations "
                     "allows") != std::string::npos);
  CHECK(session.run<"y">(tf::feed<"x">(-2.0f)) == -2);  // the session goes on
}

TEST_CASE("sessions of other modes, and runners") {
  tf::Variables store;
  tf::Session<inside, tf::debug> debugged(store);
  CHECK(debugged.run<"y">(tf::feed<"x">(2.0f)) == 23);
  tf::Session<inside, tf::inference> inferring(store);
  CHECK(inferring.run<"y">(tf::feed<"x">(2.0f)) == 23);
  const tf::Runner runner = tf::runner<tf::Session<inside>, "y">(store);
  const float x = 2;
  CHECK(runner.run({{"x", x}}, {"y"}).value<float>("y") == 23);
}

TEST_CASE("what a body computes is no name of a run, and not to be used outside") {
  tf::Graph g;
  inside(g);
  tf::ir::ProgramInterpreter programs(g);
  tf::HostTensor x = tf::host_tensor(tf::DType::float32, tf::Dims{0, {}});
  x.set(0, 2);
  CHECK(programs.run({"y"}, {{"x", x}})[0].value(0) == 23);
  const std::string message = message_of([&] { programs.run({"product"}, {{"x", x}}); });
  CHECK(message ==
        "'product' is computed inside of a branch or a loop: to fetch it, have the "
        "branch or the body give it as a result");
  tf::Graph leaking;
  auto y = tf::placeholder<float>(leaking, "x");
  tf::Expr<float> kept;
  tf::fori_loop(0, 3, [&](auto, auto s) { return kept = s * 2.0f; }, y);
  (kept + y).named("y");
  CHECK(message_of([&] {
          tf::ir::ProgramInterpreter{leaking};
        }).find("it uses what is computed inside of a branch or a loop") != std::string::npos);
}
