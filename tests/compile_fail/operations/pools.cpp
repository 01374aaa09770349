// SPDX-License-Identifier: Apache-2.0

// What pools, lrn and convolutions of single channels refuse.

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 8, 3>(g, "x");
  auto flat = tf::placeholder<float, tf::batch, 48>(g, "flat");
  auto integers = tf::placeholder<std::int32_t, tf::batch, 6, 8, 3>(g, "integers");
  auto mask = tf::placeholder<bool, tf::batch, 6, 8, 3>(g, "mask");
  auto batches = tf::placeholder<float, 2, tf::batch, 8, 3>(g, "batches");
  auto small = tf::placeholder<float, tf::batch, 2, 2, 3>(g, "small");
  max_pool<2>(avg_pool<tf::Pool2d{.window = {3, 3}, .strides = {2, 2}}>(x)).named("right");
#ifndef CORRECTED
  // clang-format off
  max_pool<2>(mask);                             // error: max_pool(x): x must be a tensor of real numbers
  max_pool<2>(flat);                             // error: max_pool(x): x must have the axes of the window between its first and its last, (N,H,W,C)
  max_pool<tf::Pool1d{.window = {2}}>(x);        // error: max_pool(x): x must have the axes of the window between its first and its last, (N,H,W,C)
  max_pool<0, 1>(x);                             // error: max_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless padding is given
  max_pool<tf::Pool2d{.window = {2, 2}, .pads = {{{1, 1}, {0, 0}}}}>(x);  // error: max_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless padding is given
  max_pool<2>(batches);                          // error: max_pool(x): height, width and channels must be numbers; only the first axis may be a batch
  max_pool<3, 1, tf::Padding::valid>(small);     // error: max_pool(x): every window must hold an element of x
  max_pool<tf::Pool2d{.window = {2, 2}, .padding = tf::Padding::given, .pads = {{{2, 0}, {0, 0}}}}>(x);  // error: max_pool(x): every window must hold an element of x
  avg_pool<2>(integers);                         // error: avg_pool(x): x must be floating-point; convert with cast<float>(x)
  avg_pool<2>(flat);                             // error: avg_pool(x): x must have the axes of the window between its first and its last, (N,H,W,C)
  avg_pool<2, 0>(x);                             // error: avg_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless padding is given
  avg_pool<2>(batches);                          // error: avg_pool(x): height, width and channels must be numbers; only the first axis may be a batch
  avg_pool<3, 1, tf::Padding::valid>(small);     // error: avg_pool(x): every window must hold an element of x
  // clang-format on
#endif
}
