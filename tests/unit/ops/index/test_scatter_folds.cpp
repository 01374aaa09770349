// SPDX-License-Identifier: Apache-2.0

// scatter_div, scatter_max, scatter_min: by kernels and interpreter, against plain loops.

#include <cmath>
#include <limits>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

template <class T>
constexpr void model(tf::Graph& g) {
  auto i = tf::placeholder<std::int32_t, 6>(g, "i");
  auto x = tf::placeholder<T, 6, 37>(g, "x");
  const auto v = [&](tf::Label name) { return tf::variable<T, 5, 37>(g, name, tf::ones(), false); };
  scatter_div(v("quotient"), i, x).named("div");
  scatter_max(v("largest"), i, x).named("max");
  scatter_min(v("smallest"), i, x).named("min");
  scatter_max(v("one"), i, 2).named("literal");
}

template <class F>
tf::HostTensor changed(tf::HostTensor variable, const tf::HostTensor& i, const tf::HostTensor& x,
                       const F& f) {
  std::vector<double> wide;
  for (std::int64_t k = 0; k < variable.size(); ++k) wide.push_back(variable.value(k));
  for (std::int64_t k = 0; k < x.size(); ++k) {
    const std::int64_t place = static_cast<std::int64_t>(i.value(k / 37)) * 37 + k % 37;
    double& e = wide[static_cast<std::size_t>(place)];
    e = f(e, x.value(k));
  }
  for (std::int64_t k = 0; k < variable.size(); ++k) {
    variable.set(k, wide[static_cast<std::size_t>(k)]);
  }
  return variable;
}
double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}
double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
}

template <class T>
void check(double tolerance) {
  constexpr bool integers = std::is_integral_v<T>;
  const tf::HostTensor i = test::ints({6}, {4, 0, 4, 2, 0, 4});
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, test::dims({6, 37}));
  test::Random random(7);
  for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, random.below(17) / (integers ? 1. : 4.) - 2);
  if (!integers) {
    x.set(0, std::numeric_limits<double>::quiet_NaN());
    x.set(1, -std::numeric_limits<double>::infinity());
    x.set(40, std::numeric_limits<double>::infinity());
  }
  const auto divided = [](double a, double b) {
    return integers ? (b == 0 ? 0 : std::trunc(a / b)) : a / b;
  };
  const auto two = test::map(x, [](double) { return 2; });
  test::check_allocations<model<T>>({{"i", i}, {"x", x}});
  for (const int threads : {1, 3}) {
    test::Kernels<model<T>> kernels(threads);
    const tf::HostTensors before = kernels.values();
    tf::Graph graph;
    model<T>(graph);
    REQUIRE(tf::ir::verify(graph).view() == "");
    tf::Interpreter interpreter(graph);
    interpreter.variables = before;
    interpreter.run({"div", "max", "min", "literal"}, {{"i", i}, {"x", x}});
    const test::Outcome got = kernels.run({{"i", i}, {"x", x}});
    const auto compare = [&](const char* name, const tf::HostTensor& expected, double within) {
      test::check_close(name, got.at(name), expected, within);
      test::check_close(name, interpreter.variables.at(name), expected, within);
    };
    compare("quotient", changed(before.at("quotient"), i, x, divided), tolerance);
    compare("largest", changed(before.at("largest"), i, x, larger), 0);
    compare("smallest", changed(before.at("smallest"), i, x, smaller), 0);
    compare("one", changed(before.at("one"), i, two, larger), 0);
  }
}

constexpr void mistakes(tf::Graph& g) {
  auto v = tf::variable<float, 5, 2>(g, "v", tf::ones());
  auto i = tf::placeholder<std::int32_t, 2>(g, "i");
  scatter_div(v, i, 2.0f).named("div");
  scatter_max(v, i, 2.0f).named("max");
  scatter_min(v, i, 0.0f).named("min");
}
template <tf::Text Name>
void check_error(const char* sentence) {
  tf::Variables variables;
  tf::Session<mistakes> session(variables);
  const std::vector<std::int32_t> i = {0, 5};
  CHECK_THROWS_WITH_AS(session.run<Name>(tf::feed<"i">(i)), doctest::Contains(sentence), tf::Error);
  for (const float x : session.run<"v">()) CHECK(x == 1);  // nothing was changed
  tf::Graph graph;
  mistakes(graph);
  tf::Interpreter interpreter(graph);
  interpreter.variables["v"] = test::floats({5, 2}, std::vector<double>(10, 1));
  CHECK_THROWS_WITH_AS(
      interpreter.run({std::string(Name.view())}, {{"i", test::ints({2}, {0, 5})}}),
      doctest::Contains(sentence), tf::Error);
}

}  // namespace

TEST_CASE("scatter_div: values") {
  check<float>(1e-6);
  check<double>(1e-15);
  check<std::int32_t>(0);
}
TEST_CASE("scatter_max: values") {
  check<tf::bfloat16>(4e-3);
  check<std::uint8_t>(0);
}
TEST_CASE("scatter_min: values") {
  check<tf::float16>(5e-4);
  check<std::int64_t>(0);
}

TEST_CASE("scatter_div: errors") {
  check_error<"div">("scatter_div: index 5 at [1] is not in [0, 5)");
}
TEST_CASE("scatter_max: errors") {
  check_error<"max">("scatter_max: index 5 at [1] is not in [0, 5)");
}
TEST_CASE("scatter_min: errors") {
  check_error<"min">("scatter_min: index 5 at [1] is not in [0, 5)");
}
