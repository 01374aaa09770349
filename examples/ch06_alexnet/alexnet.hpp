// SPDX-License-Identifier: Apache-2.0
#pragma once

// The convolutions of AlexNet (Krizhevsky, Sutskever and Hinton, ImageNet classification with deep
// convolutional neural networks, 2012), in one tower.

#include <type_traits>

#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

namespace alexnet {

namespace tf = typeflow;

constexpr int image_size = 224;

constexpr auto normalized(const auto& x) {
  return lrn(x, {.depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75});
}

/// (N,224,224,3) -> (N,6,6,256)
template <bool HasLrn>
constexpr auto net(tf::Graph& g, const auto& images) {
  constexpr tf::LayerOptions options = {.weights = tf::truncated_normal(0, 0.1),
                                        .activation = tf::relu};
  constexpr auto valid = tf::Padding::valid;
  auto conv1 = conv2d<64, 11, 4>(g, "conv1", images, options);
  static_assert(std::is_same_v<typename decltype(conv1)::shape, tf::Shape<tf::batch, 56, 56, 64>>);
  auto pool1 = [&] {
    if constexpr (HasLrn) {
      return tf::max_pool<3, 2, valid>(normalized(conv1));
    } else {
      return tf::max_pool<3, 2, valid>(conv1);
    }
  }();
  static_assert(std::is_same_v<typename decltype(pool1)::shape, tf::Shape<tf::batch, 27, 27, 64>>);
  auto conv2 = conv2d<192, 5>(g, "conv2", pool1, options);
  auto pool2 = [&] {
    if constexpr (HasLrn) {
      return tf::max_pool<3, 2, valid>(normalized(conv2));
    } else {
      return tf::max_pool<3, 2, valid>(conv2);
    }
  }();
  static_assert(std::is_same_v<typename decltype(pool2)::shape, tf::Shape<tf::batch, 13, 13, 192>>);
  auto conv3 = conv2d<384, 3>(g, "conv3", pool2, options);
  auto conv4 = conv2d<256, 3>(g, "conv4", conv3, options);
  auto conv5 = conv2d<256, 3>(g, "conv5", conv4, options);
  auto pool5 = tf::max_pool<3, 2, valid>(conv5);
  static_assert(std::is_same_v<typename decltype(pool5)::shape, tf::Shape<tf::batch, 6, 6, 256>>);
  return pool5;
}

}  // namespace alexnet
