// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row convolutions_rows[] = {
    row<ops::Conv, ops::ConvInputGradient, ops::ConvFilterGradient>(
        "conv1d", "conv1d<options>(x, w)", "(N,W,C) x (K,C/groups,F) -> (N,W',F)",
        "sums of products of a kernel with each window of a line; options: a tf::ConvOptions<1>",
        {.types = "floating"}),
    row<ops::Conv, ops::ConvInputGradient, ops::ConvFilterGradient>(
        "conv2d", "conv2d<options>(x, w)", "(N,H,W,C) x (KH,KW,C/groups,F) -> (N,H',W',F)",
        "the same for an image; options: a tf::ConvOptions<2>, with strides, padding "
        "(tf::Padding::same, "
        "valid or given), dilations, groups",
        {.types = "floating"}),
    row<ops::Conv, ops::ConvInputGradient, ops::ConvFilterGradient>(
        "conv3d", "conv3d<options>(x, w)", "(N,D,H,W,C) x (KD,KH,KW,C/groups,F) -> (N,D',H',W',F)",
        "the same for a volume; options: a tf::ConvOptions<3>", {.types = "floating"}),
    row<ops::ConvInputGradient, ops::Conv, ops::ConvFilterGradient>(
        "conv2d_transpose", "conv2d_transpose<options>(y, w)",
        "(N,H',W',F) x (KH,KW,C/groups,F) -> (N,H,W,C)",
        "the gradient of conv2d for x: each element of y adds its multiple of the kernel to the "
        "result; H = H' * stride with same padding, (H' - 1) * stride + the kernel's reach with "
        "valid",
        {.types = "floating"}),
    row<ops::ConvInputGradient, ops::Conv, ops::ConvFilterGradient>(
        "conv3d_transpose", "conv3d_transpose<options>(y, w)",
        "(N,D',H',W',F) x (KD,KH,KW,C/groups,F) -> (N,D,H,W,C)",
        "the gradient of conv3d for x, as conv2d_transpose", {.types = "floating"}),
};
