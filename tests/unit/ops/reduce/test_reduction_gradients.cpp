// SPDX-License-Identifier: Apache-2.0

// Gradients of reductions and what is composed of them, against central differences.

#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::Shape;

using Cube = Shape<2, 3, 4>;

template <class F>
void check_axes(const F& f) {
  test::check_gradients<Shape<3>>([=](auto x) { return f.template operator()<0>(x); });
  test::check_gradients<Cube>([=](auto x) { return f.template operator()<1>(x); });
  test::check_gradients<Cube>([=](auto x) { return f.template operator()<0, -1>(x); });
  test::check_gradients<Cube>([=](auto x) { return x * f.template operator()<2>(x); });
}

}  // namespace

TEST_CASE("sum: gradient") {
  check_axes([]<int... A>(auto x) { return tf::sum<A...>(square(x), tf::keep_dims); });
}
TEST_CASE("mean: gradient") {
  check_axes([]<int... A>(auto x) { return tf::mean<A...>(square(x), tf::keep_dims); });
}
TEST_CASE("max: gradient") {
  check_axes([]<int... A>(auto x) { return tf::max<A...>(x, tf::keep_dims); });
}
TEST_CASE("min: gradient") {
  check_axes([]<int... A>(auto x) { return tf::min<A...>(x, tf::keep_dims); });
}
TEST_CASE("logsumexp: gradient") {
  check_axes([]<int... A>(auto x) { return tf::logsumexp<A...>(x, tf::keep_dims); });
}
TEST_CASE("logsumexp: the gradient of large numbers sums to 1, though the result is rounded") {
  tf::Graph g;
  auto x = tf::placeholder<float, 2, 3>(g, "x");
  gradients(sum(tf::logsumexp<1>(x)), x).named("rows");
  gradients(tf::logsumexp(x), x).named("all");
  // softmax of 0, 1, 2
  const std::vector<double> shares = {0.09003057317, 0.24472847105, 0.66524095578};
  test::check_interpreter(
      g, {{"x", test::floats({2, 3}, {1e8, 1e8, 1e8, 10000, 10001, 10002})}},
      {{"rows", test::floats({2, 3}, {1 / 3., 1 / 3., 1 / 3., shares[0], shares[1], shares[2]})},
       {"all", test::floats({2, 3}, {1 / 3., 1 / 3., 1 / 3., 0, 0, 0})}});
}
TEST_CASE("norm: gradient") {
  check_axes([]<int... A>(auto x) { return tf::norm<A...>(x, tf::keep_dims); });
}
TEST_CASE("l2_normalize: gradient") {
  check_axes([]<int... A>(auto x) { return tf::l2_normalize<A...>(x); });
}
TEST_CASE("l2_loss: gradient") {
  test::check_gradients<Cube>([](auto x) { return l2_loss(x); });
}
TEST_CASE("global_norm: gradient") {
  test::check_gradients<Shape<3>, Shape<2, 2>>([](auto a, auto b) { return global_norm(a, b); });
}
TEST_CASE("moments: gradient") {
  const auto both = []<int... A>(auto x) {
    const auto m = tf::moments<A...>(x, tf::keep_dims);
    return m.mean * 3 + m.variance;
  };
  check_axes(both);
  test::check_gradients<Shape<2, 3>>([=](auto x) {  // of the gradient
    return gradients(sum(square(both.template operator()<1>(x))), x);
  });
}
TEST_CASE("prod: gradient") {
  check_axes([]<int... A>(auto x) { return tf::prod<A...>(x, tf::keep_dims); });
  // With zeros: none, one, several in a product; and of the gradient.
  const auto with_zeros = [](auto x) { return relu(x); };
  test::check_gradients<Cube>([=](auto x) { return tf::prod<1>(with_zeros(x)); });
  test::check_gradients<Cube>([=](auto x) { return tf::prod<0, 2>(with_zeros(x)); });
  test::check_gradients<Shape<3, 3>>(
      [=](auto x) { return gradients(sum(tf::prod<1>(with_zeros(x)) + prod(x)), x); });
  tf::Graph g;
  auto x = tf::placeholder<double, 3, 3>(g, "x");
  gradients(sum(tf::prod<1>(x)), x).named("dx");
  test::check_interpreter(g, {{"x", test::doubles({3, 3}, {2, 0, 5, 0, 0, 3, 2, 3, 4})}},
                          {{"dx", test::doubles({3, 3}, {0, 10, 0, 0, 0, 0, 12, 8, 6})}});
}
