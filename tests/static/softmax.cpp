// SPDX-License-Identifier: Apache-2.0

// Shapes of softmax, log_softmax and cross entropies, and what becomes of log(softmax(x)).

#include "support.hpp"

constexpr bool softmax_keeps_the_shape(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
  auto d = tf::placeholder<double, 2, 3, 4>(g, "d");
  static_assert(is_tensor<decltype(softmax(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(log_softmax(x)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(tf::softmax<1>(d)), double, 2, 3, 4>);
  static_assert(is_tensor<decltype(tf::log_softmax<-3>(d)), double, 2, 3, 4>);
  auto last = softmax(d);
  auto first = tf::log_softmax<-3>(d);
  return tf::decode<tf::ops::Softmax>(g, node_of(last)).axis == 2 &&
         tf::decode<tf::ops::LogSoftmax>(g, node_of(first)).axis == 0;
}
static_assert(holds<softmax_keeps_the_shape>());

// The cross entropy as the book prints it stays finite: no logarithm of a softmax is taken.
constexpr bool log_of_softmax_is_log_softmax(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto p = softmax(x);
  auto loss = mean(-tf::sum<1>(y * log(p)));
  static_assert(is_tensor<decltype(loss), float>);
  return count<tf::ops::Log>(g) == 0 && count<tf::ops::LogSoftmax>(g) == 1 &&
         node_of(log(p)).op->name == "LogSoftmax" && records(g).input(node_of(log(p)), 0) == x.id();
}
static_assert(holds<log_of_softmax_is_log_softmax>());

constexpr bool cross_entropy_drops_the_last_axis(tf::Graph& g) {
  auto logits = tf::placeholder<float, tf::batch, 10>(g, "logits");
  auto words = tf::placeholder<double, 20, 35, 1000>(g, "words");
  auto vector = tf::placeholder<float, 10>(g, "vector");
  auto dense = tf::placeholder<float, tf::batch, 10>(g, "dense");
  auto classes = tf::placeholder<std::int32_t, tf::batch>(g, "classes");
  auto bytes = tf::placeholder<std::uint8_t, tf::batch>(g, "bytes");
  auto targets = tf::placeholder<std::int64_t, 20, 35>(g, "targets");
  auto label = tf::placeholder<std::int32_t>(g, "label");
  static_assert(is_tensor<decltype(softmax_cross_entropy(logits, dense)), float, tf::batch>);
  static_assert(is_tensor<decltype(softmax_cross_entropy(logits, classes)), float, tf::batch>);
  static_assert(is_tensor<decltype(softmax_cross_entropy(logits, bytes)), float, tf::batch>);
  static_assert(is_tensor<decltype(softmax_cross_entropy(words, targets)), double, 20, 35>);
  static_assert(is_tensor<decltype(softmax_cross_entropy(vector, label)), float>);
  softmax_cross_entropy(logits, dense).named("a");
  softmax_cross_entropy(logits, bytes).named("b");
  softmax_cross_entropy(words, targets).named("c");
  softmax_cross_entropy(vector, label).named("d");
  return count<tf::ops::SoftmaxCrossEntropy>(g) == 1 &&
         count<tf::ops::SparseSoftmaxCrossEntropy>(g) == 3;
}
static_assert(holds<cross_entropy_drops_the_last_axis>());

constexpr bool cross_entropy_has_gradients(tf::Graph& g) {
  auto logits = tf::placeholder<float, tf::batch, 10>(g, "logits");
  auto dense = tf::placeholder<float, tf::batch, 10>(g, "dense");
  auto classes = tf::placeholder<std::int32_t, tf::batch>(g, "classes");
  auto [dx, dy] = gradients(mean(softmax_cross_entropy(logits, dense)), logits, dense);
  auto ds = gradients(mean(softmax_cross_entropy(logits, classes)), logits);
  static_assert(is_tensor<decltype(dx), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(dy), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(ds), float, tf::batch, 10>);
  // softmax(x) - y for the logits, -log_softmax(x) for the labels; no logarithm.
  return count<tf::ops::Softmax>(g) == 2 && count<tf::ops::LogSoftmax>(g) == 1 &&
         count<tf::ops::Log>(g) == 0;
}
static_assert(holds<cross_entropy_has_gradients>());
