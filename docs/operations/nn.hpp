// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row nn_rows[] = {
    row<ops::Softmax>("softmax", "softmax<axis>(x)", "(..,N) -> (..,N)",
                      "exp(x) / sum(exp(x)) along an axis, the last by default",
                      {.types = "floating"}),
    row<ops::LogSoftmax>("log_softmax", "log_softmax<axis>(x)", "(..,N) -> (..,N)",
                         "log(softmax(x)), without overflow", {.types = "floating"}),
    row<ops::SoftmaxCrossEntropy>("softmax_cross_entropy",
                                  "softmax_cross_entropy<axis>(logits, labels)",
                                  "(..,N) x (..,N) -> (..)",
                                  "-sum(labels * log_softmax(logits)) along an axis, the last by "
                                  "default; labels broadcast, and need not sum to 1",
                                  {.types = "floating"}),
    row<ops::SparseSoftmaxCrossEntropy>(
        "softmax_cross_entropy", "softmax_cross_entropy<axis>(logits, classes)",
        "(..,N) x (..) -> (..)",
        "-log_softmax(logits)[class]; NaN if the class is not in [0, N); classes broadcast",
        {.types = "floating; classes: integers"}),
    row<ops::Softplus, ops::Select, ops::Mul>(
        "sigmoid_cross_entropy", "sigmoid_cross_entropy(logits, labels)", "(S) x (S) -> (S)",
        "label softplus(-x) + (1 - label) softplus(x)", {.types = "floating"}),
    row<ops::Softplus, ops::Select, ops::Mul>(
        "weighted_cross_entropy", "weighted_cross_entropy(logits, labels, pos_weight)",
        "(S) x (S) -> (S)", "pos_weight label softplus(-x) + (1 - label) softplus(x)",
        {.types = "floating"}),
    row<ops::MaxPool, ops::MaxPoolGradient, ops::MaxPoolSelect>(
        "max_pool", "max_pool<size, stride>(x)", "(N,H,W,C) -> (N,H',W',C)",
        "the largest element of each window; NaN if any is NaN; gradients go to the first among "
        "equals; also max_pool<tf::PoolOptions<2>{...}>(x), and tf::PoolOptions<1>, "
        "tf::PoolOptions<3> for lines and "
        "volumes",
        {.types = "real"}),
    row<ops::MaxPoolArgmax, ops::MaxPool, ops::MaxPoolGradient, ops::MaxPoolSelect>(
        "max_pool_with_argmax", "max_pool_with_argmax<size, stride>(x)",
        "(N,H,W,C) -> (N,H',W',C), (N,H',W',C)",
        "max_pool(x), and the int64 positions of its elements in the flattened image, or in all of "
        "x with {.include_batch_in_index = true}",
        {.types = "real", .gradient = Gradient::any_order}),
    row<ops::ScatterMax, ops::SearchSorted, ops::Gather, ops::Maximum, ops::PoolingSequence,
        ops::Transpose>(
        "fractional_max_pool", "fractional_max_pool<h, w>(x)",
        "(N,H,W,C) -> (N,h,w,C), (h+1), (w+1)",
        "{values, rows, columns}: the largest elements of h x w regions that each run draws, and "
        "where they begin; fractional_max_pool<tf::PoolingRatio(1.44, 1.73)>(x) has ratios instead "
        "of extents; {.pseudo_random = true, .overlapping = true, .deterministic = true} are "
        "settings; in typeflow/pooling.hpp",
        {.types = "real", .gradient = Gradient::any_order}),
    row<ops::ScatterSum, ops::SearchSorted, ops::Gather, ops::Div, ops::PoolingSequence,
        ops::Transpose>("fractional_avg_pool", "fractional_avg_pool<h, w>(x)",
                        "(N,H,W,C) -> (N,h,w,C), (h+1), (w+1)",
                        "the same with the means of the regions; in typeflow/pooling.hpp",
                        {.types = "floating", .gradient = Gradient::any_order}),
    row<ops::AvgPool, ops::AvgPoolGradient>(
        "avg_pool", "avg_pool<size, stride>(x)", "(N,H,W,C) -> (N,H',W',C)",
        "the mean of each window, without padding; also avg_pool<tf::PoolOptions<2>{...}>(x), and "
        "tf::PoolOptions<1>, tf::PoolOptions<3> for lines and volumes; for the whole image use "
        "mean<1, 2>(x)"),
    row<ops::Div, ops::WindowSum>(
        "lrn", "lrn(x, {.depth_radius = r})", "(..,C) -> (..,C)",
        "x / (bias + alpha * sum of x^2 from r channels before to r channels after)^beta",
        {.types = "floating"}),
    row<ops::DepthwiseConv, ops::DepthwiseInputGradient, ops::DepthwiseFilterGradient>(
        "depthwise_conv2d", "depthwise_conv2d(x, w)", "(N,H,W,C) x (KH,KW,C,M) -> (N,H',W',C*M)",
        "each channel convolved with its own M filters; "
        "depthwise_conv2d<tf::ConvOptions<2>{...}>(x, w) "
        "sets strides, padding and dilations"),
    row<ops::Conv, ops::DepthwiseConv, ops::DepthwiseInputGradient, ops::DepthwiseFilterGradient,
        ops::ConvInputGradient, ops::ConvFilterGradient>(
        "separable_conv2d", "separable_conv2d(x, depthwise, pointwise)",
        "(N,H,W,C) x (KH,KW,C,M) x (1,1,C*M,F) -> (N,H',W',F)",
        "depthwise_conv2d, then a conv2d of 1x1; options as in depthwise_conv2d",
        {.types = "floating"}),
    row<ops::DepthwiseConv, ops::DepthwiseInputGradient, ops::DepthwiseFilterGradient>(
        "conv2d_in_plane", "conv2d_in_plane(x, w)", "(N,H,W,C) x (KH,KW,1,1) -> (N,H',W',C)",
        "each channel convolved with the same filter"),
    row<ops::Select, ops::RandomUniform, ops::Less, ops::Mul>(
        "dropout", "dropout(x, {.keep = p})", "(S) -> (S)",
        "in training x / p with probability p, else 0; in inference x"),
    row<ops::Add, ops::Mul, ops::Div, ops::Sqrt, ops::Mean>(
        "batch_norm", "batch_norm(g, name, x)", "(..,C) -> (..,C)",
        "(x - mean) / sqrt(variance + epsilon) * gamma + beta, with new variables name/gamma, "
        "name/beta, name/moving_mean, name/moving_variance; training uses mean and variance of the "
        "batch, inference their moving averages, which optimisers update",
        {.types = "floating"}),
    row<ops::Standardize>(
        "layer_norm", "layer_norm<axes...>(x)", "(..,N) -> (..,N)",
        "(x - mean) / sqrt(variance + epsilon) over axes, by default the last; layer_norm(g, name, "
        "x) multiplies by a new variable name/gamma and adds name/beta"),
    row<ops::Standardize>("group_norm", "group_norm<groups>(x)", "(N,..,C) -> (N,..,C)",
                          "as layer_norm, for each sample over a group of channels and all axes "
                          "between; group_norm<groups>(g, name, x) has name/gamma and name/beta"),
    row<ops::Standardize>("instance_norm", "instance_norm(x)", "(N,..,C) -> (N,..,C)",
                          "as layer_norm, for each sample and channel over all axes between; "
                          "instance_norm(g, name, x) has name/gamma and name/beta"),
    row<ops::MatMul, ops::Softmax, ops::MaskedSoftmax>(
        "attention", "attention(q, k, v, mask, {.causal = c})",
        "(..,T,D) x (..,S,D) x (..,S,E) -> (..,T,E)",
        "softmax(q k^T / sqrt(D)) v over the keys that a query may see, by the optional mask "
        "(booleans, or numbers to add) and by causality; 0 if it sees none",
        {.types = "floating"}),
    row<ops::MatMul, ops::Softmax, ops::MaskedSoftmax>(
        "multi_head_attention", "multi_head_attention<heads>(g, name, x)", "(B,T,C) -> (B,T,C)",
        "self-attention with several heads; new variables name/query/W, name/query/b, and the same "
        "for key, value and output",
        {.types = "floating"}),
    row<ops::MatMul, ops::Add>("dense", "dense<N>(g, name, x)", "(..,K) -> (..,N)",
                               "x W + b with new variables name/W and name/b",
                               {.types = "floating"}),
    row<ops::Gather, ops::IndexedSlices>(
        "embedding", "embedding<N, D>(g, name, ids)", "(I...) -> (I...,D)",
        "the rows `ids` of a new variable name/W, (N,D)", {.types = "floating", .sparse = true}),
    row<ops::Reshape>("flatten", "flatten(x)", "(N,A,B,..) -> (N,A*B*..)",
                      "all axes after the first merged into one, in row-major order",
                      {.types = "any"}),
};
