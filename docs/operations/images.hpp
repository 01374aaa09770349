// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/images.hpp"

inline constexpr Row images_rows[] = {
    row<ops::ResizeAxis>("resize", "resize<height, width, options>(x)",
                         "(N,H,W,C) -> (N,height,width,C)",
                         "images of another size; bilinear with half-pixel centres by default; "
                         "`tf::ResizeOptions` selects "
                         "nearest, bicubic or area, and legacy or align_corners",
                         {.types = "floating; nearest: any"}),
    row<ops::Slice, ops::Pad>(
        "crop_or_pad", "crop_or_pad<height, width>(x)", "(N,H,W,C) -> (N,height,width,C)",
        "images of another size about the same centre, cropped or padded with zeros",
        {.types = "any"}),
    row<ops::Slice, ops::Pad>(
        "central_crop", "central_crop<numerator, denominator>(x)", "(N,H,W,C) -> (N,H',W',C)",
        "the middle part of each image, a fraction of each side", {.types = "any"}),
    row<ops::Gather, ops::RandomUniform, ops::ScatterSum>(
        "random_crop", "random_crop<height, width>(x)", "(N,H,W,C) -> (N,height,width,C)",
        "a part of each image at a random place, drawn anew in each run", {.types = "any"}),
    row<ops::Select, ops::Gather, ops::Mul, ops::Floor, ops::Ceil, ops::ScatterSum>(
        "crop_and_resize", "crop_and_resize<height, width, options>(x, boxes, box_indices)",
        "(N,H,W,C) x (B,4) x (B) -> (B,height,width,C)",
        "boxes (y1, x1, y2, x2) in [0, 1], cut out of images and resized; bilinear, or nearest by "
        "`tf::CropAndResizeOptions`",
        {.types = "floating; box_indices: integers"}),
    row<ops::NonMaxSuppression>("non_max_suppression", "non_max_suppression<most>(boxes, scores)",
                                "(B,4) x (B) -> (most), ()",
                                "{indices, count}: the boxes with the highest scores, without "
                                "those that overlap a kept box too much",
                                {.types = "floating"}),
    row<ops::Select, ops::Gather, ops::Max, ops::ScatterSum>(
        "draw_bounding_boxes", "draw_bounding_boxes(x, boxes, colors)",
        "(N,H,W,C) x (N,B,4) x (K,C) -> (N,H,W,C)",
        "x with frames around boxes, in ten default colours or the given ones",
        {.types = "floating"}),
    row<ops::Reverse>("flip_left_right", "flip_left_right(x)", "(N,H,W,C) -> (N,H,W,C)",
                      "left and right swapped", {.types = "any"}),
    row<ops::Reverse>("flip_up_down", "flip_up_down(x)", "(N,H,W,C) -> (N,H,W,C)",
                      "top and bottom swapped", {.types = "any"}),
    row<ops::Select, ops::Reverse, ops::RandomUniform>(
        "random_flip_left_right", "random_flip_left_right(x)", "(N,H,W,C) -> (N,H,W,C)",
        "left and right swapped in half of the images, drawn anew in each run", {.types = "any"}),
    row<ops::Select, ops::Reverse, ops::RandomUniform>(
        "random_flip_up_down", "random_flip_up_down(x)", "(N,H,W,C) -> (N,H,W,C)",
        "top and bottom swapped in half of the images, drawn anew in each run", {.types = "any"}),
    row<ops::Transpose>("transpose_image", "transpose_image(x)", "(N,H,W,C) -> (N,W,H,C)",
                        "rows and columns swapped", {.types = "any"}),
    row<ops::Transpose, ops::Reverse>("rot90", "rot90<turns>(x)", "(N,H,W,C) -> (N,W,H,C)",
                                      "turned counter-clockwise by `turns` right angles",
                                      {.types = "any"}),
    row<ops::Cast, ops::Mul>(
        "convert_image_dtype", "convert_image_dtype<T>(x)", "(S) -> (S)",
        "elements of type T, with black and white of x mapped to those of T; saturates",
        {.types = "real"}),
    row<ops::Slice, ops::Maximum, ops::Div, ops::Concat>(
        "rgb_to_hsv", "rgb_to_hsv(x)", "(N,H,W,3) -> (N,H,W,3)",
        "hue, saturation and value, in [0, 1]", {.types = "floating"}),
    row<ops::Slice, ops::Mul, ops::Concat>("hsv_to_rgb", "hsv_to_rgb(x)", "(N,H,W,3) -> (N,H,W,3)",
                                           "the inverse of rgb_to_hsv", {.types = "floating"}),
    row<ops::Slice, ops::Mul, ops::Add>(
        "rgb_to_grayscale", "rgb_to_grayscale(x)", "(N,H,W,3) -> (N,H,W,1)",
        "0.2989 red + 0.5870 green + 0.1140 blue", {.types = "real"}),
    row<ops::BroadcastTo>("grayscale_to_rgb", "grayscale_to_rgb(x)", "(N,H,W,1) -> (N,H,W,3)",
                          "three equal channels", {.types = "any"}),
    row<ops::Add>("adjust_brightness", "adjust_brightness(x, delta)", "(N,H,W,C) -> (N,H,W,C)",
                  "x + delta", {.types = "real"}),
    row<ops::Add>("random_brightness", "random_brightness(x, max_delta)", "(N,H,W,C) -> (N,H,W,C)",
                  "x + delta; delta is drawn from [-max_delta, max_delta) for each image",
                  {.types = "real"}),
    row<ops::Mul, ops::Mean>("adjust_contrast", "adjust_contrast(x, factor)",
                             "(N,H,W,C) -> (N,H,W,C)",
                             "(x - mean) * factor + mean, for each channel", {.types = "real"}),
    row<ops::Mul, ops::Mean>(
        "random_contrast", "random_contrast(x, lower, upper)", "(N,H,W,C) -> (N,H,W,C)",
        "adjust_contrast with a factor drawn from [lower, upper) for each image",
        {.types = "real"}),
    row<ops::Mul, ops::Slice, ops::Concat>(
        "adjust_saturation", "adjust_saturation(x, factor)", "(N,H,W,3) -> (N,H,W,3)",
        "the saturation multiplied by a factor", {.types = "real"}),
    row<ops::Mul, ops::Slice, ops::Concat>(
        "random_saturation", "random_saturation(x, lower, upper)", "(N,H,W,3) -> (N,H,W,3)",
        "adjust_saturation with a factor drawn from [lower, upper) for each image",
        {.types = "real"}),
    row<ops::Mul, ops::Slice, ops::Concat>(
        "adjust_hue", "adjust_hue(x, delta)", "(N,H,W,3) -> (N,H,W,3)",
        "the hue shifted by delta; 1 is a whole turn", {.types = "real"}),
    row<ops::Mul, ops::Slice, ops::Concat>(
        "random_hue", "random_hue(x, max_delta)", "(N,H,W,3) -> (N,H,W,3)",
        "adjust_hue with a delta drawn from [-max_delta, max_delta) for each image",
        {.types = "real"}),
    row<ops::Pow, ops::Mul>("adjust_gamma", "adjust_gamma(x, gamma, gain)",
                            "(N,H,W,C) -> (N,H,W,C)", "gain * x^gamma", {.types = "real"}),
    row<ops::Div, ops::Mean, ops::Sqrt>(
        "per_image_standardization", "per_image_standardization(x)", "(N,H,W,C) -> (N,H,W,C)",
        "(x - mean) / deviation for each image; the deviation is at least 1 / sqrt(H W C)",
        {.types = "real"}),
    row<ops::Maximum, ops::Add, ops::Slice, ops::Pad>(
        "dilation2d", "dilation2d<options>(x, filter)", "(N,H,W,C) x (KH,KW,C) -> (N,H',W',C)",
        "the maximum over a window of x + filter, for each channel", {.types = "floating"}),
    row<ops::Maximum, ops::Add, ops::Slice, ops::Pad>(
        "erosion2d", "erosion2d<options>(x, filter)", "(N,H,W,C) x (KH,KW,C) -> (N,H',W',C)",
        "the minimum over a window of x - filter, the filter turned around", {.types = "floating"}),
    row<ops::Concat, ops::Slice, ops::Pad>(
        "extract_image_patches", "extract_image_patches<options>(x)",
        "(N,H,W,C) -> (N,H',W',KH*KW*C)", "each window as channels", {.types = "any"}),
};
