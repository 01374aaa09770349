// SPDX-License-Identifier: Apache-2.0

// What max_pool_with_argmax, convolutions made of depthwise ones, and blocks of pixels refuse.

#include "typeflow/graph.hpp"
#include "typeflow/pooling.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 8, 3>(g, "x");
  auto flat = tf::placeholder<float, tf::batch, 48>(g, "flat");
  auto mask = tf::placeholder<bool, tf::batch, 6, 8, 3>(g, "mask");
  auto batches = tf::placeholder<float, 2, tf::batch, 8, 3>(g, "batches");
  auto odd = tf::placeholder<float, 6, 4, 4, 3>(g, "odd");
  auto w = tf::placeholder<float, 3, 3, 3, 2>(g, "w");
  auto plane = tf::placeholder<float, 3, 3, 1, 1>(g, "plane");
  auto wide = tf::placeholder<double, 3, 3, 1, 1>(g, "wide");
  auto pointwise = tf::placeholder<float, 1, 1, 6, 4>(g, "pointwise");
  auto other = tf::placeholder<double, 1, 1, 6, 4>(g, "other");
  separable_conv2d(conv2d_in_plane(x, plane), w, pointwise).named("right");
#ifndef CORRECTED
  // clang-format off
  max_pool_with_argmax<2>(mask);            // error: max_pool_with_argmax(x): x must be a tensor of real numbers
  max_pool_with_argmax<2>(flat);            // error: max_pool_with_argmax(x): x must be an image that max_pool takes, (N,H,W,C)
  separable_conv2d(x, w, plane);            // error: separable_conv2d(x, depthwise, pointwise): pointwise must be (1,1,C*M,F)
  separable_conv2d(x, w, other);            // error: separable_conv2d(x, depthwise, pointwise): the element types must be equal and floating
  conv2d_in_plane(x, w);                    // error: conv2d_in_plane(x, w): x must have four axes, (N,H,W,C), the last a number, and w must be (KH,KW,1,1)
  conv2d_in_plane(x, wide);                 // error: conv2d_in_plane(x, w): the element types must be equal and floating
  tf::space_to_batch<2, 2>(batches);        // error: space_to_batch<block...>(x): x must have a batch and behind it the axes of the block, which are numbers; blocks are 1 or more, and all axes together at most 8
  tf::space_to_batch<4, 2>(x);              // error: space_to_batch<block...>(x): the padded axes must be multiples of the block, pads 0 or more
  tf::batch_to_space<0, 2>(odd);            // error: batch_to_space<block...>(x): x must have a batch and behind it the axes of the block, which are numbers; blocks are 1 or more, and all axes together at most 8
  tf::batch_to_space<2, 2>(odd);            // error: batch_to_space<block...>(x): the batch must be a multiple of the block
  batch_to_space<tf::BatchToSpaceOptions<1>{.block = {2}, .crops = {{{4, 5}}}}>(odd);  // error: batch_to_space<block...>(x): crops must be 0 or more, and leave something
  // clang-format on
#endif
}
