// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row nn_rows[] = {
    row<ops::Softmax>("softmax", "softmax<axis>(x)", "(..,N) -> (..,N)",
                      "exp(x) / sum(exp(x)) along an axis, the last unless one is named",
                      {.types = "floating"}),
    row<ops::LogSoftmax>("log_softmax", "log_softmax<axis>(x)", "(..,N) -> (..,N)",
                         "log(softmax(x)), without overflow", {.types = "floating"}),
    row<ops::SoftmaxCrossEntropy>("softmax_cross_entropy",
                                  "softmax_cross_entropy<axis>(logits, labels)",
                                  "(..,N) x (..,N) -> (..)",
                                  "-sum(labels * log_softmax(logits)) along an axis, the last "
                                  "unless one is named; the labels "
                                  "broadcast, and need not sum to 1",
                                  {.types = "floating"}),
    row<ops::SparseSoftmaxCrossEntropy>(
        "softmax_cross_entropy", "softmax_cross_entropy<axis>(logits, classes)",
        "(..,N) x (..) -> (..)",
        "-log_softmax(logits)[class]; NaN where the class is not in [0, N); the classes broadcast",
        {.types = "floating; classes: integers"}),
    row<ops::MaxPool, ops::MaxPoolGradient, ops::MaxPoolSelect>(
        "max_pool", "max_pool<size, stride>(x)", "(N,H,W,C) -> (N,H',W',C)",
        "the largest element of each window, the first of equals; NaN if there is one; or "
        "max_pool<tf::Pool2d{...}>(x), with tf::Pool1d and tf::Pool3d for other images",
        {.types = "real"}),
    row<ops::AvgPool, ops::AvgPoolGradient>(
        "avg_pool", "avg_pool<size, stride>(x)", "(N,H,W,C) -> (N,H',W',C)",
        "the mean of each window, padding excluded; or avg_pool<tf::Pool2d{...}>(x), with "
        "tf::Pool1d and tf::Pool3d for other images; of the whole image: mean<1, 2>(x)"),
    row<ops::Div, ops::WindowSum>(
        "lrn", "lrn(x, {.depth_radius = r})", "(..,C) -> (..,C)",
        "x / (bias + alpha * sum of x^2 over r channels on either side)^beta",
        {.types = "floating"}),
    row<ops::DepthwiseConv, ops::DepthwiseInputGradient, ops::DepthwiseFilterGradient>(
        "depthwise_conv2d", "depthwise_conv2d(x, w)", "(N,H,W,C) x (KH,KW,C,M) -> (N,H',W',C*M)",
        "each channel convolved with M filters of its own; "
        "depthwise_conv2d<tf::Conv2d{...}>(x, w) has strides, paddings and dilations"),
    row<ops::Select, ops::RandomUniform, ops::Less, ops::Mul>(
        "dropout", "dropout(x, {.keep = p})", "(S) -> (S)",
        "in training x / p with probability p, else 0; in inference x"),
    row<ops::Add, ops::Mul, ops::Div, ops::Sqrt, ops::Mean>(
        "batch_norm", "batch_norm(g, name, x)", "(..,C) -> (..,C)",
        "(x - mean) / sqrt(variance + epsilon) * gamma + beta with new variables name/gamma, "
        "name/beta, name/moving_mean, name/moving_variance; in training mean and variance of the "
        "batch, in inference their moving averages, which minimize moves",
        {.types = "floating"}),
    row<ops::MatMul, ops::Add>("dense", "dense<N>(g, name, x)", "(B,K) -> (B,N)",
                               "x W + b with new variables name/W and name/b",
                               {.types = "floating"}),
};
