// SPDX-License-Identifier: Apache-2.0

// What pools, lrn, convolutions of single channels and batch_norm refuse.

#include "typeflow/graph.hpp"
#include "typeflow/pooling.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 8, 3>(g, "x");
  auto flat = tf::placeholder<float, tf::batch, 48>(g, "flat");
  auto integers = tf::placeholder<std::int32_t, tf::batch, 6, 8, 3>(g, "integers");
  auto mask = tf::placeholder<bool, tf::batch, 6, 8, 3>(g, "mask");
  auto batches = tf::placeholder<float, 2, tf::batch, 8, 3>(g, "batches");
  auto small = tf::placeholder<float, tf::batch, 2, 2, 3>(g, "small");
  auto w = tf::placeholder<float, 3, 3, 3, 2>(g, "w");
  auto wide = tf::placeholder<double, 3, 3, 3, 2>(g, "wide");
  auto other = tf::placeholder<float, 3, 3, 4, 1>(g, "other");
  auto rows = tf::placeholder<float, 4, tf::batch>(g, "rows");
  auto scalar = tf::placeholder<float>(g, "scalar");
  lrn(depthwise_conv2d<tf::ConvOptions<2>{.strides = {2, 2}}>(x, w)).named("also_right");
  max_pool<2>(avg_pool<tf::PoolOptions<2>{.window = {3, 3}, .strides = {2, 2}}>(x)).named("right");
  auto small_images = tf::placeholder<float, tf::batch, 8, 7, 3>(g, "small_images");
  auto small_flags = tf::placeholder<bool, tf::batch, 8, 7, 3>(g, "small_flags");
  auto small_counts = tf::placeholder<std::int32_t, tf::batch, 8, 7, 3>(g, "small_counts");
#ifndef CORRECTED
  // clang-format off
  max_pool<2>(mask);                             // error: max_pool(x): x must be a tensor of real numbers
  max_pool<2>(flat);                             // error: max_pool(x): x must have the axes of the window between its first and its last, (N,H,W,C)
  max_pool<tf::PoolOptions<1>{.window = {2}}>(x);        // error: max_pool(x): x must have the axes of the window between its first and its last, (N,H,W,C)
  max_pool<0, 1>(x);                             // error: max_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless padding is given
  max_pool<tf::PoolOptions<2>{.window = {2, 2}, .pads = {{{1, 1}, {0, 0}}}}>(x);  // error: max_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless padding is given
  max_pool<2>(batches);                          // error: max_pool(x): height, width and channels must be numbers; only the first axis may be a batch
  max_pool<3, 1, tf::Padding::valid>(small);     // error: max_pool(x): every window must hold an element of x
  max_pool<tf::PoolOptions<2>{.window = {2, 2}, .padding = tf::Padding::given, .pads = {{{2, 0}, {0, 0}}}}>(x);  // error: max_pool(x): every window must hold an element of x
  avg_pool<2>(integers);                         // error: avg_pool(x): x must be floating-point; convert with cast<float>(x)
  avg_pool<2>(flat);                             // error: avg_pool(x): x must have the axes of the window between its first and its last, (N,H,W,C)
  avg_pool<2, 0>(x);                             // error: avg_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless padding is given
  avg_pool<2>(batches);                          // error: avg_pool(x): height, width and channels must be numbers; only the first axis may be a batch
  avg_pool<3, 1, tf::Padding::valid>(small);     // error: avg_pool(x): every window must hold an element of x
  lrn(integers);                                 // error: lrn(x): x must be floating-point; convert with cast<float>(x)
  lrn(scalar);                                   // error: lrn(x): x must have an axis of channels
  depthwise_conv2d(flat, w);                     // error: depthwise_conv2d(x, w): x must have four axes, (N,H,W,C), and w four, (KH,KW,C,M)
  depthwise_conv2d(x, wide);                     // error: depthwise_conv2d(x, w): the element types must be equal and floating
  depthwise_conv2d(integers, integers);          // error: depthwise_conv2d(x, w): the element types must be equal and floating
  depthwise_conv2d(batches, w);                  // error: depthwise_conv2d(x, w): height, width and channels must be numbers; only the first axis may be a batch
  depthwise_conv2d(x, x);                        // error: depthwise_conv2d(x, w): height, width and channels must be numbers; only the first axis may be a batch
  depthwise_conv2d(x, other);                    // error: depthwise_conv2d(x, w): the channels of x must be the third axis of w
  depthwise_conv2d<tf::ConvOptions<2>{.groups = 3}>(x, w);        // error: depthwise_conv2d(x, w): groups must be left at 1; each channel is one by itself
  depthwise_conv2d<tf::ConvOptions<2>{.strides = {0, 1}}>(x, w);  // error: depthwise_conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  depthwise_conv2d<tf::ConvOptions<2>{.padding = tf::Padding::valid}>(small, w);  // error: depthwise_conv2d(x, w): the kernel must fit into the padded image
  tf::batch_norm(g, "a", integers);              // error: batch_norm(g, name, x): x must be floating-point; convert with cast<float>(x)
  tf::batch_norm(g, "b", scalar);                // error: batch_norm(g, name, x): x must have an axis of channels, the last, and one in front of it
  tf::batch_norm(g, "c", rows);                  // error: batch_norm(g, name, x): the last axis of x must be a number, not tf::batch
  tf::BatchNorm<4>(g, "d")(x);                   // error: batch_norm: the last axis of x must have the layer's channels
  tf::BatchNorm<3, double>(g, "e")(x);           // error: batch_norm: the variables must have the element type of x, or float for 16 bits
  tf::fractional_max_pool<3, 3>(small_flags);  // error: fractional_max_pool<H, W>(x): x must be a tensor of real numbers
  tf::fractional_max_pool<9, 3>(small_images);  // error: fractional_max_pool<H, W>(x): x must be images (N,H0,W0,C), with numbers of rows and columns that are not smaller than H and W
  tf::fractional_avg_pool<3, 3>(small_counts);  // error: fractional_avg_pool<H, W>(x): x must be floating-point; convert with cast<float>(x)
  tf::fractional_avg_pool<3, 0>(small_images);  // error: fractional_avg_pool<H, W>(x): x must be images (N,H0,W0,C), with numbers of rows and columns that are not smaller than H and W
  tf::fractional_max_pool<tf::PoolingRatio(1.5, 1.5)>(small_flags);  // error: fractional_max_pool<ratio>(x): x must be a tensor of real numbers
  tf::fractional_max_pool<tf::PoolingRatio(0.5, 1.5)>(small_images);  // error: fractional_max_pool<ratio>(x): x must be images (N,H0,W0,C) with numbers of rows and columns, and the ratios from 1 on to these
  tf::fractional_max_pool<tf::PoolingRatio(1.5, 1.5)>(flat);  // error: fractional_max_pool<ratio>(x): x must be images (N,H0,W0,C) with numbers of rows and columns, and the ratios from 1 on to these
  tf::fractional_avg_pool<tf::PoolingRatio(1.5, 1.5)>(small_counts);  // error: fractional_avg_pool<ratio>(x): x must be floating-point; convert with cast<float>(x)
  tf::fractional_avg_pool<tf::PoolingRatio(1.5, 7.5)>(small_images);  // error: fractional_avg_pool<ratio>(x): x must be images (N,H0,W0,C) with numbers of rows and columns, and the ratios from 1 on to these
  // clang-format on
#endif
}
