// SPDX-License-Identifier: Apache-2.0

// What operations on images refuse.

#include "typeflow/graph.hpp"
#include "typeflow/images/resize.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 8, 3>(g, "x");
  auto bytes = tf::placeholder<std::uint8_t, 6, 8, 3>(g, "bytes");
  auto matrix = tf::placeholder<float, 6, 8>(g, "matrix");
  auto empty = tf::placeholder<float, 0, 8, 3>(g, "empty");
  tf::resize<3, 4>(x).named("fits");
#ifndef CORRECTED
  // clang-format off
  tf::resize<3, 4>(matrix);  // error: resize<height, width>(x): x must be images, (N,H,W,C) or (H,W,C)
  tf::resize<0, 4>(x);  // error: resize<height, width>(x): height and width must be numbers, 1 or more
  tf::resize<3, 4>(bytes);  // error: resize<height, width>(x): x must be floating-point, unless the method is tf::Interpolation::nearest; convert with convert_image_dtype<float>(x) or cast<float>(x)
  tf::resize<3, 4>(empty);  // error: resize<height, width>(x): x must have pixels
  // clang-format on
#endif
}
