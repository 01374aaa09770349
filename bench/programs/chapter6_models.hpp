// SPDX-License-Identifier: Apache-2.0
#pragma once

// The nets of chapter 6 as models of models.cpp, with the images in "x". peers/chapter6.py has the
// same nets.

#include <cstdint>

#include <typeflow/losses.hpp>
#include <typeflow/typeflow.hpp>

#include "../../examples/ch06_alexnet/alexnet.hpp"
#include "../../examples/ch06_inception_v3/inception_v3.hpp"
#include "../../examples/ch06_resnet_v2/resnet.hpp"
#include "../../examples/ch06_vgg16/vgg16.hpp"

namespace tf = typeflow;

template <int Size>
constexpr auto images_of(tf::Graph& g) {
  return tf::placeholder<float, tf::batch, Size, Size, 3>(g, "x");
}
constexpr void train(const auto& loss) {
  tf::GradientDescent{.rate = 0.01f}.minimize(loss.named("loss")).named("train");
}

/// The convolutions, with local response normalization.
struct alexnet_32 {
  static constexpr int batch = 32;
  static constexpr int inputs = 224 * 224 * 3;
  static constexpr bool has_labels = false;
  static constexpr void model(tf::Graph& g) {
    train(l2_loss(alexnet::net<true>(g, images_of<224>(g))));
  }
};

/// Without dropout, since peers draw other numbers.
struct vgg16_8 {
  static constexpr int batch = 8;
  static constexpr int inputs = 224 * 224 * 3;
  static constexpr bool has_labels = false;
  static constexpr void model(tf::Graph& g) { train(l2_loss(vgg::net(g, images_of<224>(g), 1))); }
};

/// With the second head, without dropout.
struct inception_v3_8 {
  static constexpr int batch = 8;
  static constexpr int inputs = 299 * 299 * 3;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    train(inception::loss(g, images_of<299>(g), labels, 1));
  }
};

struct resnet50_8 {
  static constexpr int batch = 8;
  static constexpr int inputs = 224 * 224 * 3;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    auto logits = resnet::ResNet50::logits(g, images_of<224>(g));
    g.add_loss(mean(softmax_cross_entropy(logits, labels)));
    train(tf::total_loss(g));
  }
};
