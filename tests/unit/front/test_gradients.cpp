// SPDX-License-Identifier: Apache-2.0

// The gradient of every operation of the front, against central differences in double.

#include "support/check_gradients.hpp"

namespace tf = typeflow;
using test::check_gradients;
using test::Range;
using tf::Shape;

namespace {
constexpr Range positive{0.2, 3};
using Matrix = Shape<3, 4>;
using Row = Shape<4>;
using Column = Shape<3, 1>;
using Scalar = Shape<>;

// Binary operations, the operands of one shape and broadcast from either side.
template <class F>
void check_broadcasting(const F& f, Range range = {}) {
  SUBCASE("one shape") { check_gradients<Matrix, Matrix>(f, range); }
  SUBCASE("row on the right") { check_gradients<Matrix, Row>(f, range); }
  SUBCASE("row on the left") { check_gradients<Row, Matrix>(f, range); }
  SUBCASE("column on the right") { check_gradients<Matrix, Column>(f, range); }
  SUBCASE("scalar on the left") { check_gradients<Scalar, Matrix>(f, range); }
  SUBCASE("both") { check_gradients<Column, Row>(f, range); }
  SUBCASE("an axis of 1 that stays") { check_gradients<Shape<1, 4>, Shape<1, 1>>(f, range); }
}
}  // namespace

TEST_CASE("a + b") {
  check_broadcasting([](auto a, auto b) { return a + b; });
}
TEST_CASE("a - b") {
  check_broadcasting([](auto a, auto b) { return a - b; });
}
TEST_CASE("a * b") {
  check_broadcasting([](auto a, auto b) { return a * b; });
}
TEST_CASE("a / b") {
  check_broadcasting([](auto a, auto b) { return a / b; }, positive);
}
TEST_CASE("maximum(a, b)") {
  check_broadcasting([](auto a, auto b) { return maximum(a, b); });
}
TEST_CASE("minimum(a, b)") {
  check_broadcasting([](auto a, auto b) { return minimum(a, b); });
}
TEST_CASE("where(condition, a, b)") {
  check_broadcasting([](auto a, auto b) { return where(less(a * b, 0.5), a, square(b)); });
}

TEST_CASE("numbers as operands") {
  check_gradients<Matrix>([](auto x) { return 2 * x - 1; });
  check_gradients<Matrix>([](auto x) { return 1 - x * 3; });
  check_gradients<Matrix>([](auto x) { return x / 4 + 2 / x; }, positive);
  check_gradients<Matrix>([](auto x) { return maximum(x, 0.3) + minimum(0.7, x); });
}

TEST_CASE("functions of one tensor") {
  SUBCASE("neg") {
    check_gradients<Matrix>([](auto x) { return -x + neg(x); });
  }
  SUBCASE("exp") {
    check_gradients<Matrix>([](auto x) { return exp(x); });
  }
  SUBCASE("log") {
    check_gradients<Matrix>([](auto x) { return log(x); }, positive);
  }
  SUBCASE("sqrt") {
    check_gradients<Matrix>([](auto x) { return sqrt(x); }, positive);
  }
  SUBCASE("square") {
    check_gradients<Matrix>([](auto x) { return square(x); });
  }
  SUBCASE("abs") {
    check_gradients<Matrix>([](auto x) { return abs(x); });
  }
  SUBCASE("relu") {
    check_gradients<Matrix>([](auto x) { return relu(x); });
  }
  SUBCASE("sigmoid") {
    check_gradients<Matrix>([](auto x) { return sigmoid(x); });
  }
  SUBCASE("tanh") {
    check_gradients<Matrix>([](auto x) { return tanh(x); });
  }
  SUBCASE("softplus") {
    check_gradients<Matrix>([](auto x) { return softplus(x); });
  }
  SUBCASE("of a scalar") {
    check_gradients<Scalar>([](auto x) { return tanh(exp(x)); });
  }
}

TEST_CASE("matmul with each pair of transposes") {
  check_gradients<Shape<2, 3>, Shape<3, 4>>([](auto a, auto b) { return matmul(a, b); });
  check_gradients<Shape<3, 2>, Shape<3, 4>>(
      [](auto a, auto b) { return matmul<tf::transpose_a>(a, b); });
  check_gradients<Shape<2, 3>, Shape<4, 3>>(
      [](auto a, auto b) { return matmul<tf::transpose_b>(a, b); });
  check_gradients<Shape<3, 2>, Shape<4, 3>>(
      [](auto a, auto b) { return matmul<tf::transpose_both>(a, b); });
  check_gradients<Shape<3, 3>>([](auto a) { return matmul(a, matmul<tf::transpose_a>(a, a)); });
}

namespace {
using Cube = Shape<2, 3, 4>;
// One reduction over each choice of axes, with the axes dropped and kept.
#define CHECK_REDUCTION(reduction)                                                       \
  SUBCASE("all") {                                                                       \
    check_gradients<Cube>([](auto x) { return reduction(x); });                          \
  }                                                                                      \
  SUBCASE("0") {                                                                         \
    check_gradients<Cube>([](auto x) { return reduction<0>(x); });                       \
  }                                                                                      \
  SUBCASE("1") {                                                                         \
    check_gradients<Cube>([](auto x) { return reduction<1>(x); });                       \
  }                                                                                      \
  SUBCASE("last") {                                                                      \
    check_gradients<Cube>([](auto x) { return reduction<-1>(x); });                      \
  }                                                                                      \
  SUBCASE("0, 1") {                                                                      \
    check_gradients<Cube>([](auto x) { return reduction<0, 1>(x); });                    \
  }                                                                                      \
  SUBCASE("0, 2") {                                                                      \
    check_gradients<Cube>([](auto x) { return reduction<0, 2>(x); });                    \
  }                                                                                      \
  SUBCASE("1, 2") {                                                                      \
    check_gradients<Cube>([](auto x) { return reduction<1, 2>(x); });                    \
  }                                                                                      \
  SUBCASE("all, kept") {                                                                 \
    check_gradients<Cube>([](auto x) { return x * reduction(x, tf::keep_dims); });       \
  }                                                                                      \
  SUBCASE("1, kept") {                                                                   \
    check_gradients<Cube>([](auto x) { return x * reduction<1>(x, tf::keep_dims); });    \
  }                                                                                      \
  SUBCASE("0, 2, kept") {                                                                \
    check_gradients<Cube>([](auto x) { return x * reduction<0, 2>(x, tf::keep_dims); }); \
  }                                                                                      \
  SUBCASE("an axis of 1") {                                                              \
    check_gradients<Shape<2, 1, 3>>([](auto x) { return reduction<1>(x); });             \
  }
}  // namespace

TEST_CASE("sum"){CHECK_REDUCTION(sum)} TEST_CASE("mean"){CHECK_REDUCTION(mean)} TEST_CASE("max"){
    CHECK_REDUCTION(max)} TEST_CASE("min"){CHECK_REDUCTION(min)}

TEST_CASE("max and min share their gradient among equal elements") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 3>(g, "x");
  gradients(sum(max<1>(x)), x).named("of_max");
  gradients(min(x), x).named("of_min");
  tf::Interpreter interpreter(g);
  const auto d =
      interpreter.run({"of_max", "of_min"}, {{"x", test::doubles({2, 3}, {5, 1, 5, 1, 1, 1})}});
  CHECK(test::elements(d[0]) == std::vector{0.5, 0., 0.5, 1. / 3, 1. / 3, 1. / 3});
  CHECK(test::elements(d[1]) == std::vector{0., 0.25, 0., 0.25, 0.25, 0.25});
}

TEST_CASE("reshape, transpose, broadcasting, cast") {
  check_gradients<Cube>([](auto x) { return tf::reshape<4, 6>(x); });
  check_gradients<Cube>([](auto x) { return transpose(x); });
  check_gradients<Cube>([](auto x) { return transpose<1, 2, 0>(x); });
  check_gradients<Cube>([](auto x) { return transpose<1, 0>(tf::reshape<6, 4>(exp(x))); });
  check_gradients<Column>([](auto x) {
    return tf::Expr<double, Matrix>(x.graph(), broadcast_to(x.any(), Matrix::dims).id);
  });
  // In float there are 24 bits: the differences are coarse, the gradient is 1 on either side.
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  gradients(sum(tf::cast<double>(3 * tf::cast<float>(x))), x).named("dx");
  const auto dx = tf::interpret(g, {{"x", test::doubles({2}, {1, 2})}});
  CHECK(test::elements(dx.at("dx")) == std::vector{3., 3.});
}

TEST_CASE("a tensor with several uses collects all their gradients") {
  check_gradients<Matrix, Matrix>([](auto x, auto y) {
    auto h = tanh(x * y);
    return h * h + exp(h) * x - sum<1>(h, tf::keep_dims);
  });
}

TEST_CASE("gradients: gradient") {
  SUBCASE("square") {
    check_gradients<Matrix>([](auto x) { return gradients(sum(square(x) * x), x); });
  }
  SUBCASE("exp, log, sqrt") {
    check_gradients<Row>([](auto x) { return gradients(sum(exp(x) + log(x) * sqrt(x)), x); },
                         positive);
  }
  SUBCASE("sigmoid, tanh, softplus") {
    check_gradients<Row>([](auto x) { return gradients(sum(sigmoid(x) + tanh(x)), x); });
    check_gradients<Row>([](auto x) { return gradients(sum(softplus(x * x)), x); });
  }
  SUBCASE("relu") {
    check_gradients<Row>([](auto x) { return gradients(sum(relu(x) * x), x); });
  }
  SUBCASE("quotient") {
    check_gradients<Row, Row>(
        [](auto x, auto y) { return std::get<1>(gradients(sum(x / y), x, y)); }, positive);
  }
  SUBCASE("matmul") {
    check_gradients<Shape<2, 3>, Shape<3, 2>>(
        [](auto x, auto w) { return std::get<0>(gradients(sum(square(matmul(x, w))), x, w)); });
  }
  SUBCASE("mean of a softmax") {
    check_gradients<Matrix>([](auto x) { return gradients(mean(square(softmax(x))), x); });
  }
  SUBCASE("softmax_cross_entropy") {
    check_gradients<Matrix, Matrix>(
        [](auto x, auto y) { return gradients(mean(softmax_cross_entropy(x, y)), x); }, positive);
  }
  SUBCASE("thrice") {
    check_gradients<Row>([](auto x) {
      auto first = gradients(sum(exp(x) * tanh(x)), x);
      return gradients(sum(first), x);
    });
  }
}

TEST_CASE("grad_ys are the gradients of the ys") {
  check_gradients<Matrix, Matrix>(
      [](auto x, auto dy) { return gradients(tanh(x), tf::grad_ys(dy), x); });
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  auto dy = tf::placeholder<double, 2>(g, "dy");
  gradients(tf::ys(square(x), sum(x)), tf::grad_ys(dy, tf::constant<double>(g, 10)), x).named("dx");
  const auto out =
      tf::interpret(g, {{"x", test::doubles({2}, {3, 5})}, {"dy", test::doubles({2}, {1, -1})}});
  CHECK(test::elements(out.at("dx")) == std::vector{16., 0.});
}

TEST_CASE("gradients: values") {
  SUBCASE("of several ys add up") {
    tf::Graph g;
    auto x = tf::placeholder<double, 2>(g, "x");
    auto y = tf::placeholder<double, 2>(g, "y");
    auto a = sum(square(x));
    auto b = sum(x * y);
    auto [dx, dy] = gradients(tf::ys(a, b), x, y);
    dx.named("dx");
    dy.named("dy");
    const auto out =
        tf::interpret(g, {{"x", test::doubles({2}, {1, 2})}, {"y", test::doubles({2}, {10, 20})}});
    CHECK(test::elements(out.at("dx")) == std::vector{12., 24.});
    CHECK(test::elements(out.at("dy")) == std::vector{1., 2.});
  }
  SUBCASE("with respect to a tensor inside the graph") {
    tf::Graph g;
    auto x = tf::placeholder<double, 2>(g, "x");
    auto h = square(x);
    auto loss = sum(3 * h);
    gradients(loss, h).named("dh");
    gradients(loss, loss).named("dloss");
    const auto out = tf::interpret(g, {{"x", test::doubles({2}, {1, 2})}});
    CHECK(test::elements(out.at("dh")) == std::vector{3., 3.});
    CHECK(test::elements(out.at("dloss")) == std::vector{1.});
  }
}

TEST_CASE("stop_gradient: values") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  auto fixed = stop_gradient(exp(x)).named("fixed");
  gradients(sum(x * fixed), x).named("dx");
  gradients_or_zero(sum(fixed), x).named("none");
  const auto out = tf::interpret(g, {{"x", test::doubles({2}, {0, 1})}});
  CHECK(test::elements(out.at("fixed")) == std::vector{1., std::exp(1.)});
  CHECK(test::elements(out.at("dx")) == std::vector{1., std::exp(1.)});
  CHECK(test::elements(out.at("none")) == std::vector{0., 0.});
}

TEST_CASE("stop_gradient: errors") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  CHECK_THROWS_WITH_AS(gradients(sum(stop_gradient(x)), x),
                       "gradients(y, x): no differentiable path leads from 'x' to y", tf::Error);
}

TEST_CASE("no gradient flows through comparisons and argmax") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  gradients_or_zero(sum(tf::cast<double>(greater(x, 0)) + tf::cast<double>(tf::argmax<0>(x))), x)
      .named("of_positions");
  const auto out = tf::interpret(g, {{"x", test::doubles({2}, {0, 1})}});
  CHECK(test::elements(out.at("of_positions")) == std::vector{0., 0.});
}

TEST_CASE("gradients: errors") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  auto unused = tf::variable<double, 2>(g, "unused");
  CHECK_THROWS_WITH_AS(gradients(sum(x), unused),
                       "gradients(y, x): no differentiable path leads from 'unused' to y",
                       tf::Error);
  CHECK_THROWS_WITH_AS(gradients(sum(x), g.trainable()),
                       "gradients(y, x): no differentiable path leads from 'unused' to y",
                       tf::Error);
}

TEST_CASE("gradients_or_zero: values") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  auto unused = tf::placeholder<double, 3>(g, "unused");
  auto [dx, dunused] = gradients_or_zero(sum(4 * x), x, unused);
  dx.named("dx");
  dunused.named("dunused");
  const auto out = tf::interpret(g, {{"x", test::doubles({2}, {1, 2})}});
  CHECK(test::elements(out.at("dx")) == std::vector{4., 4.});
  CHECK(test::elements(out.at("dunused")) == std::vector{0., 0., 0.});
}

TEST_CASE("gradients_or_zero: gradient") {
  check_gradients<Matrix>([](auto x) { return gradients_or_zero(sum(exp(x * x)), x); });
}

TEST_CASE("a batch as an axis: mean and broadcasting know its size at run time only") {
  tf::Graph g;
  auto x = tf::placeholder<double, tf::batch, 2>(g, "x");
  auto w = tf::variable<double, 2>(g, "w");
  gradients(mean(square(x * w)), w).named("dw");
  tf::Interpreter interpreter(g);
  interpreter.variables = {{"w", test::doubles({2}, {1, -1})}};
  for (const int rows : {1, 4}) {
    std::vector<double> elements;
    for (int i = 0; i < 2 * rows; ++i) elements.push_back(i);
    double expected[2] = {};
    for (int i = 0; i < 2 * rows; ++i) {
      expected[i % 2] += 2 * i * i * (i % 2 == 0 ? 1. : -1.) / (2 * rows);
    }
    const auto dw = interpreter.run({"dw"}, {{"x", test::doubles({rows, 2}, elements)}})[0];
    CHECK(dw.value(0) == doctest::Approx(expected[0]));
    CHECK(dw.value(1) == doctest::Approx(expected[1]));
  }
}
