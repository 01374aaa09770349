// SPDX-License-Identifier: Apache-2.0

// reshape, transpose, extent, and reductions with and without kept axes.

#include "support.hpp"

constexpr bool reshape_keeps_the_elements(tf::Graph& g) {
  auto x = tf::placeholder<float, 6, 4>(g, "x");
  static_assert(is_tensor<decltype(tf::reshape<24>(x)), float, 24>);
  static_assert(is_tensor<decltype(tf::reshape<2, 3, 4, 1>(x)), float, 2, 3, 4, 1>);
  auto one = tf::placeholder<float, 1, 1>(g, "one");
  static_assert(is_tensor<decltype(tf::reshape<>(one)), float>);
  tf::reshape<2, 3, 4, 1>(x).named("y");
  tf::reshape<>(one).named("scalar");
  // Of the shape that a tensor has, it is the tensor.
  return tf::reshape<6, 4>(x).id() == x.id();
}
static_assert(holds<reshape_keeps_the_elements>());

constexpr bool reshape_moves_factors_of_batch(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 28, 28>(g, "x");
  auto x4 = tf::placeholder<float, 4 * tf::batch, 10>(g, "x4");
  static_assert(is_tensor<decltype(tf::reshape<tf::batch, 784>(x)), float, tf::batch, 784>);
  static_assert(is_tensor<decltype(tf::reshape<784 * tf::batch>(x)), float, 784 * tf::batch>);
  static_assert(is_tensor<decltype(tf::reshape<4, tf::batch, 10>(x4)), float, 4, tf::batch, 10>);
  static_assert(is_tensor<decltype(tf::reshape<2 * tf::batch, 20>(x4)), float, 2 * tf::batch, 20>);
  tf::reshape<784 * tf::batch>(x).named("flat");
  tf::reshape<4, tf::batch, 10>(x4).named("parts");
  return tf::Extent{4 * tf::batch} == -4;
}
static_assert(holds<reshape_moves_factors_of_batch>());

constexpr bool transpose_permutes_axes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 4>(g, "x");
  static_assert(is_tensor<decltype(transpose(x)), float, 4, 3, tf::batch>);
  static_assert(is_tensor<decltype(tf::transpose<0, 2, 1>(x)), float, tf::batch, 4, 3>);
  static_assert(is_tensor<decltype(tf::transpose<2, 0, 1>(x)), float, 4, tf::batch, 3>);
  auto y = tf::transpose<2, 0, 1>(x);
  auto dx = gradients(sum(y * y), x);
  static_assert(is_tensor<decltype(dx), float, tf::batch, 3, 4>);
  return tf::extent<0>(y) == 4 && tf::extent<-1>(y) == 3 && tf::extent<1>(y) == -1;
}
static_assert(holds<transpose_permutes_axes>());

constexpr bool reductions_drop_axes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 4>(g, "x");
  static_assert(is_tensor<decltype(sum(x)), float>);
  static_assert(is_tensor<decltype(tf::sum<0>(x)), float, 3, 4>);
  static_assert(is_tensor<decltype(tf::mean<1>(x)), float, tf::batch, 4>);
  static_assert(is_tensor<decltype(tf::max<-1>(x)), float, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::min<0, 2>(x)), float, 3>);
  static_assert(is_tensor<decltype(tf::sum<-1, -2, -3>(x)), float>);
  (tf::sum<0>(x) + tf::reshape<3, 1>(tf::min<0, 2>(x))).named("a");
  (sum(tf::mean<1>(x)) + sum(tf::max<-1>(x))).named("b");
  return true;
}
static_assert(holds<reductions_drop_axes>());

constexpr bool reductions_keep_axes_on_demand(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 4>(g, "x");
  static_assert(is_tensor<decltype(sum(x, tf::keep_dims)), float, 1, 1, 1>);
  static_assert(is_tensor<decltype(tf::sum<1>(x, tf::keep_dims)), float, tf::batch, 1, 4>);
  static_assert(is_tensor<decltype(tf::mean<0>(x, tf::keep_dims)), float, 1, 3, 4>);
  static_assert(is_tensor<decltype(tf::max<-1>(x, tf::keep_dims)), float, tf::batch, 3, 1>);
  static_assert(is_tensor<decltype(tf::min<0, 1>(x, tf::keep_dims)), float, 1, 1, 4>);
  static_assert(
      is_tensor<decltype(tf::argmax<1>(x, tf::keep_dims)), std::int32_t, tf::batch, 1, 4>);
  // A kept axis broadcasts back: x without its mean.
  auto centred = x - tf::mean<-1>(x, tf::keep_dims);
  static_assert(is_tensor<decltype(centred), float, tf::batch, 3, 4>);
  tf::argmax<1>(x, tf::keep_dims).named("best");
  return true;
}
static_assert(holds<reductions_keep_axes_on_demand>());

constexpr bool extremes_have_positions(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 10>(g, "x");
  auto n = tf::placeholder<std::uint8_t, 5>(g, "n");
  static_assert(is_tensor<decltype(tf::argmax<1>(x)), std::int32_t, tf::batch>);
  static_assert(is_tensor<decltype(tf::argmin<-1>(x)), std::int32_t, tf::batch>);
  static_assert(is_tensor<decltype(tf::argmax<0>(n)), std::int32_t>);
  static_assert(is_tensor<decltype(max(n)), std::uint8_t>);
  static_assert(is_tensor<decltype(sum(n)), std::uint8_t>);
  auto hits = equal(tf::argmax<1>(x), tf::argmin<1>(x));
  auto accuracy = mean(tf::cast<float>(hits));
  static_assert(is_tensor<decltype(accuracy), float>);
  (max(n) + sum(n)).named("integers");
  tf::argmax<0>(n).named("position");
  return true;
}
static_assert(holds<extremes_have_positions>());
