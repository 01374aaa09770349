// SPDX-License-Identifier: Apache-2.0
#pragma once

// VGG-16 (Simonyan and Zisserman, Very deep convolutional networks for large-scale image
// recognition, 2014, configuration D), as the book writes it: with a relu after the last layer,
// too.

#include <type_traits>

#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

namespace vgg {

namespace tf = typeflow;

constexpr int image_size = 224;

/// On processors, in less than half the time of plain sums.
inline constexpr tf::ConvOptions<2> by_winograd{.winograd = true};

/// Convolutions of 3x3, then a pool that halves the image.
template <int Filters, int Layers>
constexpr auto block(tf::Graph& g, tf::Label name, const auto& x) {
  const auto h = repeat<Layers>(g, name, x, [](tf::Graph& in, tf::Label layer, auto v) {
    return conv2d<Filters, 3, by_winograd>(in, layer, v,
                                           {.weights = tf::glorot_uniform, .activation = tf::relu});
  });
  return tf::max_pool<2>(h);
}

/// (N,224,224,3) -> (N,1000)
constexpr auto net(tf::Graph& g, const auto& images, double keep = 0.5) {
  constexpr tf::LayerOptions full = {
      .weights = tf::glorot_uniform, .bias = tf::filled(0.1), .activation = tf::relu};
  auto h1 = block<64, 2>(g, "conv1", images);
  auto h2 = block<128, 2>(g, "conv2", h1);
  auto h3 = block<256, 3>(g, "conv3", h2);
  auto h4 = block<512, 3>(g, "conv4", h3);
  auto h5 = block<512, 3>(g, "conv5", h4);
  static_assert(std::is_same_v<typename decltype(h1)::shape, tf::Shape<tf::batch, 112, 112, 64>>);
  static_assert(std::is_same_v<typename decltype(h3)::shape, tf::Shape<tf::batch, 28, 28, 256>>);
  static_assert(std::is_same_v<typename decltype(h5)::shape, tf::Shape<tf::batch, 7, 7, 512>>);
  auto fc6 = dropout(dense<4096>(g, "fc6", flatten(h5), full), {.keep = keep});
  auto fc7 = dropout(dense<4096>(g, "fc7", fc6, full), {.keep = keep});
  return dense<1000>(g, "fc8", fc7, full);
}

}  // namespace vgg
