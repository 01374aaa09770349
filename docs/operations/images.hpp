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
};
