// SPDX-License-Identifier: Apache-2.0
#pragma once

// What bench/convolution measures: a layer of square images and kernels.

#include <cstdint>

namespace bench {

enum class Direction : std::uint8_t { forward, input_gradient, filter_gradient };

struct Layer {
  const char* name;
  int size;  ///< height and width
  int channels;
  int kernel;
  int filters;
  int stride = 1;
  int pad = -1;  ///< on every side; -1: as tf::Padding::same has it

  constexpr int out() const {
    return pad < 0 ? (size + stride - 1) / stride : (size + 2 * pad - kernel) / stride + 1;
  }
  /// Padding on the left and above.
  constexpr int before() const { return pad < 0 ? (both() > 0 ? both() / 2 : 0) : pad; }
  constexpr int after() const { return pad < 0 ? (both() > 0 ? both() - both() / 2 : 0) : pad; }

 private:
  constexpr int both() const { return (out() - 1) * stride + kernel - size; }
};

}  // namespace bench
