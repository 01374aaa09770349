// SPDX-License-Identifier: Apache-2.0

// What operations compute, against plain loops and closed forms; and the rules of a run: feeds,
// variables, effects, random numbers.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace tf = typeflow;
using test::doubles;
using test::elements;
using test::floats;
using test::ints;
using tf::ir::records;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The elements of f(x) for a vector x of T.
template <class T, class F>
std::vector<double> map(const std::vector<double>& x, const F& f) {
  tf::Graph g;
  f(tf::placeholder<T, tf::batch>(g, "x")).named("y");
  const auto n = static_cast<tf::Extent>(x.size());
  return elements(tf::interpret(g, {{"x", test::tensor(tf::dtype_of<T>, {n}, x)}}).at("y"));
}
void check_equal(const std::vector<double>& a, const std::vector<double>& b, double tolerance = 0) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(b[i])) {
      CHECK(std::isnan(a[i]));
    } else if (std::isinf(b[i])) {
      CHECK(a[i] == b[i]);
    } else {
      CHECK(std::abs(a[i] - b[i]) <= tolerance * std::abs(b[i]));
    }
  }
}
}  // namespace

TEST_CASE("functions of one number, at ordinary and at extreme places") {
  const std::vector<double> x{-2, -0.5, 0, 0.25, 3};
  const auto expected = [&](auto f) {
    std::vector<double> out;
    for (const double e : x) out.push_back(f(e));
    return out;
  };
  const double tiny = 1e-15;
  check_equal(map<double>(x, [](auto t) { return exp(t); }),
              expected([](double t) { return std::exp(t); }));
  check_equal(map<double>(x, [](auto t) { return square(t); }),
              expected([](double t) { return t * t; }));
  check_equal(map<double>(x, [](auto t) { return abs(t); }), {2, 0.5, 0, 0.25, 3});
  check_equal(map<double>(x, [](auto t) { return -t; }), {2, 0.5, 0, -0.25, -3});
  check_equal(map<double>(x, [](auto t) { return relu(t); }), {0, 0, 0, 0.25, 3});
  check_equal(map<double>(x, [](auto t) { return tanh(t); }),
              expected([](double t) { return std::tanh(t); }));
  check_equal(map<double>(x, [](auto t) { return sigmoid(t); }),
              expected([](double t) { return (1 + std::tanh(t / 2)) / 2; }), tiny);
  check_equal(map<double>(x, [](auto t) { return softplus(t); }),
              expected([](double t) { return std::log(1 + std::exp(t)); }), tiny);
  check_equal(map<double>({1, 2, 0, -1}, [](auto t) { return log(t); }),
              {0, std::log(2.), -infinity, not_a_number});
  check_equal(map<double>({4, 2, 0, -1}, [](auto t) { return sqrt(t); }),
              {2, std::sqrt(2.), 0, not_a_number});
  check_equal(map<double>({-1000, 1000}, [](auto t) { return sigmoid(t); }), {0, 1});
  check_equal(map<double>({-1000, 1000}, [](auto t) { return softplus(t); }), {0, 1000});
  check_equal(map<double>({not_a_number}, [](auto t) { return relu(t); }), {not_a_number});
}

TEST_CASE("floats are rounded to float after each operation") {
  const float third = 1.0f / 3.0f;
  check_equal(map<float>({1}, [](auto t) { return t / 3.0f; }), {third});
  check_equal(map<float>({1}, [](auto t) { return t / 3.0f * 3.0f - t; }), {third * 3.0f - 1.0f});
  check_equal(map<float>({16777216}, [](auto t) { return t + 1.0f; }), {16777216});
  check_equal(map<float>({0.1}, [](auto t) { return tf::cast<double>(t); }), {0.1f});
}

TEST_CASE("integers wrap around; division is towards zero, by zero it is zero") {
  const double largest = 2147483647;
  check_equal(map<std::int32_t>({largest, 5}, [](auto t) { return t + 1; }), {-largest - 1, 6});
  check_equal(map<std::int32_t>({-largest - 1}, [](auto t) { return -t; }), {-largest - 1});
  check_equal(map<std::int32_t>({65536}, [](auto t) { return t * t; }), {0});
  check_equal(map<std::int32_t>({7, -7}, [](auto t) { return t / 2; }), {3, -3});
  check_equal(map<std::int32_t>({7, -7}, [](auto t) { return t / (t - t); }), {0, 0});
  check_equal(map<std::int32_t>({-largest - 1}, [](auto t) { return t / -1; }), {-largest - 1});
  check_equal(map<std::uint8_t>({250, 3}, [](auto t) { return t + 10; }), {4, 13});
  check_equal(map<std::uint8_t>({200, 100}, [](auto t) { return sum(t); }), {44});
  check_equal(map<std::int64_t>({3e9}, [](auto t) { return t * 2; }), {6e9});
}

TEST_CASE("comparisons and logic give booleans; NaN is unequal to all") {
  const std::vector<double> x{1, 2, 3, not_a_number};
  check_equal(map<double>(x, [](auto t) { return equal(t, 2); }), {0, 1, 0, 0});
  check_equal(map<double>(x, [](auto t) { return not_equal(t, 2); }), {1, 0, 1, 1});
  check_equal(map<double>(x, [](auto t) { return less(t, 2); }), {1, 0, 0, 0});
  check_equal(map<double>(x, [](auto t) { return less_equal(t, 2); }), {1, 1, 0, 0});
  check_equal(map<double>(x, [](auto t) { return greater(t, 2); }), {0, 0, 1, 0});
  check_equal(map<double>(x, [](auto t) { return greater_equal(t, 2); }), {0, 1, 1, 0});
  check_equal(map<double>(x, [](auto t) { return logical_and(less(t, 3), greater(t, 1)); }),
              {0, 1, 0, 0});
  check_equal(map<double>(x, [](auto t) { return logical_or(less(t, 2), greater(t, 2)); }),
              {1, 0, 1, 0});
  check_equal(map<double>(x, [](auto t) { return logical_not(less(t, 2)); }), {0, 1, 1, 1});
  check_equal(map<double>(x, [](auto t) { return where(less(t, 2), -t, 10); }), {-1, 10, 10, 10});
  check_equal(map<double>(x, [](auto t) { return maximum(t, 2); }), {2, 2, 3, not_a_number});
  check_equal(map<double>(x, [](auto t) { return minimum(t, 2); }), {1, 2, 2, not_a_number});
}

TEST_CASE("casts truncate towards zero; to bool they ask for zero") {
  check_equal(map<double>({1.9, -1.9, 0.4}, [](auto t) { return tf::cast<std::int32_t>(t); }),
              {1, -1, 0});
  check_equal(map<double>({2, 0, -0.5}, [](auto t) { return tf::cast<bool>(t); }), {1, 0, 1});
  check_equal(map<bool>({1, 0}, [](auto t) { return tf::cast<float>(t); }), {1, 0});
  check_equal(map<std::int32_t>({300, -1}, [](auto t) { return tf::cast<std::uint8_t>(t); }),
              {44, 255});
}

TEST_CASE("broadcasting aligns shapes at the last axis") {
  tf::Graph g;
  auto a = tf::placeholder<double, 2, 1, 3>(g, "a");
  auto b = tf::placeholder<double, 4, 1>(g, "b");
  (a * 10 + b).named("y");
  std::vector<double> x(6), y(4), expected;
  for (int i = 0; i < 6; ++i) x[static_cast<std::size_t>(i)] = i;
  for (int i = 0; i < 4; ++i) y[static_cast<std::size_t>(i)] = 100 * i;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 3; ++k) expected.push_back(10 * (3 * i + k) + 100 * j);
    }
  }
  const auto out = tf::interpret(g, {{"a", doubles({2, 1, 3}, x)}, {"b", doubles({4, 1}, y)}});
  CHECK(out.at("y").dims == tf::Shape<2, 4, 3>::dims);
  CHECK(elements(out.at("y")) == expected);
}

namespace {
// x[i, j, k] of shape (2,3,4), and loops over it.
double cube(int i, int j, int k) { return std::sin(7 * i + 3 * j + k) * 10; }
tf::HostTensor cube_tensor() {
  std::vector<double> x;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) x.push_back(cube(i, j, k));
    }
  }
  return doubles({2, 3, 4}, x);
}
template <class F>
std::vector<double> of_cube(const F& f) {
  tf::Graph g;
  f(tf::placeholder<double, 2, 3, 4>(g, "x")).named("y");
  return elements(tf::interpret(g, {{"x", cube_tensor()}}).at("y"));
}
}  // namespace

TEST_CASE("reductions over any axes") {
  std::vector<double> middle(8), outer(4, 0.), most(3, -infinity), least(3, infinity);
  std::vector<double> position(6);
  double total = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      int best = 0;
      for (int k = 0; k < 4; ++k) {
        const double x = cube(i, j, k);
        total += x;
        middle[static_cast<std::size_t>(4 * i + k)] += x;
        outer[static_cast<std::size_t>(k)] += x / 6;
        most[static_cast<std::size_t>(j)] = std::max(most[static_cast<std::size_t>(j)], x);
        least[static_cast<std::size_t>(j)] = std::min(least[static_cast<std::size_t>(j)], x);
        if (x > cube(i, j, best)) best = k;
      }
      position[static_cast<std::size_t>(3 * i + j)] = best;
    }
  }
  const double tiny = 1e-13;
  check_equal(of_cube([](auto x) { return sum(x); }), {total}, tiny);
  check_equal(of_cube([](auto x) { return mean(x); }), {total / 24}, tiny);
  check_equal(of_cube([](auto x) { return sum<1>(x); }), middle, tiny);
  check_equal(of_cube([](auto x) { return sum<1>(x, tf::keep_dims); }), middle, tiny);
  check_equal(of_cube([](auto x) { return mean<0, 1>(x); }), outer, tiny);
  check_equal(of_cube([](auto x) { return max<0, 2>(x); }), most);
  check_equal(of_cube([](auto x) { return min<0, -1>(x); }), least);
  check_equal(of_cube([](auto x) { return tf::argmax<2>(x); }), position);
  check_equal(of_cube([](auto x) { return tf::argmin<2>(-x); }), position);
}

TEST_CASE("the extremes of NaN are NaN, of integers exact, argmax takes the first of equals") {
  check_equal(map<double>({1, not_a_number, 2}, [](auto t) { return max(t); }), {not_a_number});
  check_equal(map<double>({not_a_number, 1, 2}, [](auto t) { return min(t); }), {not_a_number});
  check_equal(map<double>({2, 5, 5, 1}, [](auto t) { return tf::argmax<0>(t); }), {1});
  check_equal(map<double>({2, 1, 5, 1}, [](auto t) { return tf::argmin<0>(t); }), {1});
  check_equal(map<std::int32_t>({-7, -3, -9}, [](auto t) { return max(t); }), {-3});
  // 2^53 + 1 is no double.
  tf::Graph g;
  auto x = tf::placeholder<std::int64_t, 2>(g, "x");
  max(x).named("max");
  sum(x).named("sum");
  tf::argmax<0>(x).named("argmax");
  tf::HostTensor t = tf::host_tensor(tf::DType::int64, tf::Shape<2>::dims);
  t[0].integer = std::int64_t{1} << 53;
  t[1].integer = t[0].integer + 1;
  const auto out = tf::interpret(g, {{"x", t}});
  CHECK(out.at("max")[0].integer == t[1].integer);
  CHECK(out.at("sum")[0].integer == t[0].integer + t[1].integer);
  CHECK(out.at("argmax")[0].integer == 1);
}

TEST_CASE("reductions of nothing") {
  tf::Graph g;
  auto x = tf::placeholder<double, tf::batch, 2>(g, "x");
  auto n = tf::placeholder<std::int32_t, tf::batch>(g, "n");
  sum<0>(x).named("sum");
  mean(x).named("mean");
  max<0>(x).named("max");
  max(n).named("int_max");
  min(n).named("int_min");
  const auto out = tf::interpret(g, {{"x", doubles({0, 2}, {})}, {"n", ints({0}, {})}});
  check_equal(elements(out.at("sum")), {0, 0});
  check_equal(elements(out.at("mean")), {not_a_number});
  check_equal(elements(out.at("max")), {-infinity, -infinity});
  check_equal(elements(out.at("int_max")), {-2147483648.});
  check_equal(elements(out.at("int_min")), {2147483647.});
}

TEST_CASE("matmul with each pair of transposes") {
  const auto a = [](int i, int k) { return i * 3. + k + 1; };  // (2,3)
  const auto b = [](int k, int j) { return k * 4. - j; };      // (3,4)
  std::vector<double> rows_a, columns_a, rows_b, columns_b, expected;
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 3; ++k) rows_a.push_back(a(i, k));
  }
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 2; ++i) columns_a.push_back(a(i, k));
    for (int j = 0; j < 4; ++j) rows_b.push_back(b(k, j));
  }
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 3; ++k) columns_b.push_back(b(k, j));
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      double total = 0;
      for (int k = 0; k < 3; ++k) total += a(i, k) * b(k, j);
      expected.push_back(total);
    }
  }
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 3>(g, "x");
  auto xt = tf::placeholder<double, 3, 2>(g, "xt");
  auto y = tf::placeholder<double, 3, 4>(g, "y");
  auto yt = tf::placeholder<double, 4, 3>(g, "yt");
  matmul(x, y).named("neither");
  matmul<tf::transpose_a>(xt, y).named("a");
  matmul<tf::transpose_b>(x, yt).named("b");
  matmul<tf::transpose_both>(xt, yt).named("both");
  for (const auto& [name, value] : tf::interpret(g, {{"x", doubles({2, 3}, rows_a)},
                                                     {"xt", doubles({3, 2}, columns_a)},
                                                     {"y", doubles({3, 4}, rows_b)},
                                                     {"yt", doubles({4, 3}, columns_b)}})) {
    CAPTURE(name);
    CHECK(elements(value) == expected);
  }
}

TEST_CASE("reshape keeps the row-major order, transpose moves axes") {
  std::vector<double> moved;
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) moved.push_back(cube(i, j, k));
    }
  }
  check_equal(of_cube([](auto x) { return transpose<2, 0, 1>(x); }), moved);
  check_equal(of_cube([](auto x) { return tf::reshape<6, 4>(x); }), elements(cube_tensor()));
  check_equal(of_cube([](auto x) { return transpose(transpose(x)); }), elements(cube_tensor()));
}

TEST_CASE("constants, arrays of them, and powers of batch") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2 * tf::batch, tf::batch>(g, "x");
  auto table = tf::constant<double, 2, 2>(g, {1, 2, 3, 4});
  (table + tf::constant<double>(g, 0.5)).named("table");
  mean(x).named("mean");
  mean<0>(x).named("mean_of_columns");
  tf::interpret(g, {{"x", doubles({2, 1}, {1, 2})}});
  std::vector<double> numbers(18);
  for (std::size_t i = 0; i < 18; ++i) numbers[i] = static_cast<double>(i);
  // Expanded, the mean is a sum times 1/2 batch^-2.
  tf::Pool<tf::Id> roots;
  for (const tf::ir::Name& name : records(g).names) roots.push(name.value);
  const tf::ir::Simplified s = tf::ir::simplify(tf::ir::Graph(g), roots);
  tf::Interpreter simplified(s.graph, s.order, s.map);
  tf::Interpreter traced(g);
  for (tf::Interpreter* interpreter : {&traced, &simplified}) {
    const auto out =
        interpreter->run({"table", "mean", "mean_of_columns"}, {{"x", doubles({6, 3}, numbers)}});
    check_equal(elements(out[0]), {1.5, 2.5, 3.5, 4.5});
    check_equal(elements(out[1]), {8.5}, 1e-15);
    check_equal(elements(out[2]), {7.5, 8.5, 9.5}, 1e-15);
  }
}

TEST_CASE("a placeholder's default is used unless it is fed") {
  tf::Graph g;
  (tf::placeholder<float>(g, "rate", 0.5f) * 2).named("twice");
  CHECK(tf::interpret(g, {}).at("twice").value(0) == 1);
  CHECK(tf::interpret(g, {{"rate", floats({}, {3})}}).at("twice").value(0) == 6);
}

TEST_CASE("any named tensor can be fed, which cuts what lies upstream") {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto h = square(x).named("h");
  (h + 1).named("y");
  tf::Interpreter interpreter(g);
  CHECK(interpreter.run({"y"}, {{"h", doubles({}, {10})}})[0].value(0) == 11);
  CHECK(interpreter.run({"h", "y"}, {{"h", doubles({}, {3})}})[0].value(0) == 3);

  tf::Pool<tf::Id> roots, cuts;
  for (const tf::ir::Name& name : records(g).names) roots.push(name.value);
  cuts.push(h.id());
  const tf::ir::Simplified cut = tf::ir::simplify(tf::ir::Graph(g), roots, cuts);
  tf::Interpreter of_cut(cut.graph, cut.order, cut.map);
  CHECK(of_cut.run({"y"}, {{"h", doubles({}, {10})}})[0].value(0) == 11);
  const tf::ir::Simplified whole = tf::ir::simplify(tf::ir::Graph(g), roots);
  tf::Interpreter of_whole(whole.graph, whole.order, whole.map);
  CHECK_THROWS_WITH_AS(of_whole.run({"y"}, {{"h", doubles({}, {10})}}),
                       "feed \"h\": the graph was simplified for runs that compute it", tf::Error);
}

TEST_CASE("mistakes in feeds and fetches are named") {
  tf::Graph g;
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, 2 * tf::batch>(g, "y");
  auto w = tf::variable<float, 784, 10>(g, "fc/W");
  matmul(x, w).named("logits");
  sum(y).named("total");
  assign(w, 0.0f).named("clear");
  tf::Interpreter interpreter(g);
  const auto zeros = [](const std::vector<tf::Extent>& e) {
    return tf::host_tensor(tf::DType::float32, test::dims(e));
  };
  interpreter.variables["fc/W"] = zeros({784, 10});
  CHECK_THROWS_WITH_AS(interpreter.run({"los"}),
                       "fetch \"los\": the model has nothing of this name", tf::Error);
  CHECK_THROWS_WITH_AS(interpreter.run({"total"}, {{"z", zeros({2})}}),
                       "feed \"z\": the model has nothing of this name", tf::Error);
  CHECK_THROWS_WITH_AS(interpreter.run({"total"}, {{"clear", zeros({2})}}),
                       "feed \"clear\": an effect can't be fed", tf::Error);
  CHECK_THROWS_WITH_AS(interpreter.run({"total"}),
                       "feed \"y\": expected float [2*batch], got nothing", tf::Error);
  CHECK_THROWS_WITH_AS(interpreter.run({"logits"}, {{"x", zeros({100, 783})}}),
                       "feed \"x\": expected float [batch, 784], got float [100, 783]", tf::Error);
  CHECK_THROWS_WITH_AS(interpreter.run({"logits"}, {{"x", zeros({784})}}),
                       "feed \"x\": expected float [batch, 784], got float [784]", tf::Error);
  CHECK_THROWS_WITH_AS(
      interpreter.run({"total"}, {{"y", tf::host_tensor(tf::DType::float64, test::dims({2}))}}),
      "feed \"y\": expected float [2*batch], got double [2]", tf::Error);
  CHECK_THROWS_WITH_AS(interpreter.run({"total"}, {{"y", zeros({3})}}),
                       "feed \"y\": expected float [2*batch], got float [3]", tf::Error);
  CHECK_THROWS_WITH_AS(
      interpreter.run({"total"}, {{"x", zeros({5, 784})}, {"y", zeros({12})}}),
      "feed \"y\": expected float [2*batch] where batch is 5 by feed \"x\", got float [12]",
      tf::Error);
  tf::HostTensor torn = zeros({5, 784});
  torn.elements.pop_back();
  CHECK_THROWS_WITH_AS(
      interpreter.run({"logits"}, {{"x", torn}}),
      "feed \"x\": expected float [batch, 784], got float [5, 784] with 3919 elements", tf::Error);
  // A feed that nothing needs is no mistake.
  CHECK(interpreter.run({"total"}, {{"x", zeros({1, 784})}, {"y", zeros({2})}})[0].value(0) == 0);
}

TEST_CASE("a tensor of batch rows needs a feed that says how many") {
  tf::Graph g;
  auto z = tf::random_uniform<double, tf::batch, 2>(g, "z");
  sum(z).named("y");
  tf::placeholder<double, tf::batch>(g, "x");
  tf::Interpreter interpreter(g);
  CHECK_THROWS_AS(interpreter.run({"y"}), tf::Error);
  CHECK(interpreter.run({"y"}, {{"x", doubles({4}, {0, 0, 0, 0})}})[0].value(0) > 0);
}

TEST_CASE("variables must be there, of their type and shape, if a run needs them") {
  tf::Graph g;
  tf::variable<double, 2>(g, "used").named("y");
  tf::variable<double, 3>(g, "unused");
  tf::Interpreter interpreter(g);
  CHECK_THROWS_WITH_AS(interpreter.run({"y"}),
                       "variable \"used\": expected double [2], got nothing", tf::Error);
  interpreter.variables = {{"used", doubles({3}, {1, 2, 3})}};
  CHECK_THROWS_WITH_AS(interpreter.run({"y"}),
                       "variable \"used\": expected double [2], got double [3]", tf::Error);
  interpreter.variables = {{"used", doubles({2}, {1, 2})}};
  CHECK(elements(interpreter.run({"y"})[0]) == std::vector{1., 2.});
}

TEST_CASE("effects: only those that a fetch names or depends on are executed") {
  tf::Graph g;
  auto v = tf::variable<double>(g, "v", tf::zeros());
  auto set = assign(v, 7.0).named("set");
  auto add = assign_add(v, 1.0);
  add.named("add");
  v.named("old");
  v.read().named("now");
  add.value().named("added");
  tf::after(set, v.read()).named("after_set");
  tf::Interpreter interpreter(g);
  const auto start = [&] { interpreter.variables = {{"v", doubles({}, {3})}}; };
  const auto v_now = [&] { return interpreter.variables.at("v").value(0); };
  const auto run = [&](const std::vector<std::string>& names) {
    start();
    std::vector<double> out;
    for (const auto& value : interpreter.run(names)) out.push_back(value.value(0));
    return out;
  };
  CHECK(run({"old", "now"}) == std::vector{3., 3.});
  CHECK(v_now() == 3);
  CHECK(run({"set"}).empty());
  CHECK(v_now() == 7);
  CHECK(run({"add"}).empty());
  CHECK(v_now() == 4);
  // In the order of the model, whatever the order of the fetches; handles mean the value before.
  CHECK(run({"add", "old", "set", "now"}) == std::vector{3., 8.});
  CHECK(v_now() == 8);
  CHECK(run({"added"}) == std::vector{4.});
  CHECK(v_now() == 4);
  CHECK(run({"after_set"}) == std::vector{7.});
  CHECK(v_now() == 7);
}

TEST_CASE("a group is all of its effects; effects of several variables see old values") {
  tf::Graph g;
  auto a = tf::variable<double>(g, "a");
  auto b = tf::variable<double>(g, "b");
  tf::group(assign(a, b), assign(b, a)).named("swap");
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"a", doubles({}, {1})}, {"b", doubles({}, {2})}};
  interpreter.run({"swap"});
  CHECK(interpreter.variables.at("a").value(0) == 2);
  CHECK(interpreter.variables.at("b").value(0) == 1);
}

TEST_CASE("variables stay as they were if a run fails") {
  tf::Graph g;
  auto v = tf::variable<double>(g, "v");
  auto x = tf::placeholder<double>(g, "x");
  assign(v, 1.0).named("set");
  (x + 1).named("y");
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"v", doubles({}, {5})}};
  CHECK_THROWS_AS(interpreter.run({"set", "y"}), tf::Error);
  CHECK(interpreter.variables.at("v").value(0) == 5);
}

TEST_CASE("a step of gradient descent") {
  tf::Graph g;
  auto x = tf::placeholder<double, tf::batch, 2>(g, "x");
  auto y = tf::placeholder<double, tf::batch, 1>(g, "y");
  auto w = tf::variable<double, 2, 1>(g, "w");
  auto loss = mean(square(matmul(x, w) - y)).named("loss");
  tf::GradientDescent{.rate = 0.1}.minimize(loss).named("train");
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"w", doubles({2, 1}, {1, -1})}};
  const tf::HostTensors feeds{{"x", doubles({2, 2}, {1, 2, 3, 4})}, {"y", doubles({2, 1}, {0, 1})}};
  // Residuals x w - y: -1, -2. Gradient 2/2 x' r: (-7, -10).
  CHECK(interpreter.run({"loss", "train"}, feeds)[0].value(0) == doctest::Approx(2.5));
  CHECK(interpreter.variables.at("w").value(0) == doctest::Approx(1.7));
  CHECK(interpreter.variables.at("w").value(1) == doctest::Approx(0));
}

namespace {
struct TwiceExpanded : tf::composite {
  static constexpr std::string_view name = "test/TwiceExpanded";
  static constexpr tf::Type infer(TwiceExpanded, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr expand(TwiceExpanded, tf::AnyExpr x) { return 2 * x + 0; }
};
struct Nothing : tf::custom {
  static constexpr std::string_view name = "test/Nothing";
  static constexpr tf::Type infer(Nothing, const tf::Type& x) { return x; }
};
}  // namespace

TEST_CASE("a composite operation without loops is interpreted by what it expands into") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  const tf::Id id = x.id();
  const tf::AnyExpr twice = tf::add_node(g, TwiceExpanded{}, &id, 1, x.type);
  const tf::AnyExpr nothing = tf::add_node(g, Nothing{}, &twice.id, 1, x.type);
  records(g).add_name("y", tf::ir::NameKind::value, twice.id);
  tf::Interpreter interpreter(g);
  const tf::HostTensors feeds{{"x", doubles({2}, {1, 5})}};
  CHECK(elements(interpreter.run({"y"}, feeds)[0]) == std::vector{2., 10.});
  CHECK_THROWS_AS(interpreter.run_values({nothing.id}, feeds), tf::Error);
}
