// SPDX-License-Identifier: Apache-2.0
#pragma once

// The models of models.cpp and step_costs.cpp.

#include <cstdint>

#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include "../residual_chain.hpp"

namespace tf = typeflow;

constexpr void train(const auto& logits, const auto& labels) {
  auto loss = mean(softmax_cross_entropy(logits, labels)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

/// Chapter 3's, 784-10.
struct softmax_regression {
  static constexpr int batch = 100;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    train(dense<10>(g, "output", x), labels);
  }
};

/// Chapter 4's, 784-300-10, without dropout.
struct mlp {
  static constexpr int batch = 100;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    train(dense<10>(g, "output", relu(dense<300>(g, "hidden", x))), labels);
  }
};

#ifdef WINOGRAD
constexpr bool has_winograd = true;
#else
constexpr bool has_winograd = false;
#endif

/// A convolution with its bias and relu.
template <int Size, int In, int Out>
constexpr auto conv(tf::Graph& g, tf::Label name, const auto& x) {
  const tf::Scope in(g, name);
  auto W = tf::variable<float, Size, Size, In, Out>(g, "W", tf::truncated_normal(0, 0.05));
  auto b = tf::variable<float, Out>(g, "b", tf::zeros());
  constexpr tf::ConvOptions<2> options{.winograd = has_winograd};
  return relu(conv2d<options>(x, W) + b);
}

/// Chapter 5's on MNIST, without dropout.
struct cnn {
  static constexpr int batch = 50;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    auto p1 = max_pool<2>(conv<5, 1, 32>(g, "conv1", reshape<tf::batch, 28, 28, 1>(x)));
    auto p2 = max_pool<2>(conv<5, 32, 64>(g, "conv2", p1));
    auto h = relu(dense<1024>(g, "dense", reshape<tf::batch, 3136>(p2)));
    train(dense<10>(g, "output", h), labels);
  }
};

/// Chapter 5's on CIFAR-10, from the normalized parts of 24 x 24 pixels on, without weight decay.
struct cifar {
  static constexpr int batch = 128;
  static constexpr int inputs = 24 * 24 * 3;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    constexpr tf::LrnOptions options = {
        .depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75};
    auto x = placeholder<float, tf::batch, 1728>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    auto c1 = conv<5, 3, 64>(g, "conv1", reshape<tf::batch, 24, 24, 3>(x));
    auto c2 = conv<5, 64, 64>(g, "conv2", lrn(max_pool<3, 2>(c1), options));
    auto p2 = max_pool<3, 2>(lrn(c2, options));
    auto h3 = relu(dense<384>(g, "local3", reshape<tf::batch, 2304>(p2)));
    auto h4 = relu(dense<192>(g, "local4", h3));
    train(dense<10>(g, "output", h4), labels);
  }
};

/// Twenty residual blocks of 64 x 256. It has no labels.
struct residual {
  static constexpr int batch = bench::rows;
  static constexpr int inputs = bench::width;
  static constexpr bool has_labels = false;
  static constexpr void model(tf::Graph& g) { bench::residual_chain<20>(g); }
};
