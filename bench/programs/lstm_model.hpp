// SPDX-License-Identifier: Apache-2.0
#pragma once

// Beside chapter_models.hpp: a recurrent model, for cuda_static.

#include <cstdint>

#include <typeflow/rnn.hpp>

#include "chapter_models.hpp"

/// An LSTM of 256 units that reads the rows of MNIST's images, as chapter 7's.
struct lstm {
  static constexpr int batch = 128;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    const tf::BasicLSTM<28, 256> cell(g, "cell");
    auto read = dynamic_rnn(cell, reshape<tf::batch, 28, 28>(x));
    train(dense<10>(g, "output", tf::select<1>(read.outputs, -1)), labels);
  }
};
