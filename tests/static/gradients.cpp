// SPDX-License-Identifier: Apache-2.0

// Gradients: the types of their handles, and which nodes they add.

#include "support.hpp"

constexpr bool a_gradient_is_like_its_x(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto W = tf::variable<float, 784, 10>(g, "W");
  auto b = tf::variable<float, 10>(g, "b");
  auto h = matmul(x, W) + b;
  auto loss = mean(square(h));
  static_assert(is_tensor<decltype(gradients(loss, W)), float, 784, 10>);
  static_assert(is_tensor<decltype(gradients(loss, x)), float, tf::batch, 784>);
  static_assert(is_tensor<decltype(gradients(loss, h)), float, tf::batch, 10>);
  auto [dW, db, dh] = gradients(loss, W, b, h);
  static_assert(is_tensor<decltype(dW), float, 784, 10>);
  static_assert(is_tensor<decltype(db), float, 10>);
  static_assert(is_tensor<decltype(dh), float, tf::batch, 10>);
  return records(g).dims_of(dW.id()) == W.type.dims && records(g).dims_of(db.id()) == b.type.dims &&
         records(g).dims_of(dh.id()) == h.type.dims;
}
static_assert(holds<a_gradient_is_like_its_x>());

// Backwards through two layers: the second's two products, the first's one, since nobody asks for
// the gradient of x; nor is there anything of the gradient of y, a logarithm.
constexpr bool only_what_is_asked_for_is_computed(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  tf::Dense<784, 300> first(g, "fc1");
  tf::Dense<300, 10> second(g, "fc2");
  auto loss = mean(softmax_cross_entropy(second(relu(first(x))), y));
  auto [dW1, db1, dW2, db2] =
      gradients(loss, first.weights(), first.bias(), second.weights(), second.bias());
  const Run run = simplified(g, dW1, db1, dW2, db2);
  return tf::ir::verify(run.simplified).empty() && count<tf::ops::MatMul>(run) == 2 + 3 &&
         count<tf::ops::ReluGradient>(run) == 1 && count<tf::ops::Log>(run) == 0 &&
         count<tf::ops::Exp>(run) == 1;
}
static_assert(holds<only_what_is_asked_for_is_computed>());

constexpr bool broadcasting_is_summed_away(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 4>(g, "x");
  auto row = tf::variable<float, 4>(g, "row");
  auto column = tf::variable<float, 3, 1>(g, "column");
  auto scalar = tf::variable<float>(g, "scalar");
  auto [da, db, dc] = gradients(sum(x * row * column * scalar), row, column, scalar);
  static_assert(is_tensor<decltype(da), float, 4>);
  static_assert(is_tensor<decltype(db), float, 3, 1>);
  static_assert(is_tensor<decltype(dc), float>);
  return records(g).dims_of(da.id()) == row.type.dims &&
         records(g).dims_of(db.id()) == column.type.dims &&
         records(g).dims_of(dc.id()) == scalar.type.dims;
}
static_assert(holds<broadcasting_is_summed_away>());

constexpr bool parts_add_up_where_a_tensor_has_several_uses(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  auto y = exp(x) + x * x;  // x thrice: two additions of parts
  const int before = count<tf::ops::Add>(g);
  auto dx = gradients(sum(y), x);
  return count<tf::ops::Add>(g) - before == 2 && is_tensor<decltype(dx), float, 3>;
}
static_assert(holds<parts_add_up_where_a_tensor_has_several_uses>());

constexpr bool gradients_have_gradients(tf::Graph& g) {
  auto x = tf::variable<double, 3>(g, "x");
  auto first = gradients(sum(x * x * exp(x)), x);
  auto second = gradients(sum(first), x);
  auto third = gradients(sum(second), x);
  static_assert(is_tensor<decltype(third), double, 3>);
  return records(g).type_of(third.id()) == x.type;
}
static_assert(holds<gradients_have_gradients>());

constexpr bool ys_may_be_several_and_weighted(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto W = tf::variable<float, 3, 4>(g, "W");
  auto y = matmul(x, W);
  auto a = sum(y);
  auto b = mean(square(W));
  auto dy = tf::placeholder<float, tf::batch, 4>(g, "dy");
  auto da = tf::constant<float>(g, 2);
  static_assert(is_tensor<decltype(gradients(ys(a, b), W)), float, 3, 4>);
  static_assert(is_tensor<decltype(gradients(y, grad_ys(dy), W)), float, 3, 4>);
  static_assert(is_tensor<decltype(gradients(ys(a, y), grad_ys(da, dy), W)), float, 3, 4>);
  auto [dx, dW] = gradients(ys(a, y), grad_ys(da, dy), x, W);
  static_assert(is_tensor<decltype(dx), float, tf::batch, 3>);
  static_assert(is_tensor<decltype(dW), float, 3, 4>);
  gradients(ys(a, b), W).named("dW");
  return records(g).type_of(dW.id()) == W.type;
}
static_assert(holds<ys_may_be_several_and_weighted>());

constexpr bool nothing_flows_through_stop_gradient(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  auto loss = sum(x * stop_gradient(exp(x)));
  auto dx = gradients(loss, x);
  static_assert(is_tensor<decltype(stop_gradient(x)), float, 3>);
  // d(x e)/dx with e held fixed is e, times the gradient of the sum.
  const Run run = simplified(g, dx);
  return tf::ir::verify(run.simplified).empty() && count<tf::ops::Exp>(run) == 1 &&
         count<tf::ops::Mul>(run) == 1;
}
static_assert(holds<nothing_flows_through_stop_gradient>());

constexpr bool gradients_or_zero_gives_zeros(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  auto unused = tf::variable<double, 2, 5>(g, "unused");
  auto [dx, du] = gradients_or_zero(sum(x * x), x, unused);
  static_assert(is_tensor<decltype(dx), float, 3>);
  static_assert(is_tensor<decltype(du), double, 2, 5>);
  return count<tf::ops::BroadcastTo>(g) >= 1 && node_of(du).op->name == "BroadcastTo" &&
         records(g).op_of(records(g).input(node_of(du), 0)).name == "Const";
}
static_assert(holds<gradients_or_zero_gives_zeros>());

constexpr bool casts_between_floating_types_pass_gradients(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  auto dx = gradients(sum(square(tf::cast<double>(x))), x);
  static_assert(is_tensor<decltype(dx), float, 3>);
  return records(g).type_of(dx.id()) == x.type && count<tf::ops::Cast>(g) == 2;
}
static_assert(holds<casts_between_floating_types_pass_gradients>());

// Mistakes that only values can show; a session turns them into compile errors.

constexpr void of_an_unreachable_x(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  tf::Scope in(g, "net");
  auto other = tf::variable<float, 3>(g, "other");
  gradients(sum(x), other);
}
static_assert(mistake<of_an_unreachable_x>().view() ==
              "gradients(y, x): no differentiable path leads from 'net/other' to y");

constexpr void through_stop_gradient(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  gradients(sum(stop_gradient(x)), x);
}
static_assert(contains(mistake<through_stop_gradient>(), "no differentiable path leads from 'x'"));

constexpr void through_a_position(tf::Graph& g) {
  auto x = tf::variable<float, 3, 4>(g, "x");
  gradients(sum(tf::cast<float>(tf::argmax<1>(x))), x);
}
static_assert(contains(mistake<through_a_position>(), "no differentiable path leads from 'x'"));

constexpr void of_no_variable(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  tf::GradientDescent{.rate = 0.1f}.minimize(sum(x));
}
static_assert(
    contains(mistake<of_no_variable>(),
             "minimize(loss): 'Sum' at gradients.cpp:151 depends on no trainable variable"));

constexpr void of_a_list_with_a_stranger(tf::Graph& g) {
  auto x = tf::variable<float, 3>(g, "x");
  tf::variable<float, 3>(g, "stranger");
  tf::GradientDescent{.rate = 0.1f}.minimize(sum(x), g.trainable());
}
static_assert(contains(mistake<of_a_list_with_a_stranger>(), "leads from 'stranger' to y"));
