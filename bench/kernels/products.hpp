// SPDX-License-Identifier: Apache-2.0
#pragma once

// The products of gemm.cpp and of its peer peers/onednn_products.cpp.

namespace bench {

struct Product {
  const char* name;
  int rows;
  int columns;
  int depth;
  int batch = 1;
};

inline constexpr Product products[] = {
    {"100x10x784", 100, 10, 784},  // softmax regression of chapter 3, and its gradient
    {"784x10x100", 784, 10, 100},          {"100x300x784", 100, 300, 784},
    {"128x256x256", 128, 256, 256},        {"20x800x400", 20, 800, 400},  // a step of an LSTM
    {"700x10000x650", 700, 10000, 650},                                   // its words
    {"128x1024x1024", 128, 1024, 1024},    {"50x1024x3136", 50, 1024, 3136},
    {"32x4096x9216", 32, 4096, 9216},  // AlexNet's
    {"32x1000x4096", 32, 1000, 4096},      {"1x4096x4096", 1, 4096, 4096},
    {"4096x1x4096", 4096, 1, 4096},        {"512x512x512", 512, 512, 512},
    {"1024x1024x1024", 1024, 1024, 1024},  {"2048x2048x2048", 2048, 2048, 2048},
    {"64x(128x64x128)", 128, 64, 128, 64}, {"4096x(8x8x8)", 8, 8, 8, 4096},
    {"20000x(3x3x3)", 3, 3, 3, 20000},  // rotations
};
/// relu(x w + b), one kernel. The last is so shallow that the result's memory counts.
inline constexpr Product layers[] = {
    {"128x1024x1024_bias_relu", 128, 1024, 1024},
    {"512x512x512_bias_relu", 512, 512, 512},
    {"4096x512x64_bias_relu", 4096, 512, 64},
};

}  // namespace bench
