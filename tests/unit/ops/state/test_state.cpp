// SPDX-License-Identifier: Apache-2.0

// Sources of tensors, and what changes variables, in kernels and interpreted.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::ir::records;

/// What a model names, and its variables after all of its effects: computed by kernels, and
/// interpreted. Variables have these values at the start.
template <auto Model>
std::vector<test::Outcome> outcomes(const tf::HostTensors& feeds,
                                    const tf::HostTensors& variables = {}) {
  test::Kernels<Model> kernels;
  for (const auto& [name, value] : variables) {
    const std::string& path = name;
    const tf::HostTensor& start = value;
    tf::visit_dtype(start.dtype, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> elements;
      for (const tf::Number& e : start.elements) elements.push_back(tf::to<T>(e));
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>) {
        kernels.variables.template set<T>(path, elements, start.dims);
      }
    });
  }
  tf::Graph g;
  Model(g);
  tf::Interpreter interpreter(g);
  interpreter.variables = kernels.values();
  std::vector<std::string> fetches;
  std::vector<std::string> tensors;
  for (const tf::ir::Name& name : records(g).names) {
    if (name.kind != tf::ir::NameKind::value && name.kind != tf::ir::NameKind::effect) continue;
    const std::string text(records(g).text_of(name).view());
    fetches.push_back(text);
    if (name.kind == tf::ir::NameKind::value) tensors.push_back(text);
  }
  const std::vector<tf::HostTensor> values = interpreter.run(fetches, feeds);
  test::Outcome interpreted(interpreter.variables.begin(), interpreter.variables.end());
  for (std::size_t i = 0; i < tensors.size(); ++i) interpreted[tensors[i]] = values[i];
  return {kernels.run(feeds), interpreted};
}

template <class T>
constexpr void placeholders(tf::Graph& g) {
  tf::placeholder<T, tf::batch, 3>(g, "x").named("y");
  tf::placeholder<T>(g, "s").named("t");
}
template <class T>
void check_placeholders() {
  constexpr tf::DType type = tf::dtype_of<T>;
  const tf::HostTensor x = test::tensor(type, {2, 3}, {0, 1, 0, 1, 1, 0});
  test::check_values<placeholders<T>>({{"x", x}, {"s", test::tensor(type, {}, {0})}},
                                      {{"y", x}, {"t", test::tensor(type, {}, {0})}});
}

constexpr void defaults(tf::Graph& g) {
  (tf::placeholder<float>(g, "rate", 0.5f) * 1).named("half");
  (tf::placeholder<std::int64_t>(g, "n", -7) + 0).named("seven");
}

}  // namespace

TEST_CASE("placeholder: values") {
  check_placeholders<bool>();
  check_placeholders<std::int8_t>();
  check_placeholders<std::uint64_t>();
  check_placeholders<tf::float16>();
  check_placeholders<float>();
  check_placeholders<double>();
  check_placeholders<std::complex<float>>();
  tf::Variables variables;
  tf::Session<defaults> session(variables);
  CHECK(session.run<"half">() == 0.5f);
  CHECK(session.run<"half">(tf::feed<"rate">(3.0f)) == 3);
  CHECK(session.run<"seven">() == -7);
}

TEST_CASE("placeholder: errors") {
  tf::Graph g;
  tf::placeholder<float, tf::batch, 3>(g, "x").named("y");
  CHECK_THROWS_WITH_AS(tf::interpret(g, {}), "feed \"x\": expected float [batch, 3], got nothing",
                       tf::Error);
  CHECK_THROWS_WITH_AS(tf::interpret(g, {{"x", test::floats({2, 2}, {1, 2, 3, 4})}}),
                       "feed \"x\": expected float [batch, 3], got float [2, 2]", tf::Error);
}

namespace {

constexpr void constants(tf::Graph& g) {
  tf::constant<float>(g, 0.1f).named("tenth");
  tf::constant<bool>(g, true).named("yes");
  tf::constant<std::uint64_t>(g, 18446744073709551615u).named("largest");
  tf::constant<float, 2, 3>(g, {1, 2, 3, 4, 5, 6.5f}).named("table");
  tf::constant<std::int16_t, 3>(g, {-32768, 0, 32767}).named("shorts");
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  (x + tf::constant<float, 3>(g, {10, 20, 30})).named("sums");
}

}  // namespace

TEST_CASE("constant: values") {
  tf::HostTensor largest = tf::host_tensor(tf::DType::uint64, {});
  largest[0].integer = -1;
  test::check_values<constants>(
      {{"x", test::floats({2, 3}, {1, 2, 3, 4, 5, 6})}},
      {{"tenth", test::floats({}, {0.1f})},
       {"yes", test::tensor(tf::DType::boolean, {}, {1})},
       {"largest", largest},
       {"table", test::floats({2, 3}, {1, 2, 3, 4, 5, 6.5})},
       {"shorts", test::tensor(tf::DType::int16, {3}, {-32768, 0, 32767})},
       {"sums", test::floats({2, 3}, {11, 22, 33, 14, 25, 36})}});
}

namespace {

constexpr void variables(tf::Graph& g) {
  auto a = tf::variable<float, 2, 2>(g, "a", tf::ones());
  auto b = tf::fresh_variable<float, 2>(g, "b", tf::filled(3));
  auto again = tf::fresh_variable<float, 2>(g, "b", tf::filled(4));
  auto s = tf::state<std::int32_t, 3>(g, "s");
  (2 * a).named("twice");
  (b * 10 + again).named("both");
  (s + 5).named("shifted");
  tf::assign(s, s + 1).named("count");
  tf::assign(a, a + b).named("step");
}

}  // namespace

TEST_CASE("variable: values") {
  for (const test::Outcome& got : outcomes<variables>({})) {
    CHECK(test::elements(got.at("twice")) == std::vector(4, 2.));  // as at the start of the run
    CHECK(test::elements(got.at("a")) == std::vector(4, 4.));
  }
  tf::Variables store;
  tf::Session<variables> session(store);
  session.run<"step">();
  CHECK(session.run<"twice">()(1, 1) == 8);  // it outlives runs, and sessions
  tf::Session<variables> second(store);
  CHECK(second.run<"twice">()(1, 1) == 8);
}

TEST_CASE("fresh_variable: values") {
  for (const test::Outcome& got : outcomes<variables>({})) {
    CHECK(test::elements(got.at("both")) == std::vector(2, 34.));
    CHECK(test::elements(got.at("b")) == std::vector(2, 3.));
    CHECK(test::elements(got.at("b_1")) == std::vector(2, 4.));
  }
}

TEST_CASE("state: values") {
  for (const test::Outcome& got : outcomes<variables>({})) {
    CHECK(test::elements(got.at("shifted")) == std::vector(3, 5.));
    CHECK(test::elements(got.at("s")) == std::vector(3, 1.));
  }
  tf::Variables store;
  tf::Session<variables> session(store);
  session.run<"count">();
  CHECK(session.run<"shifted">()(2) == 6);
  session.reset();
  CHECK(session.run<"shifted">()(2) == 5);
  CHECK_FALSE(store.contains("s"));
}

namespace {

template <class F>
constexpr void updates(tf::Graph& g, const F& update) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto v = tf::variable<float, 2, 3>(g, "v", tf::filled(4));
  auto n = tf::variable<std::int32_t, 3>(g, "n", tf::filled(6));
  auto of_tensor = update(v, sum<0>(x));  // broadcasts
  auto of_number = update(n, 2);
  of_tensor.named("of_tensor");
  of_number.named("of_number");
  (of_tensor.value() * 1).named("new");
  (v + 0.5f).named("old");
}
constexpr void assigning(tf::Graph& g) {
  updates(g, [](const auto& v, const auto& x) { return tf::assign(v, x); });
}
constexpr void adding(tf::Graph& g) {
  updates(g, [](const auto& v, const auto& x) { return tf::assign_add(v, x); });
}
constexpr void subtracting(tf::Graph& g) {
  updates(g, [](const auto& v, const auto& x) { return tf::assign_sub(v, x); });
}
constexpr void multiplying(tf::Graph& g) {
  updates(g, [](const auto& v, const auto& x) { return tf::assign_mul(v, x); });
}

/// The variables become f(before, value).
template <auto Model, class F>
void check_update(const F& f) {
  const tf::HostTensors feeds{{"x", test::floats({2, 3}, {1, 2, 3, 10, 20, 30})}};
  for (const test::Outcome& got : outcomes<Model>(feeds)) {
    std::vector<double> expected;
    for (int i = 0; i < 6; ++i) expected.push_back(f(4., 11. * (i % 3 + 1)));
    CHECK(test::elements(got.at("v")) == expected);
    CHECK(test::elements(got.at("new")) == expected);
    CHECK(test::elements(got.at("old")) == std::vector(6, 4.5));
    CHECK(test::elements(got.at("n")) == std::vector(3, f(6., 2.)));
  }
}

}  // namespace

TEST_CASE("assign: values") {
  check_update<assigning>([](double, double x) { return x; });
}
TEST_CASE("assign_add: values") {
  check_update<adding>([](double v, double x) { return v + x; });
}
TEST_CASE("assign_sub: values") {
  check_update<subtracting>([](double v, double x) { return v - x; });
}
TEST_CASE("assign_mul: values") {
  check_update<multiplying>([](double v, double x) { return v * x; });
}

namespace {

constexpr void ordered(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::filled(3));
  auto w = tf::variable<float>(g, "w", tf::filled(5));
  v.read().named("before");
  auto set = tf::assign(v, 7);
  v.read().named("between");
  tf::assign_add(v, 1).named("add");
  v.read().named("last");
  tf::after(set, v.read()).named("after_set");
  tf::after(set, 2 * w).named("other");
  tf::group(tf::assign(w, v), set).named("both");
  (v * 1).named("start");
}

}  // namespace

TEST_CASE("read: values") {
  tf::Variables store;
  tf::Session<ordered> session(store);
  CHECK(session.run<"before">() == 3);
  const auto [last, before, start] = session.run<"add", "last", "before", "start">();
  CHECK(last == 4);  // v + 1, without the assignment that nobody asked for
  CHECK(before == 3);
  CHECK(start == 3);
}

TEST_CASE("after: values") {
  tf::Variables store;
  tf::Session<ordered> session(store);
  CHECK(session.run<"other">() == 10);
  CHECK(store.get<float>("v")[0] == 7);  // computing it made the assignment
  store.set<float>("v", std::vector<float>{3}, {});
  CHECK(session.run<"after_set">() == 7);
}

TEST_CASE("group: values") {
  tf::Variables store;
  tf::Session<ordered> session(store);
  session.run<"both">();
  CHECK(store.get<float>("v")[0] == 7);
  CHECK(store.get<float>("w")[0] == 3);  // v as it was at the start
}

TEST_CASE("group: errors") {
  CHECK_THROWS_WITH_AS(tf::group().named("nothing"),
                       "named: an effect that does nothing can't have a name", tf::Error);
}

TEST_CASE("read: gradient") {
  tf::Graph g;
  auto v = tf::variable<double, 2>(g, "v");
  auto now = v.read();
  gradients(sum(square(now)), now).named("dx");
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"v", test::doubles({2}, {3, -4})}};
  CHECK(test::elements(interpreter.run({"dx"})[0]) == std::vector{6., -8.});
  gradients(sum(square(v.read())), v).named("dv");
  tf::Interpreter of_variable(g);
  of_variable.variables = interpreter.variables;
  CHECK(test::elements(of_variable.run({"dv"})[0]) == std::vector{6., -8.});
}

TEST_CASE("after: gradient") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  auto v = tf::variable<double>(g, "v");
  gradients(sum(tf::after(tf::assign(v, 1), square(x))), x).named("dx");
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"v", test::doubles({}, {0})}};
  const auto dx = interpreter.run({"dx"}, {{"x", test::doubles({2}, {3, -4})}});
  CHECK(test::elements(dx[0]) == std::vector{6., -8.});
}

namespace {

constexpr void printed(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto h = tf::print(2 * x, "hidden");
  sum(h).named("sum");
  sum(x).named("other");
  tf::gradients(sum(h * h), x).named("dx");
}

}  // namespace

TEST_CASE("print: values") {
  std::vector<std::string> lines;
  tf::Variables variables;
  tf::SessionOptions options;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  tf::Session<printed> session(variables, options);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  CHECK(session.run<"other">(tf::feed<"x">(x)) == 21);
  CHECK(lines.empty());
  CHECK(session.run<"sum">(tf::feed<"x">(x)) == 42);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("hidden (test_state.cpp:"));
  CHECK(lines[0].ends_with("): float [2, 3], min 2, mean 7, max 12: 2 4 6 8 10 12"));
  CHECK(session.run<"dx">(tf::feed<"x">(x))(1, 2) == 48);
}

TEST_CASE("print: gradient") {
  test::check_gradients<tf::Shape<2, 3>>([](auto x) { return square(tf::print(x, "h")); });
}
