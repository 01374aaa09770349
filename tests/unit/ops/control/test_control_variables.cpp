// SPDX-License-Identifier: Apache-2.0

// Variables that branches and loops assign: what reads them by their handles, inside and outside,
// has the value at the run's start. And loops against plain ones, in sessions, by programs that are
// interpreted, by the interpreter of graphs.

#include <doctest/doctest.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// A body reads v by its handle, and an inner loop assigns it.
constexpr void handle_and_assignment(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::zeros());
  tf::fori_loop(
      0, 3,
      [&](auto, auto y) {
        tf::fori_loop(g, 0, 2, [&](auto) { tf::assign_add(v, 1); });
        return y + v;
      },
      tf::constant<float>(g, 0))
      .named("y");
}

/// Gradients for a variable whose present value is read inside, also by its handle or not at all.
constexpr void gradients_of_reads(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto w = tf::variable<float>(g, "w", tf::zeros());
  const auto loop = [&](const auto& more) {
    return tf::fori_loop(
        0, 2, [&](auto, auto y) { return y + x * w.read() + more(); }, tf::constant<float>(g, 0));
  };
  gradients(loop([&] { return x; }) + w, w).named("loop");
  gradients(loop([&] { return w * w; }), w).named("both");
  auto one = tf::cond(tf::less(x, 9.0f), [&] { return x * w.read(); }, [&] { return x; });
  gradients(one, w).named("branch");
}

/// What a slice of a variable shows is read in place, after a branch that writes the variable.
constexpr void slice_of_assigned(tf::Graph& g) {
  auto s = tf::placeholder<float>(g, "s");
  auto v = tf::variable<float, 3>(g, "v", tf::zeros());
  auto old = tf::slice<tf::range(2, 3)>(v);
  auto one = tf::cond(
      tf::less(s, 1.0f),
      [&] {
        tf::assign(v, v * 2.0f);
        return s;
      },
      [&] { return s + 1.0f; });
  (one + tf::broadcast_to<4>(old)).named("y");
}

constexpr void branches(tf::Graph& g) {
  auto k = tf::placeholder<std::int32_t>(g, "k");
  auto x = tf::placeholder<float>(g, "x");
  auto runs = tf::variable<float>(g, "runs", tf::zeros());
  tf::switch_case(
      k,
      [&] {
        tf::assign_add(runs, 1);
        return x;
      },
      [&] { return x * 10.0f; }, [&] { return x * 100.0f; })
      .named("y");
  tf::cond(tf::less(x, 0.0f), [&] { tf::assign_add(runs, 100); }, [] {}).named("count");
}

constexpr void collatz(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t>(g, "n");
  auto [m, steps] = tf::while_loop(
      [](auto a, auto) { return tf::not_equal(a, 1); },
      [](auto a, auto count) {
        return std::tuple{tf::cond(
                              tf::equal(tf::mod(a, 2), 0), [&] { return tf::floordiv(a, 2); },
                              [&] { return a * 3 + 1; }),
                          count + 1};
      },
      std::tuple{n, tf::constant<std::int32_t>(g, 0)}, {.max_iterations = 150});
  steps.named("steps");
}

/// All three ways, run alike.
template <auto Model>
struct Ways {
  tf::Graph graph;
  tf::Interpreter interpreter;
  tf::ir::ProgramInterpreter programs;

  Ways() : interpreter((Model(graph), graph)), programs(graph) {}
  std::vector<double> run(const char* name, const tf::HostTensors& feeds,
                          const tf::HostTensors& variables = {}) {
    interpreter.variables = programs.variables = variables;
    const tf::HostTensor meant = interpreter.run({name}, feeds)[0];
    const tf::HostTensor got = programs.run({name}, feeds)[0];
    CHECK(test::difference(meant, got) == 0);
    for (const auto& [variable, value] : interpreter.variables) {
      CHECK(test::difference(value, programs.variables.at(variable)) == 0);
    }
    return test::elements(got);
  }
};

int collatz_steps(std::int64_t n) {
  int steps = 0;
  for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

}  // namespace

TEST_CASE("a body reads the start of the run by a handle, while a loop inside assigns") {
  Ways<handle_and_assignment> ways;
  CHECK(ways.run("y", {}, {{"v", test::floats({}, {5})}}) == std::vector<double>{15});
  CHECK(ways.programs.variables.at("v").value(0) == 11);
  tf::Variables store;
  tf::Session<handle_and_assignment> session(store);
  CHECK(session.run<"y">() == 0);
  CHECK(session.run<"y">() == 18);
}

TEST_CASE("reads in branches and loops lead gradients to their variables") {
  Ways<gradients_of_reads> ways;
  const auto run = [&](const char* name) {
    return ways.run(name, {{"x", test::floats({}, {3})}}, {{"w", test::floats({}, {5})}});
  };
  CHECK(run("loop") == std::vector<double>{2 * 3 + 1});
  CHECK(run("both") == std::vector<double>{2 * (3 + 2 * 5)});
  CHECK(run("branch") == std::vector<double>{3});
}

TEST_CASE("a slice of a variable is that of the run's start, whatever a branch assigns") {
  Ways<slice_of_assigned> ways;
  const tf::HostTensors variables{{"v", test::floats({3}, {1, 2, 3})}};
  CHECK(ways.run("y", {{"s", test::floats({}, {0})}}, variables) ==
        std::vector<double>{3, 3, 3, 3});
  CHECK(test::elements(ways.programs.variables.at("v")) == std::vector<double>{2, 4, 6});
}

TEST_CASE("a branch that is not taken does not run; an index outside takes the last") {
  Ways<branches> ways;
  for (const int k : {-7, -1, 0, 1, 2, 3, 90}) {
    CAPTURE(k);
    const double factor = k == 0 ? 1 : k == 1 ? 10 : 100;
    const tf::HostTensors feeds{{"k", test::ints({}, {static_cast<double>(k)})},
                                {"x", test::floats({}, {2})}};
    CHECK(ways.run("y", feeds, {{"runs", test::floats({}, {0})}}) ==
          std::vector<double>{2 * factor});
    CHECK(ways.programs.variables.at("runs").value(0) == (k == 0 ? 1 : 0));
  }
  tf::Variables store;
  tf::Session<branches> session(store);
  session.run<"count">(tf::feed<"x">(3.0f));
  CHECK(store.get<float>("runs").data()[0] == 0);
  session.run<"count">(tf::feed<"x">(-3.0f));
  CHECK(store.get<float>("runs").data()[0] == 100);
  CHECK(session.run<"y">(tf::feed<"x">(2.0f), tf::feed<"k">(1)) == 20);
  CHECK(store.get<float>("runs").data()[0] == 100);
}

TEST_CASE("lengths of Collatz sequences; more iterations than allowed are an error") {
  Ways<collatz> ways;
  tf::Variables store;
  tf::Session<collatz> session(store);
  for (const int n : {1, 2, 6, 7, 27, 97}) {
    CAPTURE(n);
    const double steps = collatz_steps(n);
    CHECK(ways.run("steps", {{"n", test::ints({}, {static_cast<double>(n)})}}) ==
          std::vector<double>{steps});
    CHECK(session.run<"steps">(tf::feed<"n">(n)) == steps);
  }
  const std::string message = message_of([&] { session.run<"steps">(tf::feed<"n">(703)); });
  CHECK(message.find("its condition holds after 150 iterations, the most that max_iterations "
                     "allows") != message.npos);
}
