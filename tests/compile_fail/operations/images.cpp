// SPDX-License-Identifier: Apache-2.0

// What operations on images refuse.

#include "typeflow/graph.hpp"
#include "typeflow/images/adjust.hpp"
#include "typeflow/images/boxes.hpp"
#include "typeflow/images/color.hpp"
#include "typeflow/images/crop.hpp"
#include "typeflow/images/flip.hpp"
#include "typeflow/images/morphology.hpp"
#include "typeflow/images/resize.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 8, 3>(g, "x");
  auto bytes = tf::placeholder<std::uint8_t, 6, 8, 3>(g, "bytes");
  auto matrix = tf::placeholder<float, 6, 8>(g, "matrix");
  auto same = tf::placeholder<float, 6, tf::batch, tf::batch>(g, "same");
  auto filter = tf::placeholder<float, 3, 3, 3>(g, "filter");
  auto large = tf::placeholder<float, 7, 3, 3>(g, "large");
  auto grey = tf::placeholder<float, 2, 6, 8, 1>(g, "grey");
  auto mask = tf::placeholder<bool, 6, 8, 3>(g, "mask");
  auto boxes = tf::placeholder<float, tf::batch, 4>(g, "boxes");
  auto triples = tf::placeholder<float, tf::batch, 3>(g, "triples");
  auto wide = tf::placeholder<double, tf::batch, 4>(g, "wide");
  auto scores = tf::placeholder<float, tf::batch>(g, "scores");
  auto indices = tf::placeholder<std::int32_t, tf::batch>(g, "indices");
  auto frames = tf::placeholder<float, tf::batch, 5, 4>(g, "frames");
  auto colors = tf::placeholder<float, 2, 4>(g, "colors");
  auto any_size = tf::placeholder<float, tf::batch, tf::symbol<"height">, 8, 3>(g, "any_size");
  auto empty = tf::placeholder<float, 0, 8, 3>(g, "empty");
  tf::resize<3, 4>(x).named("fits");
#ifndef CORRECTED
  // clang-format off
  tf::resize<3, 4>(matrix);  // error: resize<height, width>(x): x must be images, (N,H,W,C) or (H,W,C)
  tf::resize<0, 4>(x);  // error: resize<height, width>(x): height and width must be numbers, 1 or more
  tf::resize<3, 4>(bytes);  // error: resize<height, width>(x): x must be floating-point, unless the method is tf::Interpolation::nearest; convert with convert_image_dtype<float>(x) or cast<float>(x)
  tf::resize<3, 4>(empty);  // error: resize<height, width>(x): x must have pixels
  tf::resize<3, 4>(same);  // error: resize<height, width>(x): width and channels of x must not be the same symbol
  tf::crop_or_pad<3, 4>(any_size);  // error: crop_or_pad<height, width>(x): x must be images, (N,H,W,C) or (H,W,C), H and W numbers from 1 on
  tf::crop_or_pad<3, 0>(x);  // error: crop_or_pad<height, width>(x): height and width must be numbers, 1 or more
  tf::central_crop<1, 2>(matrix);  // error: central_crop<numerator, denominator>(x): x must be images, (N,H,W,C) or (H,W,C), H and W numbers from 1 on
  tf::central_crop<3, 2>(x);  // error: central_crop<numerator, denominator>(x): the fraction must be in (0, 1]
  tf::random_crop<3, 4>(any_size);  // error: random_crop<height, width>(x): x must be images, (N,H,W,C) or (H,W,C), H and W numbers from 1 on
  tf::random_crop<7, 4>(x);  // error: random_crop<height, width>(x): height and width must be 1 or more, and no larger than those of x
  tf::crop_and_resize<3, 4>(bytes, boxes, indices);  // error: crop_and_resize<height, width>(x, boxes, box_indices): x must be images, (N,H,W,C), H and W numbers from 1 on
  tf::crop_and_resize<0, 4>(x, boxes, indices);  // error: crop_and_resize<height, width>(x, boxes, box_indices): height and width must be numbers, 1 or more
  tf::crop_and_resize<3, 4>(x, wide, indices);  // error: crop_and_resize<height, width>(x, boxes, box_indices): x and boxes must be of the same floating-point type; convert with cast<float>(x)
  tf::crop_and_resize<3, 4>(x, triples, indices);  // error: crop_and_resize<height, width>(x, boxes, box_indices): boxes must be (B,4), box_indices integers (B)
  tf::crop_and_resize<3, 4, tf::CropAndResizeOptions{tf::Interpolation::area}>(x, boxes, indices);  // error: crop_and_resize<height, width, options>(x, boxes, box_indices): the method must be bilinear or nearest
  tf::non_max_suppression<-1>(boxes, scores);  // error: non_max_suppression<most>(boxes, scores): most must be a number
  tf::non_max_suppression<9>(wide, scores);  // error: non_max_suppression<most>(boxes, scores): boxes and scores must be of the same floating-point type; convert with cast<float>(x)
  tf::non_max_suppression<9>(triples, scores);  // error: non_max_suppression<most>(boxes, scores): boxes must be (B,4), scores (B)
  draw_bounding_boxes(matrix, frames, colors);  // error: draw_bounding_boxes(x, boxes): x must be images of floating-point numbers, (N,H,W,C), H and W numbers from 1 on
  draw_bounding_boxes(x, frames, indices);  // error: draw_bounding_boxes(x, boxes, colors): the element types must be equal; convert with cast<T>(x)
  draw_bounding_boxes(x, frames, colors);  // error: draw_bounding_boxes(x, boxes, colors): boxes must be (N,B,4) and colors (K,C) for x (N,H,W,C), B and K numbers
  flip_left_right(matrix);  // error: flip_left_right(x): x must be images, (N,H,W,C) or (H,W,C)
  flip_up_down(matrix);  // error: flip_up_down(x): x must be images, (N,H,W,C) or (H,W,C)
  random_flip_left_right(matrix);  // error: random_flip_left_right(x): x must be images, (N,H,W,C) or (H,W,C)
  random_flip_up_down(matrix);  // error: random_flip_up_down(x): x must be images, (N,H,W,C) or (H,W,C)
  transpose_image(matrix);  // error: transpose_image(x): x must be images, (N,H,W,C) or (H,W,C)
  rot90(matrix);  // error: rot90(x): x must be images, (N,H,W,C) or (H,W,C)
  tf::convert_image_dtype<float>(mask);  // error: convert_image_dtype<T>(x): x and T must be integers or floating-point
  rgb_to_hsv(grey);  // error: rgb_to_hsv(x): x must be images with 3 channels, (N,H,W,3) or (H,W,3)
  rgb_to_hsv(bytes);  // error: rgb_to_hsv(x): x must be floating-point; convert with convert_image_dtype<float>(x)
  hsv_to_rgb(grey);  // error: hsv_to_rgb(x): x must be images with 3 channels, (N,H,W,3) or (H,W,3)
  hsv_to_rgb(bytes);  // error: hsv_to_rgb(x): x must be floating-point
  rgb_to_grayscale(mask);  // error: rgb_to_grayscale(x): x must be images of numbers with 3 channels, (N,H,W,3) or (H,W,3)
  grayscale_to_rgb(x);  // error: grayscale_to_rgb(x): x must be images with 1 channel, (N,H,W,1) or (H,W,1)
  adjust_brightness(matrix, 0.1);  // error: adjust_brightness(x, delta): x must be images of numbers, (N,H,W,C) or (H,W,C)
  adjust_contrast(mask, 2);  // error: adjust_contrast(x, factor): x must be images of numbers, (N,H,W,C) or (H,W,C)
  adjust_saturation(grey, 2);  // error: adjust_saturation(x, factor): x must be images of numbers with 3 channels, (N,H,W,3) or (H,W,3)
  adjust_hue(grey, 0.1);  // error: adjust_hue(x, delta): x must be images of numbers with 3 channels, (N,H,W,3) or (H,W,3)
  adjust_gamma(matrix, 2);  // error: adjust_gamma(x, gamma): x must be images of numbers, (N,H,W,C) or (H,W,C)
  random_brightness(matrix, 0.1);  // error: random_brightness(x, max_delta): x must be images of numbers, (N,H,W,C) or (H,W,C)
  random_contrast(matrix, 1, 2);  // error: random_contrast(x, lower, upper): x must be images of numbers, (N,H,W,C) or (H,W,C)
  random_saturation(grey, 1, 2);  // error: random_saturation(x, lower, upper): x must be images of numbers with 3 channels, (N,H,W,3) or (H,W,3)
  random_hue(grey, 0.1);  // error: random_hue(x, max_delta): x must be images of numbers with 3 channels, (N,H,W,3) or (H,W,3)
  per_image_standardization(any_size);  // error: per_image_standardization(x): x must be images of numbers, (N,H,W,C) or (H,W,C), H, W and C numbers from 1 on
  tf::dilation2d(x, wide);  // error: dilation2d(x, filter): x and filter must be of the same floating-point type; convert with cast<float>(x)
  tf::dilation2d(grey, filter);  // error: dilation2d(x, filter): x must be (N,H,W,C), H and W numbers from 1 on, and the filter (KH,KW,C)
  tf::dilation2d<tf::Dilation2dOptions{.strides = {0, 1}}>(x, filter);  // error: dilation2d<options>(x, filter): strides and dilations must be 1 or more, the padding same or valid
  tf::dilation2d<tf::Dilation2dOptions{.padding = tf::Padding::valid}>(x, large);  // error: dilation2d(x, filter): the filter must fit into x
  tf::erosion2d(x, wide);  // error: erosion2d(x, filter): x and filter must be of the same floating-point type; convert with cast<float>(x)
  tf::erosion2d(grey, filter);  // error: erosion2d(x, filter): x must be (N,H,W,C), H and W numbers from 1 on, and the filter (KH,KW,C)
  tf::erosion2d<tf::Dilation2dOptions{.strides = {0, 1}}>(x, filter);  // error: erosion2d<options>(x, filter): strides and dilations must be 1 or more, the padding same or valid
  tf::erosion2d<tf::Dilation2dOptions{.padding = tf::Padding::valid}>(x, large);  // error: erosion2d(x, filter): the filter must fit into x
  tf::extract_image_patches<tf::Patches2dOptions{.window = {2, 2}}>(bytes);  // error: extract_image_patches<options>(x): x must be (N,H,W,C), H and W numbers from 1 on, C a number
  tf::extract_image_patches<tf::Patches2dOptions{}>(x);  // error: extract_image_patches<options>(x): window, strides and dilations must be 1 or more, the padding same or valid
  tf::extract_image_patches<tf::Patches2dOptions{.window = {7, 2}}>(x);  // error: extract_image_patches<options>(x): the window must fit into x
  // clang-format on
#endif
}
