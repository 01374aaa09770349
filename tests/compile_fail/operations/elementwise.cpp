// SPDX-License-Identifier: Apache-2.0

// Wrong calls of elementwise functions, each with what the compiler says about it.

#include "typeflow/bits.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/special_functions.hpp"
#include "typeflow/statistics.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto y = tf::placeholder<float, 2>(g, "y");
  auto d = tf::placeholder<double, 3>(g, "d");
  auto i = tf::placeholder<std::int32_t, 3>(g, "i");
  auto j = tf::placeholder<std::int32_t, 2>(g, "j");
  auto t = tf::placeholder<bool, 3>(g, "t");
  (x + 1).named("right");
#ifndef CORRECTED
  // clang-format off
  x + d;  // error: a + b: the element types must be equal; convert with cast<T>(x)
  x - y;  // error: a - b: the shapes do not broadcast
  i * 0.5;  // error: a * b: a floating-point number does not fit an integer tensor; use cast<T>(x)
  x / i;  // error: a / b: the element types must be equal; convert with cast<T>(x)
  neg(t);  // error: neg(x): x must be a tensor of numbers
  abs(t);  // error: abs(x): x must be a tensor of real numbers; of complex ones it is complex_abs(x)
  square(t);  // error: square(x): x must be a tensor of numbers
  sign(t);  // error: sign(x): x must be a tensor of numbers that have an order
  exp(i);  // error: exp(x): x must be floating-point; convert with cast<float>(x)
  expm1(i);  // error: expm1(x): x must be floating-point; convert with cast<float>(x)
  log(i);  // error: log(x): x must be floating-point; convert with cast<float>(x)
  log1p(i);  // error: log1p(x): x must be floating-point; convert with cast<float>(x)
  sqrt(i);  // error: sqrt(x): x must be floating-point; convert with cast<float>(x)
  rsqrt(i);  // error: rsqrt(x): x must be floating-point; convert with cast<float>(x)
  reciprocal(i);  // error: reciprocal(x): x must be floating-point; convert with cast<float>(x)
  sin(i);  // error: sin(x): x must be floating-point; convert with cast<float>(x)
  cos(i);  // error: cos(x): x must be floating-point; convert with cast<float>(x)
  tan(i);  // error: tan(x): x must be floating-point; convert with cast<float>(x)
  asin(i);  // error: asin(x): x must be floating-point; convert with cast<float>(x)
  acos(i);  // error: acos(x): x must be floating-point; convert with cast<float>(x)
  atan(i);  // error: atan(x): x must be floating-point; convert with cast<float>(x)
  sinh(i);  // error: sinh(x): x must be floating-point; convert with cast<float>(x)
  cosh(i);  // error: cosh(x): x must be floating-point; convert with cast<float>(x)
  asinh(i);  // error: asinh(x): x must be floating-point; convert with cast<float>(x)
  acosh(i);  // error: acosh(x): x must be floating-point; convert with cast<float>(x)
  atanh(i);  // error: atanh(x): x must be floating-point; convert with cast<float>(x)
  sigmoid(i);  // error: sigmoid(x): x must be floating-point; convert with cast<float>(x)
  tanh(i);  // error: tanh(x): x must be floating-point; convert with cast<float>(x)
  relu(t);  // error: relu(x): x must be a tensor of real numbers
  relu6(t);  // error: relu6(x): x must be a tensor of numbers that have an order
  leaky_relu(i);  // error: leaky_relu(x, slope): x must be floating-point; convert with cast<float>(x)
  elu(i);  // error: elu(x): x must be floating-point; convert with cast<float>(x)
  softplus(i);  // error: softplus(x): x must be floating-point; convert with cast<float>(x)
  floor(i);  // error: floor(x): x must be floating-point; integers are whole
  ceil(i);  // error: ceil(x): x must be floating-point; integers are whole
  round(i);  // error: round(x): x must be floating-point; integers are whole
  is_nan(i);  // error: is_nan(x): x must be floating-point; integers are never NaN
  is_inf(i);  // error: is_inf(x): x must be floating-point; integers are never infinite
  is_finite(i);  // error: is_finite(x): x must be floating-point; integers are always finite
  check_numerics(i);  // error: check_numerics(x): x must be floating-point; integers are always finite
  erfc(i);  // error: erfc(x): x must be floating-point; convert with cast<float>(x)
  erfinv(i);  // error: erfinv(x): x must be floating-point; convert with cast<float>(x)
  bessel_i0(i);  // error: bessel_i0(x): x must be floating-point; convert with cast<float>(x)
  bessel_i1(i);  // error: bessel_i1(x): x must be floating-point; convert with cast<float>(x)
  bessel_i0e(i);  // error: bessel_i0e(x): x must be floating-point; convert with cast<float>(x)
  bessel_i1e(i);  // error: bessel_i1e(x): x must be floating-point; convert with cast<float>(x)
  tf::polygamma<2>(i);  // error: polygamma<n>(x): x must be floating-point; convert with cast<float>(x)
  tf::polygamma<-1>(x);  // error: polygamma<n>(x): n must be from 0 to 100
  erf(i);  // error: erf(x): x must be floating-point; convert with cast<float>(x)
  lgamma(i);  // error: lgamma(x): x must be floating-point; convert with cast<float>(x)
  digamma(i);  // error: digamma(x): x must be floating-point; convert with cast<float>(x)
  trigamma(i);  // error: trigamma(x): x must be floating-point; convert with cast<float>(x)
  igamma(i, i);  // error: igamma(a, x): a and x must be floating-point; convert with cast<float>(x)
  igamma(x, y);  // error: igamma(a, x): the shapes do not broadcast
  igamma(x, d);  // error: igamma(a, x): the element types must be equal; convert with cast<T>(x)
  igammac(i, i);  // error: igammac(a, x): a and x must be floating-point; convert with cast<float>(x)
  igammac(x, y);  // error: igammac(a, x): the shapes do not broadcast
  igammac(x, d);  // error: igammac(a, x): the element types must be equal; convert with cast<T>(x)
  betainc(i, i, i);  // error: betainc(a, b, x): a, b and x must be floating-point; convert with cast<float>(x)
  betainc(x, x, y);  // error: betainc(a, b, x): the shapes do not broadcast
  betainc(x, x, d);  // error: betainc(a, b, x): the element types must be equal; convert with cast<T>(x)
  igammainv(i, i);  // error: igammainv(a, p): a and p must be floating-point; convert with cast<float>(p)
  igammainv(x, y);  // error: igammainv(a, p): the shapes do not broadcast
  igammainv(x, d);  // error: igammainv(a, p): the element types must be equal; convert with cast<T>(p)
  igammacinv(i, i);  // error: igammacinv(a, q): a and q must be floating-point; convert with cast<float>(q)
  igammacinv(x, y);  // error: igammacinv(a, q): the shapes do not broadcast
  igammacinv(x, d);  // error: igammacinv(a, q): the element types must be equal; convert with cast<T>(q)
  betaincinv(i, i, i);  // error: betaincinv(a, b, p): a, b and p must be floating-point; convert with cast<float>(p)
  betaincinv(x, x, y);  // error: betaincinv(a, b, p): the shapes do not broadcast
  betaincinv(x, x, d);  // error: betaincinv(a, b, p): the element types must be equal; convert with cast<T>(p)
  floordiv(x, d);  // error: floordiv(a, b): the element types must be equal; convert with cast<T>(x)
  floordiv(i, 0.5);  // error: floordiv(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  floordiv(x, y);  // error: floordiv(a, b): the shapes do not broadcast
  floordiv(t, t);  // error: floordiv(a, b): a and b must be tensors of numbers that have an order
  zeta(i, i);  // error: zeta(x, q): x and q must be floating-point; convert with cast<float>(x)
  zeta(x, y);  // error: zeta(x, q): the shapes do not broadcast
  zeta(x, d);  // error: zeta(x, q): the element types must be equal; convert with cast<T>(x)
  lbeta(i);  // error: lbeta(x): x must be floating-point; convert with cast<float>(x)
  div_no_nan(x, d);  // error: div_no_nan(x, y): the element types must be equal; convert with cast<T>(x)
  div_no_nan(x, y);  // error: div_no_nan(x, y): the shapes do not broadcast
  div_no_nan(i, i);  // error: div_no_nan(x, y): x and y must be floating-point or complex; integers divided by 0 are 0 anyway
  truncatemod(x, d);  // error: truncatemod(a, b): the element types must be equal; convert with cast<T>(x)
  truncatemod(i, 0.5);  // error: truncatemod(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  truncatemod(x, y);  // error: truncatemod(a, b): the shapes do not broadcast
  truncatemod(t, t);  // error: truncatemod(a, b): a and b must be tensors of numbers that have an order
  approximate_equal(x, d);  // error: approximate_equal(a, b): the element types must be equal; convert with cast<T>(x)
  approximate_equal(x, y);  // error: approximate_equal(a, b): the shapes do not broadcast
  approximate_equal(i, i);  // error: approximate_equal(a, b): a and b must be floating-point; compare integers with equal(a, b)
  crelu(t);  // error: crelu(x): x must be a tensor of numbers that have an order
  tf::crelu<1>(x);  // error: crelu<axis>(x): x has no such axis
  mod(x, d);  // error: mod(a, b): the element types must be equal; convert with cast<T>(x)
  mod(i, 0.5);  // error: mod(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  mod(x, y);  // error: mod(a, b): the shapes do not broadcast
  mod(t, t);  // error: mod(a, b): a and b must be tensors of numbers that have an order
  pow(x, d);  // error: pow(a, b): the element types must be equal; convert with cast<T>(x)
  pow(i, 0.5);  // error: pow(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  pow(x, y);  // error: pow(a, b): the shapes do not broadcast
  pow(t, t);  // error: pow(a, b): a and b must be tensors of numbers that have an order
  atan2(x, d);  // error: atan2(y, x): the element types must be equal; convert with cast<T>(x)
  atan2(x, y);  // error: atan2(y, x): the shapes do not broadcast
  atan2(i, i);  // error: atan2(y, x): y and x must be floating-point; convert with cast<float>(x)
  maximum(x, d);  // error: maximum(a, b): the element types must be equal; convert with cast<T>(x)
  maximum(i, 0.5);  // error: maximum(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  maximum(x, y);  // error: maximum(a, b): the shapes do not broadcast
  maximum(t, t);  // error: maximum(a, b): a and b must be tensors of numbers that have an order
  minimum(x, d);  // error: minimum(a, b): the element types must be equal; convert with cast<T>(x)
  minimum(i, 0.5);  // error: minimum(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  minimum(x, y);  // error: minimum(a, b): the shapes do not broadcast
  minimum(t, t);  // error: minimum(a, b): a and b must be tensors of numbers that have an order
  squared_difference(x, d);  // error: squared_difference(a, b): the element types must be equal; convert with cast<T>(x)
  squared_difference(i, 0.5);  // error: squared_difference(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  squared_difference(x, y);  // error: squared_difference(a, b): the shapes do not broadcast
  clip_by_value(x, d, 1);  // error: clip_by_value(x, low, high): the element types must be equal; convert with cast<T>(x)
  clip_by_value(i, 0.5, 1);  // error: clip_by_value(x, low, high): a floating-point number does not fit an integer tensor; use cast<T>(x)
  clip_by_value(x, y, 1);  // error: clip_by_value(x, low, high): the shapes do not broadcast
  add_n(x, d);  // error: add_n(x...): the tensors must have one element type and one shape
  add_n(x, x, y);  // error: add_n(x...): the tensors must have one element type and one shape
  equal(x, d);  // error: equal(a, b): the element types must be equal; convert with cast<T>(x)
  not_equal(x, y);  // error: not_equal(a, b): the shapes do not broadcast
  less(i, 0.5f);  // error: less(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)
  less_equal(x, d);  // error: less_equal(a, b): the element types must be equal; convert with cast<T>(x)
  greater(x, y);  // error: greater(a, b): the shapes do not broadcast
  greater_equal(x, d);  // error: greater_equal(a, b): the element types must be equal; convert with cast<T>(x)
  (void)(x == x);  // error: a == b does not compare tensors: use equal(a, b)
  (void)(x != 1.0f);  // error: a != b does not compare tensors: use not_equal(a, b)
  (void)(x < x);  // error: a < b does not compare tensors: use less(a, b)
  (void)(1.0f <= x);  // error: a <= b does not compare tensors: use less_equal(a, b)
  (void)(x > 0);  // error: a > b does not compare tensors: use greater(a, b)
  (void)(x >= x);  // error: a >= b does not compare tensors: use greater_equal(a, b)
  (void)(t && t);  // error: a tensor is not a condition, its value is known only in a run: use cond(x, f, g) or where(x, a, b), logical_and(x, y)
  (void)(!x);  // error: a tensor is not a condition
  (void)static_cast<float>(d);  // error: a tensor is not a number
  logical_and(x, x);  // error: logical_and(a, b): a and b must be boolean tensors
  logical_or(x, x);  // error: logical_or(a, b): a and b must be boolean tensors
  bitwise_and(x, x);  // error: bitwise_and(a, b): a and b must be integers; of booleans it is logical_and(a, b)
  bitwise_or(x, x);  // error: bitwise_or(a, b): a and b must be integers; of booleans it is logical_or(a, b)
  bitwise_xor(x, x);  // error: bitwise_xor(a, b): a and b must be integers; of booleans it is logical_xor(a, b)
  bitwise_and(i, x);  // error: bitwise_and(a, b): the element types must be equal; convert with cast<T>(x)
  bitwise_or(i, j);  // error: bitwise_or(a, b): the shapes do not broadcast
  invert(t);  // error: invert(x): x must be a tensor of integers; of booleans it is logical_not(x)
  left_shift(x, 1);  // error: left_shift(a, count): a and count must be integers
  left_shift(i, j);  // error: left_shift(a, count): the shapes do not broadcast
  right_shift(i, 0.5);  // error: right_shift(a, count): a and count must be integers
  right_shift(i, x);  // error: right_shift(a, count): the element types must be equal; convert with cast<T>(x)
  logical_xor(x, x);  // error: logical_xor(a, b): a and b must be boolean tensors
  logical_not(x);  // error: logical_not(x): x must be a boolean tensor
  where(x, x, x);  // error: where(condition, a, b): the condition must be a boolean tensor
  where(t, x, d);  // error: where(condition, a, b): the element types of a and b must be equal; convert with cast<T>(x)
  where(t, x, y);  // error: where(condition, a, b): the shapes do not broadcast
  tf::bitcast<bool>(x);  // error: bitcast<T>(x): neither T nor x can be boolean; use cast<T>(x)
  tf::bitcast<std::uint8_t>(t);  // error: bitcast<T>(x): neither T nor x can be boolean; use cast<T>(x)
  tf::bitcast<double>(x);  // error: bitcast<T>(x): T is larger than x's elements: x's last axis must hold as many of them as make one T
  selu(i);  // error: selu(x): x must be floating-point; convert with cast<float>(x)
  gelu(i);  // error: gelu(x): x must be floating-point; convert with cast<float>(x)
  silu(i);  // error: silu(x): x must be floating-point; convert with cast<float>(x)
  mish(i);  // error: mish(x): x must be floating-point; convert with cast<float>(x)
  softsign(i);  // error: softsign(x): x must be floating-point; convert with cast<float>(x)
  log_sigmoid(i);  // error: log_sigmoid(x): x must be floating-point; convert with cast<float>(x)
  hard_sigmoid(i);  // error: hard_sigmoid(x): x must be floating-point; convert with cast<float>(x)
  hard_swish(i);  // error: hard_swish(x): x must be floating-point; convert with cast<float>(x)
  hard_tanh(i);  // error: hard_tanh(x): x must be floating-point; convert with cast<float>(x)
  gelu(i, tf::tanh_form);  // error: gelu(x, tf::tanh_form): x must be floating-point; convert with cast<float>(x)
  // clang-format on
#endif
}
