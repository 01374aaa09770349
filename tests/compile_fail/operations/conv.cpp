// SPDX-License-Identifier: Apache-2.0

// Wrong calls of convolutions.

#include "typeflow/graph.hpp"

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 8, 9, 4>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 4, 6>(g, "w");
  auto halved = tf::placeholder<float, 3, 3, 2, 6>(g, "halved");
  auto large = tf::placeholder<float, 9, 3, 4, 6>(g, "large");
  auto odd = tf::placeholder<float, 3, 3, 2, 5>(g, "odd");
  auto thirds = tf::placeholder<float, 3, 3, 1, 6>(g, "thirds");
  auto wide = tf::placeholder<double, 3, 3, 4, 6>(g, "wide");
  auto ints = tf::placeholder<std::int32_t, tf::batch, 8, 9, 4>(g, "ints");
  auto int_w = tf::placeholder<std::int32_t, 3, 3, 4, 6>(g, "int_w");
  auto rows = tf::placeholder<float, 2, tf::batch, 9, 4>(g, "rows");
  auto channels = tf::placeholder<float, 2, 8, 9, tf::batch>(g, "channels");
  auto line = tf::placeholder<float, tf::batch, 9, 4>(g, "line");
  auto line_w = tf::placeholder<float, 3, 4, 6>(g, "line_w");
  auto line_halved = tf::placeholder<float, 3, 2, 6>(g, "line_halved");
  auto line_odd = tf::placeholder<float, 3, 2, 5>(g, "line_odd");
  auto line_large = tf::placeholder<float, 10, 4, 6>(g, "line_large");
  auto line_wide = tf::placeholder<double, 3, 4, 6>(g, "line_wide");
  auto line_width = tf::placeholder<float, 2, tf::batch, 4>(g, "line_width");
  auto space = tf::placeholder<float, tf::batch, 5, 6, 7, 4>(g, "space");
  auto space_w = tf::placeholder<float, 3, 3, 3, 4, 6>(g, "space_w");
  auto space_halved = tf::placeholder<float, 3, 3, 3, 2, 6>(g, "space_halved");
  auto space_odd = tf::placeholder<float, 3, 3, 3, 2, 5>(g, "space_odd");
  auto space_large = tf::placeholder<float, 6, 3, 3, 4, 6>(g, "space_large");
  auto space_wide = tf::placeholder<double, 3, 3, 3, 4, 6>(g, "space_wide");
  auto space_depth = tf::placeholder<float, 2, tf::batch, 6, 7, 4>(g, "space_depth");
  auto y = tf::placeholder<float, tf::batch, 8, 9, 6>(g, "y");
  auto y_ints = tf::placeholder<std::int32_t, tf::batch, 8, 9, 6>(g, "y_ints");
  auto y_rows = tf::placeholder<float, 2, tf::batch, 9, 6>(g, "y_rows");
  conv2d(x, w).named("fits");
  conv2d<ConvOptions<2>{.groups = 2}>(x, halved).named("fits_too");
  conv1d(line, line_w).named("line_fits");
  conv3d(space, space_w).named("space_fits");
  conv2d_transpose(y, w).named("y_fits");
#ifndef CORRECTED
  // clang-format off
  conv2d(line, w);  // error: conv2d(x, w): x must have four axes, (N,H,W,C), and w four, (KH,KW,C/groups,F)
  conv2d(x, line_w);  // error: conv2d(x, w): x must have four axes, (N,H,W,C), and w four, (KH,KW,C/groups,F)
  conv2d(x, wide);  // error: conv2d(x, w): the element types must be equal and floating
  conv2d(ints, int_w);  // error: conv2d(x, w): the element types must be equal and floating
  conv2d(x, halved);  // error: conv2d(x, w): the channels of x must be groups times the third axis of w
  conv2d<ConvOptions<2>{.groups = 2}>(x, w);  // error: conv2d(x, w): the channels of x must be groups times the third axis of w
  conv2d<ConvOptions<2>{.groups = 2}>(x, odd);  // error: conv2d(x, w): groups must divide the channels of x and the filters of w
  conv2d<ConvOptions<2>{.groups = 3}>(x, thirds);  // error: conv2d(x, w): groups must divide the channels of x and the filters of w
  conv2d<ConvOptions<2>{.groups = 0}>(x, w);  // error: conv2d(x, w): groups must divide the channels of x and the filters of w
  conv2d<ConvOptions<2>{.padding = Padding::valid}>(x, large);  // error: conv2d(x, w): the kernel must fit into the padded image
  conv2d<ConvOptions<2>{.padding = Padding::valid, .dilations = {1, 5}}>(x, w);  // error: conv2d(x, w): the kernel must fit into the padded image
  conv2d<ConvOptions<2>{.strides = {0, 1}}>(x, w);  // error: conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv2d<ConvOptions<2>{.dilations = {1, -1}}>(x, w);  // error: conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv2d<ConvOptions<2>{.padding = Padding::given, .pads = {{{0, 0}, {1, -1}}}}>(x, w);  // error: conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv2d<ConvOptions<2>{.pads = {{{1, 1}, {0, 0}}}}>(x, w);  // error: conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv2d(rows, w);  // error: conv2d(x, w): height, width and channels must be numbers; only the first axis may be a batch
  conv2d(channels, w);  // error: conv2d(x, w): height, width and channels must be numbers; only the first axis may be a batch
  conv1d(x, line_w);  // error: conv1d(x, w): x must have three axes, (N,W,C), and w three, (K,C/groups,F)
  conv1d(line, line_wide);  // error: conv1d(x, w): the element types must be equal and floating
  conv1d(line, line_halved);  // error: conv1d(x, w): the channels of x must be groups times the second axis of w
  conv1d<ConvOptions<1>{.groups = 2}>(line, line_odd);  // error: conv1d(x, w): groups must divide the channels of x and the filters of w
  conv1d<ConvOptions<1>{.padding = Padding::valid}>(line, line_large);  // error: conv1d(x, w): the kernel must fit into the padded image
  conv1d<ConvOptions<1>{.strides = {0}}>(line, line_w);  // error: conv1d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv1d(line_width, line_w);  // error: conv1d(x, w): width and channels must be numbers; only the first axis may be a batch
  conv3d(x, space_w);  // error: conv3d(x, w): x must have five axes, (N,D,H,W,C), and w five, (KD,KH,KW,C/groups,F)
  conv3d(space, space_wide);  // error: conv3d(x, w): the element types must be equal and floating
  conv3d(space, space_halved);  // error: conv3d(x, w): the channels of x must be groups times the fourth axis of w
  conv3d<ConvOptions<3>{.groups = 2}>(space, space_odd);  // error: conv3d(x, w): groups must divide the channels of x and the filters of w
  conv3d<ConvOptions<3>{.padding = Padding::valid}>(space, space_large);  // error: conv3d(x, w): the kernel must fit into the padded image
  conv3d<ConvOptions<3>{.dilations = {1, 0, 1}}>(space, space_w);  // error: conv3d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv3d(space_depth, space_w);  // error: conv3d(x, w): depth, height, width and channels must be numbers; only the first axis may be a batch
  conv3d_transpose(y, w);  // error: conv3d_transpose(y, w): y must have five axes, (N,D,H,W,F), and w five, (KD,KH,KW,C/groups,F)
  conv3d_transpose(space, space_wide);  // error: conv3d_transpose(y, w): the element types must be equal and floating
  conv3d_transpose(space_depth, space_w);  // error: conv3d_transpose(y, w): depth, height, width and channels must be numbers; only the first axis may be a batch
  conv3d_transpose<ConvOptions<3>{.dilations = {1, 0, 1}}>(space, space_w);  // error: conv3d_transpose(y, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv2d_transpose(line, w);  // error: conv2d_transpose(y, w): y must have four axes, (N,H,W,F), and w four, (KH,KW,C/groups,F)
  conv2d_transpose(y, wide);  // error: conv2d_transpose(y, w): the element types must be equal and floating
  conv2d_transpose(y_ints, int_w);  // error: conv2d_transpose(y, w): the element types must be equal and floating
  conv2d_transpose(x, w);  // error: conv2d_transpose(y, w): the last axis of y must be that of w
  conv2d_transpose<ConvOptions<2>{.groups = 4}>(y, w);  // error: conv2d_transpose(y, w): groups must divide the filters of w
  conv2d_transpose<ConvOptions<2>{.strides = {1, 0}}>(y, w);  // error: conv2d_transpose(y, w): strides and dilations must be 1 or more, pads 0 or more, and 0 unless padding is given
  conv2d_transpose<ConvOptions<2>{.padding = Padding::given, .pads = {{{6, 6}, {0, 0}}}}>(y, w);  // error: conv2d_transpose(y, w): the pads must be smaller than the enlarged image
  conv2d_transpose(y_rows, w);  // error: conv2d_transpose(y, w): height, width and channels must be numbers; only the first axis may be a batch
  // clang-format on
#endif
}
