// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inception V3 (Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, Rethinking the inception architecture
// for computer vision, 2015) in the form of TensorFlow's slim: batch normalization without gamma in
// the place of biases, a second head in training.

#include <typeflow/losses.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

namespace inception {

namespace tf = typeflow;

inline constexpr int image_size = 299;
inline constexpr auto valid = tf::Padding::valid;

/// A convolution, batch normalization and relu.
template <int Filters, tf::Kernel2d Kernel, int Stride = 1, tf::Padding Padding = tf::Padding::same>
constexpr auto conv(tf::Graph& g, tf::Label name, const auto& x) {
  constexpr tf::ConvOptions<2> settings = {.strides = {Stride, Stride}, .padding = Padding};
  const tf::Scope in(g, name);
  auto y = conv2d<Filters, Kernel, settings>(
      g, "conv", x, {.weights = tf::truncated_normal(0, 0.1), .use_bias = false});
  return relu(batch_norm(g, "norm", y, {.decay = 0.9997, .epsilon = 0.001, .scale = false}));
}
constexpr auto joined(const auto&... branches) { return tf::concat<3>(branches...); }
/// The mean of 3x3 pixels around each, those of the padding not counted.
constexpr auto smooth(const auto& x) { return tf::avg_pool<3, 1, tf::Padding::same>(x); }

/// Mixed_5b to 5d: 35 x 35 pixels.
template <int Pooled>
constexpr auto mixed5(tf::Graph& g, tf::Label name, const auto& x) {
  const tf::Scope in(g, name);
  auto a = conv<64, 1>(g, "a1", x);
  auto b = conv<64, 5>(g, "b2", conv<48, 1>(g, "b1", x));
  auto c = conv<96, 3>(g, "c3", conv<96, 3>(g, "c2", conv<64, 1>(g, "c1", x)));
  auto d = conv<Pooled, 1>(g, "d2", smooth(x));
  return joined(a, b, c, d);
}
/// Mixed_6a: to 17 x 17 pixels.
constexpr auto mixed6a(tf::Graph& g, tf::Label name, const auto& x) {
  const tf::Scope in(g, name);
  auto a = conv<384, 3, 2, valid>(g, "a1", x);
  auto b = conv<96, 3, 2, valid>(g, "b3", conv<96, 3>(g, "b2", conv<64, 1>(g, "b1", x)));
  return joined(a, b, tf::max_pool<3, 2, valid>(x));
}
/// Mixed_6b to 6e: kernels of 7x7 as a row and a column.
template <int Q>
constexpr auto mixed6(tf::Graph& g, tf::Label name, const auto& x) {
  constexpr tf::Kernel2d row{1, 7};
  constexpr tf::Kernel2d column{7, 1};
  const tf::Scope in(g, name);
  auto a = conv<192, 1>(g, "a1", x);
  auto b = conv<192, column>(g, "b3", conv<Q, row>(g, "b2", conv<Q, 1>(g, "b1", x)));
  auto c3 = conv<Q, row>(g, "c3", conv<Q, column>(g, "c2", conv<Q, 1>(g, "c1", x)));
  auto c = conv<192, row>(g, "c5", conv<Q, column>(g, "c4", c3));
  auto d = conv<192, 1>(g, "d2", smooth(x));
  return joined(a, b, c, d);
}
/// Mixed_7a: to 8 x 8 pixels.
constexpr auto mixed7a(tf::Graph& g, tf::Label name, const auto& x) {
  const tf::Scope in(g, name);
  auto a = conv<320, 3, 2, valid>(g, "a2", conv<192, 1>(g, "a1", x));
  auto b2 = conv<192, tf::Kernel2d{1, 7}>(g, "b2", conv<192, 1>(g, "b1", x));
  auto b = conv<192, 3, 2, valid>(g, "b4", conv<192, tf::Kernel2d{7, 1}>(g, "b3", b2));
  return joined(a, b, tf::max_pool<3, 2, valid>(x));
}
/// Mixed_7b and 7c.
constexpr auto mixed7(tf::Graph& g, tf::Label name, const auto& x) {
  constexpr tf::Kernel2d row{1, 3};
  constexpr tf::Kernel2d column{3, 1};
  const tf::Scope in(g, name);
  auto a = conv<320, 1>(g, "a1", x);
  auto b1 = conv<384, 1>(g, "b1", x);
  auto b = joined(conv<384, row>(g, "b2", b1), conv<384, column>(g, "b3", b1));
  auto c2 = conv<384, 3>(g, "c2", conv<448, 1>(g, "c1", x));
  auto c = joined(conv<384, row>(g, "c3", c2), conv<384, column>(g, "c4", c2));
  auto d = conv<192, 1>(g, "d2", smooth(x));
  return joined(a, b, c, d);
}

/// Square images with channels. Those below are the end points of slim's inception_v3_test.py.
template <int Size, int Channels>
using Images = tf::Expr<float, tf::Shape<tf::batch, Size, Size, Channels>>;

/// Images to the logits of a thousand classes, and those of the second head, which helps in
/// training. A model without it calls the first function only.
struct Heads {
  Images<17, 768> middle;
  tf::Expr<float, tf::Shape<tf::batch, 1000>> logits;
};
constexpr Heads heads(tf::Graph& g, const Images<image_size, 3>& images, double keep = 0.8) {
  const tf::Scope defaults(g, "InceptionV3", {.regularizer = tf::l2_regularizer(4e-5)});
  Images<149, 32> h1 = conv<32, 3, 2, valid>(g, "conv_1a", images);
  Images<147, 32> h2a = conv<32, 3, 1, valid>(g, "conv_2a", h1);
  Images<147, 64> h2b = conv<64, 3>(g, "conv_2b", h2a);
  Images<73, 64> h3a = tf::max_pool<3, 2, valid>(h2b);
  Images<73, 80> h3b = conv<80, 1>(g, "conv_3b", h3a);
  Images<71, 192> h4 = conv<192, 3, 1, valid>(g, "conv_4a", h3b);
  Images<35, 192> h5 = tf::max_pool<3, 2, valid>(h4);

  Images<35, 256> m5b = mixed5<32>(g, "mixed_5b", h5);
  Images<35, 288> m5d = mixed5<64>(g, "mixed_5d", mixed5<64>(g, "mixed_5c", m5b));
  Images<17, 768> m6 = mixed6a(g, "mixed_6a", m5d);
  m6 = mixed6<128>(g, "mixed_6b", m6);
  m6 = mixed6<160>(g, "mixed_6c", m6);
  m6 = mixed6<160>(g, "mixed_6d", m6);
  m6 = mixed6<192>(g, "mixed_6e", m6);
  Images<8, 1280> m7a = mixed7a(g, "mixed_7a", m6);
  Images<8, 2048> m7b = mixed7(g, "mixed_7b", m7a);
  Images<8, 2048> m7c = mixed7(g, "mixed_7c", m7b);

  auto features = dropout(tf::mean<1, 2>(m7c), {.keep = keep});
  return {m6, dense<1000>(g, "logits", features, {.weights = tf::truncated_normal(0, 0.1)})};
}
/// The logits of the second head, on top of mixed_6e.
constexpr auto second_head(tf::Graph& g, const auto& middle) {
  const tf::Scope in(g, "AuxLogits", {.regularizer = tf::l2_regularizer(4e-5)});
  Images<5, 128> a1 = conv<128, 1>(g, "conv_1", tf::avg_pool<5, 3, valid>(middle));
  const tf::Scope small(g, "conv_2");
  Images<1, 768> a2 = conv2d<768, 5, tf::ConvOptions<2>{.padding = valid}>(
      g, "conv", a1, {.weights = tf::truncated_normal(0, 0.01), .use_bias = false});
  auto a3 = relu(batch_norm(g, "norm", a2, {.decay = 0.9997, .epsilon = 0.001, .scale = false}));
  return dense<1000>(g, "logits", flatten(a3), {.weights = tf::truncated_normal(0, 0.001)});
}

/// The loss of both heads and of the weights.
constexpr auto loss(tf::Graph& g, const Images<image_size, 3>& images, const auto& labels,
                    double keep = 0.8) {
  const Heads both = heads(g, images, keep);
  g.add_loss(mean(softmax_cross_entropy(both.logits, labels)));
  g.add_loss(0.4f * mean(softmax_cross_entropy(second_head(g, both.middle), labels)));
  return tf::total_loss(g);
}

}  // namespace inception
