// SPDX-License-Identifier: Apache-2.0

// Types and shapes of elementwise operations: broadcasting, numbers, functions, comparisons, cast.

#include "support.hpp"

constexpr bool arithmetic_broadcasts(tf::Graph& g) {
  auto matrix = tf::placeholder<float, 3, 4>(g, "matrix");
  auto row = tf::placeholder<float, 4>(g, "row");
  auto column = tf::placeholder<float, 3, 1>(g, "column");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto one = tf::placeholder<float, 1>(g, "one");
  auto empty = tf::placeholder<float, 0, 4>(g, "empty");
  static_assert(is_tensor<decltype(matrix + matrix), float, 3, 4>);
  static_assert(is_tensor<decltype(matrix - row), float, 3, 4>);
  static_assert(is_tensor<decltype(row * matrix), float, 3, 4>);
  static_assert(is_tensor<decltype(matrix / scalar), float, 3, 4>);
  static_assert(is_tensor<decltype(column + row), float, 3, 4>);  // both operands grow
  static_assert(is_tensor<decltype(scalar * one), float, 1>);
  static_assert(is_tensor<decltype(scalar - scalar), float>);
  static_assert(is_tensor<decltype(empty + row), float, 0, 4>);
  static_assert(is_tensor<decltype(-matrix), float, 3, 4>);
  auto y = (column + row) * matrix / scalar - one;
  return records(g).type_of(y.id()) == tf::Type(tf::DType::float32, tf::Dims{2, {3, 4}}) &&
         count<tf::ops::Add>(g) == 1 && count<tf::ops::Mul>(g) == 1 &&
         count<tf::ops::Div>(g) == 1 && count<tf::ops::Sub>(g) == 1;
}
static_assert(holds<arithmetic_broadcasts>());

constexpr bool batch_broadcasts_with_one_alone(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
  auto per_row = tf::placeholder<float, tf::batch, 1>(g, "per_row");
  auto quadruple = tf::placeholder<float, 4 * tf::batch>(g, "quadruple");
  auto b = tf::placeholder<float, 10>(g, "b");
  static_assert(is_tensor<decltype(x + b), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(per_row * b), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(quadruple + 1), float, 4 * tf::batch>);
  (x + b).named("sum");
  (per_row * b).named("product");
  return !tf::broadcast(tf::Dims{1, {tf::batch}}, tf::Dims{1, {2 * tf::batch}}).valid() &&
         !tf::broadcast(tf::Dims{1, {tf::batch}}, tf::Dims{1, {100}}).valid();
}
static_assert(holds<batch_broadcasts_with_one_alone>());

constexpr bool numbers_take_the_element_type(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto d = tf::placeholder<double, 3>(g, "d");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  static_assert(is_tensor<decltype(2 * x), float, 3>);
  static_assert(is_tensor<decltype(x + 0.1), float, 3>);
  static_assert(is_tensor<decltype(1.5f - d), double, 3>);
  static_assert(is_tensor<decltype(n / 2), std::int32_t, 3>);
  // 0.1 is rounded to float, and the same number is one node.
  auto y = x + 0.1;
  auto z = x * 0.1f;
  const tf::Id number = records(g).input(node_of(y), 1);
  return records(g).input(node_of(z), 1) == number &&
         records(g).type_of(number) == tf::Expr<float>::type &&
         tf::decode<tf::ops::Constant>(g, records(g).node_of(number))
                 .number(tf::DType::float32)
                 .real == static_cast<double>(0.1f);
}
static_assert(holds<numbers_take_the_element_type>());

constexpr bool one_operation_serves_all_element_types(tf::Graph& g) {
  auto f = tf::placeholder<float, 2>(g, "f");
  auto d = tf::placeholder<double, 2>(g, "d");
  auto i = tf::placeholder<std::int32_t, 2>(g, "i");
  auto l = tf::placeholder<std::int64_t, 2>(g, "l");
  auto u = tf::placeholder<std::uint8_t, 2>(g, "u");
  static_assert(is_tensor<decltype(d + d), double, 2>);
  static_assert(is_tensor<decltype(l * l), std::int64_t, 2>);
  static_assert(is_tensor<decltype(u - u), std::uint8_t, 2>);
  auto a = f + f;
  auto b = i + i;
  return node_of(a).op == node_of(b).op;
}
static_assert(holds<one_operation_serves_all_element_types>());

constexpr bool functions_keep_type_and_shape(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
  auto d = tf::placeholder<double>(g, "d");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  static_assert(is_tensor<decltype(exp(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(log(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(sqrt(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(square(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(abs(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(neg(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(relu(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(sigmoid(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(tanh(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(softplus(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(maximum(x, 0)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(minimum(0.5, x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(exp(d)), double>);
  static_assert(is_tensor<decltype(square(n)), std::int32_t, 3>);
  static_assert(is_tensor<decltype(abs(n)), std::int32_t, 3>);
  auto y = exp(log(sqrt(square(abs(neg(relu(sigmoid(tanh(softplus(x))))))))));
  maximum(y, 0).named("larger");
  minimum(0.5, y).named("smaller");
  abs(square(n)).named("integers");
  exp(d).named("double");
  return node_of(y).op->name == "Exp";
}
static_assert(holds<functions_keep_type_and_shape>());

constexpr bool comparisons_are_boolean(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 1>(g, "x");
  auto y = tf::placeholder<float, 4>(g, "y");
  auto n = tf::placeholder<std::int64_t, 3>(g, "n");
  auto p = tf::placeholder<bool, 3, 4>(g, "p");
  static_assert(is_tensor<decltype(equal(x, y)), bool, 3, 4>);
  static_assert(is_tensor<decltype(not_equal(x, 0)), bool, 3, 1>);
  static_assert(is_tensor<decltype(less(x, y)), bool, 3, 4>);
  static_assert(is_tensor<decltype(less_equal(0.5, y)), bool, 4>);
  static_assert(is_tensor<decltype(greater(n, 2)), bool, 3>);
  static_assert(is_tensor<decltype(greater_equal(n, n)), bool, 3>);
  static_assert(is_tensor<decltype(equal(p, p)), bool, 3, 4>);
  static_assert(is_tensor<decltype(logical_and(p, less(x, y))), bool, 3, 4>);
  static_assert(is_tensor<decltype(logical_or(p, p)), bool, 3, 4>);
  static_assert(is_tensor<decltype(logical_not(p)), bool, 3, 4>);
  logical_not(logical_or(logical_and(p, less(x, y)), equal(x, y))).named("q");
  greater_equal(n, 2).named("r");
  return true;
}
static_assert(holds<comparisons_are_boolean>());

constexpr bool where_broadcasts_its_three_operands(tf::Graph& g) {
  auto condition = tf::placeholder<bool, 3, 1>(g, "condition");
  auto x = tf::placeholder<float, 4>(g, "x");
  auto n = tf::placeholder<std::int32_t, 2, 1, 1>(g, "n");
  static_assert(is_tensor<decltype(where(condition, x, 0)), float, 3, 4>);
  static_assert(is_tensor<decltype(where(condition, 1.5, x)), float, 3, 4>);
  static_assert(is_tensor<decltype(where(condition, n, n)), std::int32_t, 2, 3, 1>);
  auto y = where(condition, x, 0);
  where(condition, n, n).named("m");
  return records(g).dtype_of(records(g).input(node_of(y), 0)) == tf::DType::boolean;
}
static_assert(holds<where_broadcasts_its_three_operands>());

constexpr bool cast_changes_the_element_type_alone(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  static_assert(is_tensor<decltype(tf::cast<double>(x)), double, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::cast<std::int32_t>(x)), std::int32_t, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::cast<std::int64_t>(x)), std::int64_t, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::cast<std::uint8_t>(x)), std::uint8_t, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::cast<bool>(x)), bool, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::cast<float>(tf::cast<bool>(x))), float, tf::batch, 3>);
  tf::cast<float>(tf::cast<bool>(x)).named("y");
  // A cast to the type that a tensor has is the tensor.
  return tf::cast<float>(x).id() == x.id() && count<tf::ops::Cast>(g) == 2;
}
static_assert(holds<cast_changes_the_element_type_alone>());

constexpr bool constants_have_their_shape(tf::Graph& g) {
  auto three = tf::constant<float>(g, 3);
  auto table = tf::constant<std::int32_t, 2, 2>(g, {1, 2, 3, 4});
  static_assert(is_tensor<decltype(three), float>);
  static_assert(is_tensor<decltype(table), std::int32_t, 2, 2>);
  (tf::cast<float>(table) * three).named("y");
  return tf::constant<float>(g, 3).id() == three.id();
}
static_assert(holds<constants_have_their_shape>());

constexpr bool a_placeholder_may_have_a_default(tf::Graph& g) {
  auto rate = tf::placeholder<float>(g, "rate", 0.1f);
  auto fed = tf::placeholder<float>(g, "fed");
  static_assert(is_tensor<decltype(rate), float>);
  return tf::decode<tf::ops::Placeholder>(g, node_of(rate)).has_default == 1 &&
         tf::decode<tf::ops::Placeholder>(g, node_of(fed)).has_default == 0;
}
static_assert(holds<a_placeholder_may_have_a_default>());
