// SPDX-License-Identifier: Apache-2.0

// Assertions: check(condition, "text {}", x...), compiled, interpreted and by a runner.

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/allocations.hpp"
#include "support/message_of.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/make_runner.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
/// The message from the place of the check on: what is behind "model.cpp:12): ".
std::string after_place(const std::string& message) {
  const std::size_t at = message.rfind("): ");
  return at == message.npos ? message : message.substr(at + 3);
}

constexpr void model(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 3>(g, "x");
  auto limit = placeholder<float>(g, "limit", 10);
  auto largest = variable<float>(g, "largest", tf::zeros());
  const tf::Effect below = check(less(x, limit), "x is {}, {{limit}} {}", x, limit).named("below");
  after(below, sum(x)).named("sum");
  assign(largest, after(below, max(x))).named("keep");
  tf::Scope in(g, "inner");
  check(greater(limit, 0), "not positive");
}

tf::HostTensor host(tf::Dims dims, std::vector<double> values) {
  tf::HostTensor t = tf::host_tensor(tf::DType::float32, dims);
  for (std::size_t i = 0; i < values.size(); ++i) t.set(static_cast<std::int64_t>(i), values[i]);
  return t;
}

}  // namespace

TEST_CASE("check: runs allocate nothing") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const auto run = [&]() -> float { return session.run<"sum">(tf::feed<"x">(x)); };
  run();
  const long before = allocations;
  run();
  run();
  CHECK(allocations == before);
}

TEST_CASE("check: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  session.run<"below">(tf::feed<"x">(x));
  CHECK(session.run<"sum">(tf::feed<"x">(x)) == 21);
  session.run<"keep">(tf::feed<"x">(x));
  CHECK(variables.get<float>("largest")[0] == 6);
  CHECK(session.run<"sum">(tf::feed<"x">(std::vector<float>{})) == 0);  // of nothing, all hold

  tf::Graph g;
  model(g);
  tf::Interpreter interpreter(g);
  CHECK(interpreter.run({"sum"}, {{"x", host({2, {2, 3}}, {1, 2, 3, 4, 5, 6})}})[0].value(0) == 21);
  tf::ir::ProgramInterpreter programs(g);
  CHECK(programs.run({"below", "sum"}, {{"x", host({2, {2, 3}}, {1, 2, 3, 4, 5, 6})}})[0].value(
            0) == 21);
  auto runner = tf::runner<tf::Session<model>, "sum">(variables);
  CHECK(runner.run({{"x", x}}, {"sum"}).value<float>("sum") == 21);
}

TEST_CASE("check: errors") {
  const std::string expected =
      "x is [1 2 3 40 0.1 60], {limit} 10 (2 of 6 are false, the first at [1, 0])";
  const std::vector<float> x = {1, 2, 3, 40, 0.1f, 60};
  tf::Variables variables;
  tf::Session<model> session(variables);
  std::string message = message_of([&] { session.run<"below">(tf::feed<"x">(x)); });
  CHECK(message.starts_with("below (test_check.cpp:"));
  CHECK(after_place(message) == expected);
  message = message_of([&] { session.run<"keep">(tf::feed<"x">(x)); });
  CHECK(after_place(message) == expected);
  CHECK(variables.get<float>("largest")[0] == 0);  // comes after the check
  CHECK(session.run<"sum">(tf::feed<"x">(x), tf::feed<"limit">(100.f)) == 106.1f);

  tf::Graph g;
  model(g);
  const tf::HostTensors feeds{{"x", host({2, {2, 3}}, {1, 2, 3, 40, 0.1, 60})},
                              {"limit", host({}, {10})}};
  tf::Interpreter interpreter(g);
  message = message_of([&] { interpreter.run({"sum"}, feeds); });
  CHECK(message.starts_with("Check (test_check.cpp:"));
  CHECK(after_place(message) == expected);
  tf::ir::ProgramInterpreter programs(g);
  message = message_of([&] { programs.run({"below"}, feeds); });
  CHECK(message.starts_with("below (test_check.cpp:"));
  CHECK(after_place(message) == expected);
  auto runner = tf::runner<tf::Session<model>, "sum">(variables);
  message = message_of([&] { runner.run({{"x", x}}, {"sum"}); });
  CHECK(after_place(message) == expected);
}

namespace {

constexpr void many(tf::Graph& g) {
  auto never = constant<bool>(g, false);
  auto n = constant<std::int8_t, 9>(g, {-128, 1, 2, 3, 4, 5, 6, 7, 8});
  auto u = constant<std::uint64_t>(g, ~std::uint64_t{0});
  auto d = constant<double, 2>(g, {0.1, -1e300});
  auto h = cast<tf::float16>(constant<float>(g, 0.1f));
  auto c = constant<std::complex<float>>(g, std::complex<float>(1, -2.5f));
  auto b = constant<bool, 2>(g, {true, false});
  auto e = placeholder<float, tf::batch>(g, "e");
  check(never, "{}|{}|{}|{}|{}|{}|{}", n, u, d, h, c, b, e).named("numbers");
  auto s = placeholder<std::string_view, tf::batch>(g, "s");
  check(never, "strings {}", s).named("strings");
  check(never, "").named("empty");
}

}  // namespace

TEST_CASE("a check shows tensors of every element type, at most 8 elements of each") {
  tf::Variables variables;
  tf::Session<many> session(variables);
  const std::string numbers =
      "[-128 1 2 3 4 5 6 7 ...]|18446744073709551615|[0.1 -1e+300]|0.099975586|(1, -2.5)|[true "
      "false]|[]";
  CHECK(after_place(message_of(
            [&] { session.run<"numbers">(tf::feed<"e">(std::vector<float>{})); })) == numbers);
  tf::Graph g;
  many(g);
  CHECK(message_of([&] {
          tf::ir::Graph& graph = g;
          tf::Interpreter(graph).run({"numbers"}, {{"e", host({1, {0}}, {})}});
        }).ends_with(numbers));
  const std::vector<std::string_view> words = {"a", "",
                                               std::string_view("a long one, of more than "
                                                                "forty bytes in all")};
  CHECK(after_place(message_of([&] { session.run<"strings">(tf::feed<"s">(words)); })) ==
        "strings [\"a\" \"\" \"a long one, of more than forty bytes in ...\"]");
  CHECK(message_of([&] { session.run<"empty">(); }).ends_with("): "));
}

namespace {

constexpr void in_order(tf::Graph& g) {
  auto x = placeholder<float>(g, "x");
  auto v = variable<float>(g, "v", tf::zeros());
  const tf::Effect first = check(greater(x, 0), "first");
  const tf::Effect write = assign(v, x);
  const tf::Effect second = check(greater(v.read(), 1), "second, v {}", v.read());
  const tf::Effect third = check(greater(x, -1), "third");
  (third + second + write + first).named("all");
  after(third, x + 1).named("y");
}

}  // namespace

TEST_CASE("checks keep the model's order, and read what was assigned before them") {
  tf::Variables variables;
  tf::Session<in_order> session(variables);
  const auto run = [&](float x) {
    return after_place(message_of([&] { session.run<"all">(tf::feed<"x">(x)); }));
  };
  CHECK(run(-2) == "first");
  CHECK(run(0.5f) == "second, v 0.5");
  CHECK(run(2) == "");
  CHECK(session.run<"y">(tf::feed<"x">(-0.5f)) == 0.5f);  // executes the third alone
  CHECK(has(message_of([&] { session.run<"y">(tf::feed<"x">(-2.f)); }), "third"));
  tf::Graph g;
  in_order(g);
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"v", host({}, {0})}};
  CHECK(has(message_of([&] { interpreter.run({"all"}, {{"x", host({}, {0.5})}}); }),
            "second, v 0.5"));
}

namespace {

/// What comes after the check is cheap, and read by two kernels that could compute it again.
constexpr void guarded(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  auto y = after(check(less(x, 3), "x {}", x), x);
  matmul(reshape<1, tf::batch>(y), reshape<tf::batch, 1>(y + 1)).named("product");
  sum(exp(y)).named("sum");
  (y + sum(y)).named("shifted");
}

}  // namespace

TEST_CASE("all that comes after a check executes it") {
  tf::Variables variables;
  tf::Session<guarded> session(variables);
  const std::vector<float> right = {1, 2};
  const std::vector<float> wrong = {1, 4};
  CHECK(session.run<"product">(tf::feed<"x">(right))(0, 0) == 8);
  CHECK(session.run<"shifted">(tf::feed<"x">(right))(1) == 5);
  for (int i = 0; i < 3; ++i) {
    const std::string message = message_of([&] {
      if (i == 0) session.run<"product">(tf::feed<"x">(wrong));
      if (i == 1) session.run<"sum">(tf::feed<"x">(wrong));
      if (i == 2) session.run<"shifted">(tf::feed<"x">(wrong));
    });
    CHECK(after_place(message) == "x [1 4] (1 of 2 are false, the first at [1])");
  }
}

TEST_CASE("a check's text that does not fit its tensors is a mistake of the model") {
  const auto mistake = [](const auto& model) {
    return message_of([&] {
      tf::Graph g;
      auto x = tf::placeholder<float>(g, "x");
      model(x);
    });
  };
  CHECK(has(mistake([](auto x) { check(greater(x, 0), "{} {}", x); }),
            "the text has more {} than tensors follow it (test_check.cpp:"));
  CHECK(has(mistake([](auto x) { check(greater(x, 0), "x", x); }), "the text has fewer {} than"));
  CHECK(has(mistake([](auto x) { check(greater(x, 0), "{:.3}", x); }), "the text has a brace"));
  CHECK(has(mistake([](auto x) { check(greater(x, 0), "x }"); }), "the text has a brace"));
  CHECK(mistake([](auto x) { check(greater(x, 0), "}}{}{{", x); }) == "");
  CHECK(tf::detail::mistake_in_check(std::string(252, 'a'), 0) == "");
  CHECK(tf::detail::mistake_in_check(std::string(253, 'a'), 0) ==
        "the text has more than 252 bytes");
}

TEST_CASE("equal checks are not one, and gradients pass a check by") {
  tf::Graph g;
  auto x = tf::placeholder<float>(g, "x");
  const tf::Effect a = check(greater(x, 0), "x");
  const tf::Effect b = check(greater(x, 0), "x");
  CHECK(a.token() != b.token());
  auto y = after(a, x * x);
  gradients(y, x).named("dx");
  tf::Interpreter interpreter(g);
  CHECK(interpreter.run({"dx"}, {{"x", host({}, {3})}})[0].value(0) == 6);
}
