// SPDX-License-Identifier: Apache-2.0

// What simplification does to graphs, by the operations that are left, and that results stay.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/devices.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace tf = typeflow;
using tf::ir::records;

namespace {

struct Simple {
  tf::ir::Simplified graph;
  std::vector<std::string> operations;  ///< that the roots need, sources excepted, in order

  int count(const std::string& name) const {
    return static_cast<int>(std::count(operations.begin(), operations.end(), name));
  }
};

/// Simplifies for all names of the graph.
Simple simplify_all(const tf::ir::Graph& g) {
  tf::Pool<tf::Id> roots;
  for (const tf::ir::Name& name : g.names) {
    if (name.kind != tf::ir::NameKind::key) roots.push(name.value);
  }
  Simple out{tf::ir::simplify(tf::ir::Graph(g), roots), {}};
  REQUIRE(tf::ir::verify(out.graph).view() == "");
  // All that is in the order is needed.
  const tf::ir::Graph& after = out.graph.graph;
  std::vector<bool> needed(static_cast<std::size_t>(after.nodes.size()));
  const auto need = [&](tf::Id value) {
    needed[static_cast<std::size_t>(after.values[value].node)] = true;
  };
  for (const tf::Id root : roots) need(out.graph.map[root]);
  for (int i = out.graph.order.size() - 1; i >= 0; --i) {
    const tf::Id id = out.graph.order[i];
    REQUIRE(needed[static_cast<std::size_t>(id)]);
    const tf::ir::Node& node = after.nodes[id];
    for (tf::Id k = 0; k < node.inputs.count; ++k) need(after.input(node, k));
    for (tf::Id k = 0; k < node.controls.count; ++k) {
      need(after.operands[node.controls.first + k]);
    }
    if (node.op->kind != tf::Kind::source) out.operations.emplace_back(node.op->name);
  }
  std::reverse(out.operations.begin(), out.operations.end());
  return out;
}

using Names = std::vector<std::string>;

/// What is left of f(x) for a matrix x of T.
template <class T = double, class F>
Names left_of(const F& f) {
  tf::Graph g;
  f(tf::placeholder<T, 3, 4>(g, "x")).named("y");
  return simplify_all(g).operations;
}

}  // namespace

TEST_CASE("neutral elements go") {
  CHECK(left_of([](auto x) { return x + 0; }).empty());
  CHECK(left_of([](auto x) { return 0 + x; }).empty());
  CHECK(left_of([](auto x) { return x - 0; }).empty());
  CHECK(left_of([](auto x) { return x * 1; }).empty());
  CHECK(left_of([](auto x) { return 1 * x; }).empty());
  CHECK(left_of([](auto x) { return x / 1; }).empty());
  CHECK(left_of([](auto x) { return -(-x); }).empty());
  CHECK(left_of([](auto x) { return tf::cast<double>(x); }).empty());
  CHECK(left_of<std::int32_t>([](auto x) { return (x + 0) * 1 / 1 - 0; }).empty());
}

TEST_CASE("what only looks neutral stays: 0 - x, 1 / x, and x * 0, which may be NaN") {
  CHECK(left_of([](auto x) { return 0 - x; }) == Names{"Sub"});
  CHECK(left_of([](auto x) { return 1 / x; }) == Names{"Div"});
  CHECK(left_of([](auto x) { return x * 0; }) == Names{"Mul"});
  CHECK(left_of([](auto x) { return x + 1; }) == Names{"Add"});
}

TEST_CASE("powers with a constant exponent become roots and products") {
  CHECK(left_of([](auto x) { return pow(x, 1); }).empty());
  CHECK(left_of([](auto x) { return pow(x, 2); }) == Names{"Square"});
  CHECK(left_of([](auto x) { return pow(x, 3); }) == Names{"Cube"});
  CHECK(left_of([](auto x) { return pow(x, 0.5); }) == Names{"PowHalf"});
  CHECK(left_of([](auto x) { return pow(x, -0.5); }) == Names{"PowMinusHalf"});
  CHECK(left_of([](auto x) { return pow(x, -1); }) == Names{"Div"});
  CHECK(left_of([](auto x) { return pow(x, -2); }) == Names{"PowMinusTwo"});
  CHECK(left_of([](auto x) { return pow(x, -7); }) == Names{"WholePower"});
  CHECK(left_of([](auto x) { return pow(x, 0); }) == Names{"Pow"});
  CHECK(left_of([](auto x) { return pow(x, 65); }) == Names{"Pow"});
  CHECK(left_of([](auto x) { return pow(x, 1.5); }) == Names{"Pow"});
  CHECK(left_of([](auto x) { return pow(2, x); }) == Names{"Pow"});
  CHECK(left_of<std::int32_t>([](auto x) { return pow(x, 3); }) == Names{"Pow"});
}

TEST_CASE("integers are divided by constant powers of two by shifts and bits") {
  CHECK(left_of<std::int32_t>([](auto x) { return floordiv(x, 1); }).empty());
  CHECK(left_of<std::int32_t>([](auto x) { return floordiv(x, 8); }) == Names{"RightShift"});
  CHECK(left_of<std::int8_t>([](auto x) { return mod(x, 64); }) == Names{"BitwiseAnd"});
  CHECK(left_of<std::uint8_t>([](auto x) { return mod(x, 128); }) == Names{"BitwiseAnd"});
  CHECK(left_of<std::int32_t>([](auto x) { return mod(x, 6); }) == Names{"FloorMod"});
  CHECK(left_of<std::int32_t>([](auto x) { return mod(x, -8); }) == Names{"FloorMod"});
  CHECK(left_of<std::int32_t>([](auto x) { return floordiv(x, 0); }) == Names{"FloorDiv"});
  CHECK(left_of([](auto x) { return mod(x, 8); }) == Names{"FloorMod"});
}

TEST_CASE("a neutral element that gives the result its shape stays") {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto zeros = tf::Expr<double, tf::Shape<3>>(
      g, broadcast_to(tf::constant<double>(g, 0).any(), tf::Shape<3>::dims).id);
  (x + zeros).named("y");
  const Simple s = simplify_all(g);
  const tf::Id y = s.graph.map[records(g).names[1].value];
  CHECK(s.graph.graph.dims_of(y) == tf::Shape<3>::dims);
  tf::Interpreter interpreter(s.graph.graph, s.graph.order, s.graph.map);
  CHECK(test::elements(interpreter.run({"y"}, {{"x", test::doubles({}, {5})}})[0]) ==
        std::vector{5., 5., 5.});
}

TEST_CASE("constants are folded, those that could overflow are not") {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto two = tf::constant<double>(g, 2);
  (x * (two * two + tf::square(two) - 1)).named("y");
  auto large = tf::constant<std::int32_t>(g, 2000000000);
  (large + large).named("wrapped");
  const Simple s = simplify_all(g);
  CHECK(s.operations == Names{"Mul", "Add"});
  tf::Interpreter interpreter(s.graph.graph, s.graph.order, s.graph.map);
  const auto out = interpreter.run({"y", "wrapped"}, {{"x", test::doubles({}, {3})}});
  CHECK(out[0].value(0) == 21);
  CHECK(out[1].value(0) == 4000000000. - 4294967296.);
}

TEST_CASE("common subexpressions become one, whatever they are rewritten to") {
  tf::Graph g;
  auto x = tf::placeholder<double, 3, 4>(g, "x");
  (exp(x + 0) * exp(x)).named("product");
  (mean(x) * mean(x)).named("means");  // composite: each expands
  (softmax(x) + softmax(x)).named("softmaxes");
  const Simple s = simplify_all(g);
  CHECK(s.count("Exp") == 2);  // of x, and in softmax of x - max(x)
  CHECK(s.count("Sum") == 2);
  CHECK(s.count("Max") == 1);
  CHECK(s.count("Div") == 2);  // of the mean, and of the softmax
}

TEST_CASE("different attributes, types and devices are not common") {
  tf::Graph g;
  auto x = tf::placeholder<double, 4, 4>(g, "x");
  (sum<0>(x) + sum<1>(x)).named("a");
  (matmul(x, x) + matmul<tf::transpose_b>(x, x)).named("b");
  tf::cast<float>(x).named("c");
  tf::cast<std::int32_t>(x).named("d");
  tf::on<tf::Gpu<0>>(g, [&] { return tanh(x).named("e"); });
  tf::on<tf::Gpu<1>>(g, [&] { return tanh(x).named("f"); });
  const Simple s = simplify_all(g);
  CHECK(s.count("Sum") == 2);
  CHECK(s.count("MatMul") == 2);
  CHECK(s.count("Cast") == 2);
  CHECK(s.count("Tanh") == 2);
}

TEST_CASE("random operations, reads and writes are never made one") {
  tf::Graph g;
  auto v = tf::variable<double>(g, "v");
  assign(v, 2.0).named("d");  // what reads before all statements is the handle
  v.read().named("a");
  assign(v, 1.0).named("e");
  v.read().named("b");
  assign(v, 1.0).named("f");
  const tf::Type type(tf::DType::float64, tf::Shape<4>::dims);
  const tf::AnyExpr u = tf::random_uniform(g, "", type);
  const std::uint32_t* words = records(g).words_of(records(g).node_of(u.id));
  const tf::AnyExpr w =
      tf::add_node(g, tf::ops::RandomUniform{{}, words[0], words[1]}, nullptr, 0, type);
  records(g).add_name("u", tf::ir::NameKind::value, u.id);
  records(g).add_name("w", tf::ir::NameKind::value, w.id);
  const Simple s = simplify_all(g);
  CHECK(s.count("Read") == 2);
  CHECK(s.count("Assign") == 3);
  CHECK(s.count("RandomUniform") == 2);
}

TEST_CASE("what no root needs goes") {
  tf::Graph g;
  auto x = tf::placeholder<double, 3>(g, "x");
  exp(x);
  auto v = tf::variable<double, 3>(g, "v");
  assign(v, tanh(x));
  square(x).named("y");
  CHECK(simplify_all(g).operations == Names{"Square"});
}

TEST_CASE("composite operations expand") {
  CHECK(left_of([](auto x) { return softmax(x); }) == Names{"Max", "Sub", "Exp", "Sum", "Div"});
  CHECK(left_of([](auto x) { return mean<0>(x); }) == Names{"Sum", "Div"});
}

TEST_CASE("a product that only a sum uses becomes a multiply-add") {
  CHECK(left_of([](auto x) { return exp(x) * x + x; }) == Names{"Exp", "Fma"});
  const auto multiply_adds = [](auto f) {
    tf::Graph g;
    f(tf::placeholder<double, 4>(g, "x"), tf::placeholder<double, 4>(g, "y"),
      tf::placeholder<double, 4>(g, "z"))
        .named("r");
    const Simple s = simplify_all(g);
    const tf::ir::Simplified& after = s.graph;
    const tf::ir::Node& node = after.graph.node_of(after.map[records(g).names[3].value]);
    Names out{std::string(node.op->name)};
    for (tf::Id k = 0; k < node.inputs.count; ++k) {
      for (const tf::ir::Name& name : records(g).names) {
        if (name.value == after.graph.input(node, k)) {
          out.emplace_back(records(g).text_of(name).view());
        }
      }
    }
    return out;
  };
  CHECK(multiply_adds([](auto x, auto y, auto z) { return x * y + z; }) ==
        Names{"Fma", "x", "y", "z"});
  CHECK(multiply_adds([](auto x, auto y, auto z) { return z + x * y; }) ==
        Names{"Fma", "x", "y", "z"});
  CHECK(multiply_adds([](auto x, auto y, auto z) { return x * y - z; }) ==
        Names{"Fms", "x", "y", "z"});
  CHECK(multiply_adds([](auto x, auto y, auto z) { return z - x * y; }) ==
        Names{"Fnma", "x", "y", "z"});
}

TEST_CASE("a product becomes a multiply-add whatever rewriting has left behind it") {
  const Names multiply_adds{"Fma"};
  CHECK(left_of([](auto x) { return tf::reshape<3, 4>(tf::reshape<12>(x * x)) + x; }) ==
        multiply_adds);
  CHECK(left_of([](auto x) { return transpose(transpose(x * x)) + x; }) == multiply_adds);
  CHECK(left_of([](auto x) { return x + -(-(x * x)) * 1; }) == multiply_adds);
  CHECK(left_of([](auto x) { return tf::cast<double>(x * x) + x; }) == multiply_adds);
  CHECK(left_of([](auto x) { return tf::reverse<0>(tf::reverse<0>(x * x)) + x; }) == multiply_adds);
}

TEST_CASE("contraction rounds once") {
  tf::Graph g;
  auto x = tf::placeholder<float>(g, "x");
  auto y = tf::placeholder<float>(g, "y");
  (x * x - y).named("r");
  const float a = 1.0f + 0x1p-12f;
  const tf::HostTensors feeds{{"x", test::floats({}, {a})}, {"y", test::floats({}, {a * a})}};
  const Simple s = simplify_all(g);
  tf::Interpreter simplified(s.graph.graph, s.graph.order, s.graph.map);
  CHECK(tf::interpret(g, feeds).at("r").value(0) == 0);
  CHECK(simplified.run({"r"}, feeds)[0].value(0) == 0x1p-24);
}

TEST_CASE("a product with other uses, or of integers, becomes no multiply-add") {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto product = (x * x).named("product");
  (product + x).named("sum");
  auto n = tf::placeholder<std::int32_t>(g, "n");
  (n * n + n).named("whole");
  const Simple s = simplify_all(g);
  CHECK(s.count("Fma") == 0);
  CHECK(s.count("Add") == 2);
}

TEST_CASE("views of views, and transposes, are looked through") {
  CHECK(left_of([](auto x) { return tf::reshape<2, 6>(tf::reshape<12>(x)); }) == Names{"Reshape"});
  CHECK(left_of([](auto x) { return tf::reshape<3, 4>(tf::reshape<12>(x)); }).empty());
  CHECK(left_of([](auto x) { return transpose(transpose(x)); }).empty());
  CHECK(left_of([](auto x) { return transpose<0, 1>(x); }).empty());
  CHECK(left_of([](auto x) { return matmul(transpose(x), x); }) == Names{"MatMul"});
  CHECK(left_of([](auto x) { return matmul(x, transpose(x)); }) == Names{"MatMul"});
}

TEST_CASE("an explicit broadcast in front of an elementwise operation goes") {
  const auto rows = [](auto x) {
    return tf::Expr<double, tf::Shape<3, 4>>(x.graph(),
                                             broadcast_to(sum<0>(x).any(), {2, {3, 4}}).id);
  };
  CHECK(left_of([&](auto x) { return x * rows(x); }) == Names{"Sum", "Mul"});
  CHECK(left_of([&](auto x) { return exp(rows(x)); }) == Names{"Sum", "BroadcastTo", "Exp"});
}

TEST_CASE("a reduction over axes of extent 1 only changes the shape") {
  tf::Graph g;
  auto x = tf::placeholder<std::int32_t, 3, 1>(g, "x");
  sum<1>(x).named("sum");
  tf::argmax<1>(x).named("argmax");
  const Simple s = simplify_all(g);
  CHECK(s.count("Sum") == 0);
  CHECK(s.count("ArgMax") == 0);
  tf::Interpreter interpreter(s.graph.graph, s.graph.order, s.graph.map);
  const auto out = interpreter.run({"sum", "argmax"}, {{"x", test::ints({3, 1}, {4, 5, 6})}});
  CHECK(test::elements(out[0]) == std::vector{4., 5., 6.});
  CHECK(test::elements(out[1]) == std::vector{0., 0., 0.});
}

TEST_CASE("also one that a composite operation expands into") {
  tf::Graph g;
  auto x = tf::placeholder<double, 3, 1>(g, "x");
  mean<1>(x).named("mean");
  softmax(x).named("softmax");
  softmax_cross_entropy(x, 2 * x).named("loss");
  const Simple s = simplify_all(g);
  CHECK(s.count("Sum") == 0);
  CHECK(s.count("Max") == 0);
  tf::Interpreter interpreter(s.graph.graph, s.graph.order, s.graph.map);
  const auto out =
      interpreter.run({"mean", "softmax", "loss"}, {{"x", test::doubles({3, 1}, {4, 5, 6})}});
  CHECK(test::elements(out[0]) == std::vector{4., 5., 6.});
  CHECK(test::elements(out[1]) == std::vector{1., 1., 1.});
  CHECK(test::elements(out[2]) == std::vector{0., 0., 0.});
}

TEST_CASE("a reduction over axes that lie apart becomes one for each group, innermost first") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 3, 4, 5, 6>(g, "x");
  max<0, 2, 3>(x).named("two_groups");
  sum<0, 2, 4>(x, tf::keep_dims).named("three_groups");
  mean<0, 3>(x).named("of_composite");
  auto y = tf::placeholder<double, 2, 1, 3>(g, "y");
  sum<0, 2>(y).named("one_group");  // the axis between has extent 1
  const Simple s = simplify_all(g);
  CHECK(s.count("Max") == 2);
  CHECK(s.count("Sum") == 3 + 2 + 1);
  for (const tf::Id id : s.graph.order) {
    const tf::ir::Node& node = s.graph.graph.nodes[id];
    if (node.op->kind != tf::Kind::reduction) continue;
    // No axis that stays lies between two that go.
    const tf::Dims& dims = s.graph.graph.dims_of(s.graph.graph.input(node, 0));
    int changes = 0;
    bool before = false;
    for (int i = 0; i < dims.rank; ++i) {
      if (dims.extent[i] == 1) continue;
      const bool goes = (s.graph.graph.words_of(node)[0] >> i & 1u) != 0;
      changes += goes && !before;
      before = goes;
    }
    CHECK(changes == 1);
  }
  test::Random random(1);
  const tf::HostTensors feeds{
      {"x", test::random_tensor(random, tf::DType::float64, test::dims({2, 3, 4, 5, 6}), -1, 1)},
      {"y", test::random_tensor(random, tf::DType::float64, test::dims({2, 1, 3}), -1, 1)}};
  tf::Interpreter original(g);
  tf::Interpreter simplified(s.graph.graph, s.graph.order, s.graph.map);
  const Names names{"two_groups", "three_groups", "of_composite", "one_group"};
  const auto before = original.run(names, feeds);
  const auto after = simplified.run(names, feeds);
  for (std::size_t i = 0; i < names.size(); ++i)
    CHECK(test::difference(before[i], after[i]) < 1e-13);
}

TEST_CASE("a value that is fed cuts off what it was computed from") {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto h = exp(x);
  square(h).named("y");
  tf::Pool<tf::Id> roots, cuts;
  roots.push(records(g).names[1].value);
  cuts.push(h.id());
  const tf::ir::Simplified s = tf::ir::simplify(tf::ir::Graph(g), roots, cuts);
  REQUIRE(tf::ir::verify(s).view() == "");
  REQUIRE(s.order.size() == 2);
  CHECK(s.graph.nodes[s.order[0]].op->name == "Placeholder");
  CHECK(s.graph.nodes[s.order[1]].op->name == "Square");
}
