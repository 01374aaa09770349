// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/images.hpp"

inline constexpr Row images_rows[] = {
    row<ops::ResizeAxis>(
        "resize", "resize<height, width, options>(x)", "(N,H,W,C) -> (N,height,width,C)",
        "images of another size, bilinear unless `tf::Resize` says nearest, bicubic or area, with "
        "half-pixel centres unless it says legacy or align_corners",
        {.types = "floating; nearest: any"}),
    row<ops::Slice, ops::Pad>(
        "crop_or_pad", "crop_or_pad<height, width>(x)", "(N,H,W,C) -> (N,height,width,C)",
        "images of another size about the same centre, cut or with zeros", {.types = "any"}),
    row<ops::Slice, ops::Pad>("central_crop", "central_crop<numerator, denominator>(x)",
                              "(N,H,W,C) -> (N,H',W',C)", "a fraction of each side, in the middle",
                              {.types = "any"}),
    row<ops::Gather, ops::RandomUniform, ops::ScatterSum>(
        "random_crop", "random_crop<height, width>(x)", "(N,H,W,C) -> (N,height,width,C)",
        "a part of each image, its place drawn anew in each run", {.types = "any"}),
    row<ops::Select, ops::Gather, ops::Mul, ops::Floor, ops::Ceil, ops::ScatterSum>(
        "crop_and_resize", "crop_and_resize<height, width, options>(x, boxes, box_indices)",
        "(N,H,W,C) x (B,4) x (B) -> (B,height,width,C)",
        "boxes (y1, x1, y2, x2) in [0, 1] cut out of images and resized, bilinear unless "
        "`tf::CropAndResize` says nearest",
        {.types = "floating; box_indices: integers"}),
};
