// SPDX-License-Identifier: Apache-2.0

// Forward mode, products with the Hessian, custom gradients, and derivatives of derivatives.

#include <cmath>
#include <string>

#include "support/check_derivatives.hpp"
#include "support/check_kernels.hpp"

namespace tf = typeflow;
using test::check_gradients;
using test::check_jvp;
using test::check_orders;
using tf::Shape;

TEST_CASE("jvp: values") {
  using M = Shape<3, 4>;
  check_jvp<M>([](auto x) { return x * x * 3 - 1 / x; }, 0.5, 2);
  check_jvp<M>([](auto x) { return exp(x) + tanh(x) * sigmoid(x); });
  check_jvp<M>([](auto x) { return matmul(x, tf::transpose(x)); });
  check_jvp<M>([](auto x) { return softmax(x); });
  check_jvp<M>([](auto x) { return mean<0>(square(x)); });
  check_jvp<M>([](auto x) { return max<1>(x); });
  check_jvp<M>([](auto x) { return relu(x) + abs(x) + maximum(x, 0.3); });
  check_jvp<M>([](auto x) { return tf::reshape<4, 3>(x) * sum(x); });
  check_jvp<M>([](auto x) { return log(square(x) + 1); });
  check_jvp<Shape<>>([](auto x) { return sqrt(exp(x)); });
}

TEST_CASE("jvp of several tensors adds up, and what nothing moves is left out") {
  tf::Graph g;
  auto a = tf::placeholder<double, 2>(g, "a");
  auto b = tf::placeholder<double, 2>(g, "b");
  auto c = tf::placeholder<double, 2>(g, "c");
  auto u = tf::placeholder<double, 2>(g, "u");
  auto v = tf::placeholder<double, 2>(g, "v");
  jvp(a * b, tf::xs(a, b, c), tf::tangents(u, v, u)).named("both");
  jvp(a + a, a, u).named("linear");
  const tf::HostTensors out = tf::interpret(g, {{"a", test::doubles({2}, {2, 3})},
                                                {"b", test::doubles({2}, {5, 7})},
                                                {"c", test::doubles({2}, {1, 1})},
                                                {"u", test::doubles({2}, {0.5, -1})},
                                                {"v", test::doubles({2}, {10, 20})}});
  CHECK(test::elements(out.at("both")) == std::vector<double>{22.5, 53});
  CHECK(test::elements(out.at("linear")) == std::vector<double>{1, -2});
}

TEST_CASE("jvp: errors") {
  tf::Graph g;
  auto a = tf::placeholder<double, 2>(g, "a");
  auto b = tf::placeholder<double, 2>(g, "b");
  CHECK_THROWS_WITH_AS(jvp(square(b), a, a),
                       "jvp(y, x, v): no differentiable path leads from x to y", tf::Error);
}

TEST_CASE("jvp: gradient") {
  using M = Shape<2, 3>;
  check_gradients<M, M>([](auto x, auto v) { return jvp(tanh(x) * x, x, v); });
}

TEST_CASE("hvp: values") {
  // y = sum(x^3) + x_0 x_1: H = diag(6 x) + [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
  tf::Graph g;
  auto x = tf::placeholder<double, 3>(g, "x");
  auto v = tf::placeholder<double, 3>(g, "v");
  auto first = tf::constant<double, 3>(g, {1, 0, 0});
  auto second = tf::constant<double, 3>(g, {0, 1, 0});
  auto y = sum(x * x * x) + sum(x * first) * sum(x * second);
  hvp(y, x, v).named("hv");
  jvp(gradients(y, x), x, v).named("forward");
  const tf::HostTensors out = tf::interpret(
      g, {{"x", test::doubles({3}, {1, 2, -3})}, {"v", test::doubles({3}, {1, 10, 100})}});
  const std::vector<double> expected{6 + 10, 120 + 1, -1800};
  CHECK(test::elements(out.at("hv")) == expected);
  CHECK(test::elements(out.at("forward")) == expected);
}

TEST_CASE("hvp: gradient") {
  check_gradients<Shape<3>>([](auto x) {
    auto v = tf::constant<double, 3>(x.graph(), {2, -1, 0.5});
    return hvp(sum(x * x * x * x) * sum(x), x, v);
  });
}

namespace {

struct clipped {
  constexpr auto operator()(auto x, auto, auto dy) const {
    return where(greater(x, 0), maximum(minimum(dy, 1), -1), 0);
  }
};

constexpr void clipped_relu(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto dy = tf::placeholder<float, tf::batch, 3>(g, "dy");
  auto y = tf::custom_gradient([](auto a) { return relu(a); }, clipped{}, x);
  y.named("y");
  gradients(y, tf::grad_ys(dy), x).named("dx");
}

}  // namespace

TEST_CASE("custom_gradient: values") {
  test::Kernels<clipped_relu> kernels;
  const tf::HostTensors feeds{{"x", test::floats({2, 3}, {-1, 2, 3, 4, -5, 6})},
                              {"dy", test::floats({2, 3}, {9, 9, -9, 0.5, 0.5, -0.25})}};
  const test::Outcome got = kernels.run(feeds);
  CHECK(test::elements(got.at("y")) == std::vector<double>{0, 2, 3, 4, 0, 6});
  CHECK(test::elements(got.at("dx")) == std::vector<double>{0, 1, -1, 0.5, 0, -0.25});
}

TEST_CASE("custom_gradient: gradient") {
  // y = a * b with the gradients 2 b dy and 3 a dy.
  tf::Graph g;
  auto a = tf::placeholder<double>(g, "a");
  auto b = tf::placeholder<double>(g, "b");
  auto y = tf::custom_gradient([](auto p, auto q) { return p * q; },
                               [](auto p, auto q, auto, auto dy) {
                                 return std::array<tf::AnyExpr, 2>{2 * q * dy, 3 * p * dy};
                               },
                               a, b);
  auto [da, db] = gradients(y, a, b);
  da.named("da");
  db.named("db");
  gradients(da, b).named("dadb");
  const tf::HostTensors out =
      tf::interpret(g, {{"a", test::doubles({}, {5})}, {"b", test::doubles({}, {7})}});
  CHECK(out.at("da").value(0) == 14);
  CHECK(out.at("db").value(0) == 15);
  CHECK(out.at("dadb").value(0) == 2);
}

TEST_CASE("gradients can be taken twice and thrice") {
  using M = Shape<2, 3>;
  check_orders<M>([](auto x) { return x * x * x / (x + 1); });
  check_orders<M>([](auto x) { return exp(x) * log(x); });
  check_orders<M>([](auto x) { return sqrt(x) - square(x) * x; });
  check_orders<M>([](auto x) { return sigmoid(x) * tanh(x); });
  check_orders<M>([](auto x) { return softplus(x) * x; });
  check_orders<M>([](auto x) { return matmul(tf::transpose(x), x); });
  check_orders<M>([](auto x) { return softmax(x); });
  check_orders<M>([](auto x) { return log_softmax(x) * x; });
  check_orders<M>([](auto x) { return mean<1>(x * x) * sum<1>(x * x * x); });
  check_orders<M>([](auto x) { return max<1>(x * x * x); });
  check_orders<M>([](auto x) { return where(less(x, 0.8), x * x * x, exp(x)); });
  check_orders<M>([](auto x) { return tf::reshape<3, 2>(x * x * x) * mean(x); });
  check_orders<M>([](auto x) { return maximum(x * x * x, x * x) + relu(x) * abs(x) * x; });
}
