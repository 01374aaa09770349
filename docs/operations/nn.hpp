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
    row<ops::MaxPoolArgmax, ops::MaxPool, ops::MaxPoolGradient, ops::MaxPoolSelect>(
        "max_pool_with_argmax", "max_pool_with_argmax<size, stride>(x)",
        "(N,H,W,C) -> (N,H',W',C), (N,H',W',C)",
        "max_pool(x) and the int64 positions of its elements in the flat image, or in x with "
        "{.include_batch_in_index = true}",
        {.types = "real", .gradient = Gradient::any_order}),
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
    row<ops::Conv, ops::DepthwiseConv, ops::DepthwiseInputGradient, ops::DepthwiseFilterGradient,
        ops::ConvInputGradient, ops::ConvFilterGradient>(
        "separable_conv2d", "separable_conv2d(x, depthwise, pointwise)",
        "(N,H,W,C) x (KH,KW,C,M) x (1,1,C*M,F) -> (N,H',W',F)",
        "conv2d of the channels of depthwise_conv2d, pixel by pixel; options as there",
        {.types = "floating"}),
    row<ops::DepthwiseConv, ops::DepthwiseInputGradient, ops::DepthwiseFilterGradient>(
        "conv2d_in_plane", "conv2d_in_plane(x, w)", "(N,H,W,C) x (KH,KW,1,1) -> (N,H',W',C)",
        "each channel convolved with the same filter"),
    row<ops::Select, ops::RandomUniform, ops::Less, ops::Mul>(
        "dropout", "dropout(x, {.keep = p})", "(S) -> (S)",
        "in training x / p with probability p, else 0; in inference x"),
    row<ops::Add, ops::Mul, ops::Div, ops::Sqrt, ops::Mean>(
        "batch_norm", "batch_norm(g, name, x)", "(..,C) -> (..,C)",
        "(x - mean) / sqrt(variance + epsilon) * gamma + beta with new variables name/gamma, "
        "name/beta, name/moving_mean, name/moving_variance; in training mean and variance of the "
        "batch, in inference their moving averages, which minimize moves",
        {.types = "floating"}),
    row<ops::Standardize>(
        "layer_norm", "layer_norm<axes...>(x)", "(..,N) -> (..,N)",
        "(x - mean) / sqrt(variance + epsilon) over axes, the last if none is named; "
        "layer_norm(g, name, x) times a new variable name/gamma plus name/beta"),
    row<ops::Standardize>(
        "group_norm", "group_norm<groups>(x)", "(N,..,C) -> (N,..,C)",
        "the same for each sample over parts of its channels and all axes between; "
        "group_norm<groups>(g, name, x) with name/gamma and name/beta"),
    row<ops::Standardize>("instance_norm", "instance_norm(x)", "(N,..,C) -> (N,..,C)",
                          "the same for each sample and channel; instance_norm(g, name, x) with "
                          "name/gamma and name/beta"),
    row<ops::MatMul, ops::Softmax, ops::Select>(
        "attention", "attention(q, k, v, mask, {.causal = c})",
        "(..,T,D) x (..,S,D) x (..,S,E) -> (..,T,E)",
        "softmax(q k^T / sqrt(D)) v over the keys that the mask (optional; booleans, or numbers to "
        "add) and causality let a query see; 0 if it sees none",
        {.types = "floating"}),
    row<ops::MatMul, ops::Softmax, ops::Select>(
        "multi_head_attention", "multi_head_attention<heads>(g, name, x)", "(B,T,C) -> (B,T,C)",
        "attention of x to itself by several heads, with new variables name/query/W, name/query/b, "
        "and those of key, value and output",
        {.types = "floating"}),
    row<ops::MatMul, ops::Add>("dense", "dense<N>(g, name, x)", "(..,K) -> (..,N)",
                               "x W + b with new variables name/W and name/b",
                               {.types = "floating"}),
    row<ops::Gather, ops::IndexedSlices>("embedding", "embedding<N, D>(g, name, ids)",
                                         "(I...) -> (I...,D)",
                                         "the rows of a new variable name/W, (N,D), that ids name",
                                         {.types = "floating", .sparse = true}),
    row<ops::Reshape>("flatten", "flatten(x)", "(N,A,B,..) -> (N,A*B*..)",
                      "the axes behind the first as one, in row-major order", {.types = "any"}),
};
