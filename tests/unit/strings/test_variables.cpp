// SPDX-License-Identifier: Apache-2.0

// Strings in variables, which own their bytes; in feeds and buffers; in messages.

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/interpret/interpret.hpp"
#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"
#include "typeflow/xtensor.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

constexpr void model(tf::Graph& g) {
  auto x = placeholder<std::string_view, 2>(g, "x");
  auto v = variable<std::string_view, 2>(g, "v");
  auto last = state<std::string_view>(g, "last");
  auto longer = string_join("", v, x);
  assign(v, longer).named("append");
  assign(v, reverse<0>(v)).named("turn");
  string_join("|", v, after(assign(v, x), v.read())).named("before_and_after");
  assign(last, select<0>(x, 0)).value().named("remember");
  print(v, "v").named("printed");
  identity(last).named("last_one");
  identity(x).named("same");
}

/// A view of bytes that are gone when the run is over.
std::string long_text(char c) { return std::string(100, c); }

}  // namespace

TEST_CASE("strings: variables") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto value = [&] {
    const std::span<const std::string_view> v = variables.get<std::string_view>("v");
    return Strings(v.begin(), v.end());
  };
  CHECK(value() == Strings{"", ""});
  for (int i = 0; i < 3; ++i) {
    const Strings x = {long_text('a'), i == 1 ? "" : "b"};
    session.run<"append">(tf::feed<"x">(x));
  }
  const std::string a(300, 'a');
  CHECK(value() == Strings{a, "bb"});
  session.run<"turn">();
  CHECK(value() == Strings{"bb", a});
  CHECK(flat(session.run<"v">()) == Strings{"bb", a});
  CHECK(flat(session.run<"before_and_after">(tf::feed<"x">(Strings{"new", long_text('n')}))) ==
        Strings{"bb|new", a + "|" + long_text('n')});
  CHECK(value() == Strings{"new", long_text('n')});
  // The store outlives the session; another session has it.
  tf::Session<model> second(variables);
  CHECK(flat(second.run<"v">()) == Strings{"new", long_text('n')});
  const std::array<std::string_view, 2> set = {"x", "yy"};
  variables.set<std::string_view>("v", set);
  CHECK(value() == Strings{"x", "yy"});
  variables.set<std::string_view>("v", variables.get<std::string_view>("v"));
  CHECK(value() == Strings{"x", "yy"});
  CHECK_THROWS_WITH(variables.get<float>("v"),
                    doctest::Contains("variable 'v': expected string, got float"));
}

TEST_CASE("strings: states") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"remember">(tf::feed<"x">(Strings{long_text('r'), ""})) == long_text('r'));
  CHECK(session.run<"last_one">() == long_text('r'));
  session.reset();
  CHECK(session.run<"last_one">() == "");
}

TEST_CASE("strings: feeds and buffers") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const Strings x = {"one", "two"};
  const std::array<std::string_view, 2> views = {"one", "two"};
  const xt::xtensor<std::string, 1> tensor = {"one", "two"};
  CHECK(flat(session.run<"same">(tf::feed<"x">(views))) == x);
  CHECK(flat(session.run<"same">(tf::feed<"x">(tensor))) == x);
  CHECK(flat(session.run<"same">(tf::feed<"x">(views.data(), {2}))) == x);
  Strings buffer(2);
  session.run(tf::feed<"x">(views), tf::into<"same">(buffer));
  CHECK(buffer == x);
  std::string text;
  session.run(tf::into<"last_one">(text), tf::feed<"x">(views));
  CHECK(text == "");
  Strings wrong(3);
  CHECK_THROWS_AS(session.run(tf::feed<"x">(views), tf::into<"same">(wrong)), tf::Error);
  CHECK_THROWS_WITH(session.run<"same">(tf::feed<"x">(Strings{"one"})),
                    doctest::Contains("expected string [2], got string, 1 elements"));
}

TEST_CASE("strings: lines and checks") {
  tf::Variables variables;
  std::string line;
  tf::SessionOptions options;
  options.print = [&](std::string_view text) { line = text; };
  options.check_finite = true;
  tf::Session<model> session(variables, options);
  const std::array<std::string_view, 2> set = {"x", "yy"};
  variables.set<std::string_view>("v", set);
  session.run<"printed">();
  CHECK(line.find("string [2]: \"x\" \"yy\"") != std::string::npos);
  tf::Session<model, tf::debug> debug(variables);
  debug.run<"turn">();
  CHECK_THROWS_WITH(debug.value("v"), doctest::Contains("is a tensor of strings"));
  tf::Graph graph;
  tf::constant<std::string_view, 2>(graph, {"a", "b"}).named("words");
  CHECK_THROWS_WITH(tf::interpret(graph, {}),
                    doctest::Contains("string [2]: the interpreter has numbers alone"));
}
