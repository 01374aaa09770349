// SPDX-License-Identifier: Apache-2.0
#pragma once

// Residual nets of bottleneck units with pre-activation, ResNet v2 (He, Zhang, Ren and Sun,
// Identity mappings in deep residual networks, 2016), as TensorFlow's slim builds them: the last
// unit of a stage has its stride, and convolutions with a stride are padded alike on both sides.
// Weights have a regulariser, which only a model that adds tf::regularization_loss(g) pays for.

#include <typeflow/graph.hpp>

namespace resnet {

namespace tf = typeflow;

inline constexpr tf::BatchNormOptions norm{.decay = 0.997, .epsilon = 1e-5};
inline constexpr tf::LayerOptions biased = {.weights = tf::he_normal,
                                            .regularizer = tf::l2_regularizer(1e-4)};
inline constexpr tf::LayerOptions unbiased = {
    .weights = tf::he_normal, .use_bias = false, .regularizer = tf::l2_regularizer(1e-4)};

/// Padding by half the kernel on each side.
constexpr tf::ConvOptions<2> centred(int kernel, int stride) {
  const int pad = kernel / 2;
  return {.strides = {stride, stride},
          .padding = tf::Padding::given,
          .pads = {{{pad, pad}, {pad, pad}}}};
}

template <int Filters, int Kernel, int Stride = 1>
constexpr auto conv(tf::Graph& g, tf::Label name, auto x) {
  return conv2d<Filters, Kernel, centred(Kernel, Stride)>(g, name, x, biased);
}
template <int Filters, int Kernel, int Stride = 1>
constexpr auto conv_bn_relu(tf::Graph& g, tf::Label name, auto x) {
  tf::Scope in(g, name);
  auto y = conv2d<Filters, Kernel, centred(Kernel, Stride)>(g, "conv", x, unbiased);
  return relu(batch_norm(g, "norm", y, norm));
}

template <int Depth, int Stride>
constexpr auto bottleneck(tf::Graph& g, tf::Label name, auto x) {
  tf::Scope in(g, name);  // block_2/unit_3/...
  auto pre = relu(batch_norm(g, "preact", x, norm));
  auto shortcut = [&] {
    if constexpr (decltype(x)::shape::dims.extent[3] != Depth) {
      return conv<Depth, 1, Stride>(g, "shortcut", pre);
    } else if constexpr (Stride == 1) {
      return x;
    } else {
      return tf::max_pool<1, Stride>(x);
    }
  }();
  auto r = conv_bn_relu<Depth / 4, 1>(g, "conv1", pre);
  auto s = conv_bn_relu<Depth / 4, 3, Stride>(g, "conv2", r);
  return shortcut + conv<Depth, 1>(g, "conv3", s);
}

struct Stage {
  int depth;
  int units;
  int stride;
};
template <Stage S>
constexpr auto stage(tf::Graph& g, tf::Label name, auto x) {
  tf::Scope in(g, name);
  auto h = bottleneck<S.depth, 1>(g, {"unit", 1}, x);  // the type changes
  for (int i = 2; i < S.units; ++i) h = bottleneck<S.depth, 1>(g, {"unit", i}, h);  // it stays
  return bottleneck<S.depth, S.stride>(g, {"unit", S.units}, h);
}

/// What comes before the stages.  // (N,H,W,3) -> (N,H/4,W/4,Filters)
template <int Filters>
constexpr auto root(tf::Graph& g, const auto& x) {
  return tf::max_pool<3, 2>(conv<Filters, 7, 2>(g, "root", x));
}

/// Images x to logits of Classes.  // (N,H,W,3) -> (N,Classes)
template <int Root, int Classes, Stage... S>
constexpr auto logits(tf::Graph& g, const auto& x) {
  int i = 0;
  auto body = tf::fold<S...>(root<Root>(g, x),
                             [&]<Stage One>(auto h) { return stage<One>(g, {"block", ++i}, h); });
  auto features = tf::mean<1, 2>(relu(batch_norm(g, "postnorm", body, norm)));
  return tf::dense<Classes>(g, "logits", features, biased);
}
/// The nets of the paper, for images of 224 x 224 pixels and a thousand classes.
template <Stage... S>
struct Net {
  static constexpr auto logits(tf::Graph& g, const auto& images) {
    return resnet::logits<64, 1000, S...>(g, images);
  }
  static constexpr void forward(tf::Graph& g) {
    auto images = tf::placeholder<float, tf::batch, 224, 224, 3>(g, "images");
    softmax(logits(g, images)).named("probabilities");
  }
};
using ResNet50 = Net<Stage{256, 3, 2}, Stage{512, 4, 2}, Stage{1024, 6, 2}, Stage{2048, 3, 1}>;
using ResNet101 = Net<Stage{256, 3, 2}, Stage{512, 4, 2}, Stage{1024, 23, 2}, Stage{2048, 3, 1}>;
using ResNet152 = Net<Stage{256, 3, 2}, Stage{512, 8, 2}, Stage{1024, 36, 2}, Stage{2048, 3, 1}>;
using ResNet200 = Net<Stage{256, 3, 2}, Stage{512, 24, 2}, Stage{1024, 36, 2}, Stage{2048, 3, 1}>;

}  // namespace resnet
