// SPDX-License-Identifier: Apache-2.0

// What layers of convolutions and embeddings, flattening, and objects refuse.

#include "typeflow/attention.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto rows = tf::placeholder<float, 8, 4>(g, "rows");
  auto lines = tf::placeholder<float, tf::batch, 8, 4>(g, "lines");
  auto image = tf::placeholder<float, tf::batch, 8, 6, 4>(g, "image");
  auto volume = tf::placeholder<float, tf::batch, 8, 6, 4, 2>(g, "volume");
  auto turned = tf::placeholder<float, 8, 6, 4, tf::batch>(g, "turned");
  auto wide = tf::placeholder<float, 8, tf::batch, tf::batch>(g, "wide");
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  conv2d<8, 3>(g, "conv", image).named("right");
  embedding<10, 4>(g, "words", ids).named("rows_of_words");
  flatten(image).named("flat");
#ifndef CORRECTED
  // clang-format off
  conv2d<8, 3>(g, "a", rows);                // error: conv2d(g, name, x): x must have four axes, (N,H,W,C)
  conv2d<8, 3>(g, "b", turned);              // error: conv2d(g, name, x): the channels of x must be a number, not tf::batch
  conv2d<8, 3, 0>(g, "c", image);            // error: conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv1d<8, 3>(g, "d", image);               // error: conv1d(g, name, x): x must have three axes, (N,W,C)
  conv3d<8, 3>(g, "e", image);               // error: conv3d(g, name, x): x must have five axes, (N,D,H,W,C)
  conv2d_transpose<8, 3>(g, "f", volume);    // error: conv2d_transpose(g, name, y): y must have four axes, (N,H,W,F)
  conv2d_transpose<8, 3>(g, "k", turned);    // error: conv2d_transpose(g, name, y): the last axis of y must be a number, not tf::batch
  depthwise_conv2d<2, 3>(g, "l", lines);     // error: depthwise_conv2d(g, name, x): x must have four axes, (N,H,W,C)
  depthwise_conv2d<2, 3>(g, "m", turned);    // error: depthwise_conv2d(g, name, x): the channels of x must be a number, not tf::batch
  separable_conv2d<8, 3>(g, "n", lines);     // error: separable_conv2d(g, name, x): x must have four axes, (N,H,W,C)
  separable_conv2d<8, 3>(g, "o", turned);    // error: separable_conv2d(g, name, x): the channels of x must be a number, not tf::batch
  conv2d_in_plane<3>(g, "p", lines);         // error: conv2d_in_plane(g, name, x): x must have four axes, (N,H,W,C)
  tf::Conv2d<3, 8, 3>(g, "q")(image);   // error: convolution layer: the channels of x must be the layer's
  tf::Conv2dTranspose<3, 8, 3>(g, "r")(image);  // error: transposed convolution layer: the channels of y must be the layer's
  tf::DepthwiseConv2d<3, 2, 3>(g, "s")(image);  // error: depthwise convolution layer: the channels of x must be the layer's
  tf::SeparableConv2d<3, 8, 3>(g, "t")(image);  // error: separable convolution layer: the channels of x must be the layer's
  tf::Conv2dInPlane<3, 3>(g, "F")(image);       // error: in-plane convolution layer: the channels of x must be the layer's
  embedding<10, 4>(g, "u", lines);           // error: embedding<vocabulary, width>(g, name, ids): the ids must be integers
  tf::Embedding<10, 5>(g, "v")(lines);       // error: embedding: the ids must be integers
  tf::LayerNorm<5>(g, "w")(rows);            // error: layer_norm: the last axis of x must have the layer's channels
  tf::LayerNorm<4, double>(g, "x")(lines);   // error: layer_norm: the variables must have the element type of x, or float for 16 bits
  tf::GroupNorm<2, 6>(g, "y")(image);        // error: group_norm: x must have 2 to 7 axes, the last with the layer's channels
  tf::GroupNorm<3, 4>(g, "z")(rows);         // error: group_norm: groups must divide the channels of x, its last axis
  tf::GroupNorm<2, 4, double>(g, "A")(lines);  // error: group_norm: the variables must have the element type of x, or float for 16 bits
  tf::InstanceNorm<6>(g, "G")(image);        // error: instance_norm: x must have axes between its first and its last, (N,H,W,C), and the last must have the layer's channels
  tf::InstanceNorm<4, double>(g, "H")(image);  // error: instance_norm: the variables must have the element type of x, or float for 16 bits
  tf::MultiHeadAttention<2, 6>(g, "B")(lines);         // error: multi_head_attention: x must be (B,T,C) with the layer's channels, which heads must divide
  tf::MultiHeadAttention<2, 4, double>(g, "C")(lines);  // error: multi_head_attention: x must have the element type of the layer's variables
  tf::MultiHeadAttention<2, 4>(g, "D")(lines, ids);    // error: multi_head_attention: the mask must be boolean, or of the element type of x
  tf::MultiHeadAttention<2, 4>(g, "E")(lines, rows);   // error: multi_head_attention: the mask must broadcast to (B,heads,T,T)
  flatten(scalar);                           // error: flatten(x): x must have an axis to keep, that of the batch
  flatten(wide);                             // error: flatten(x): no more than one of the axes behind the first may be a multiple of a symbol
  // clang-format on
#endif
}
