// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reductions, norms, and operations that go along an axis: running sums and products, orders.

#include "rows.hpp"

inline constexpr Row reductions_rows[] = {
    row<ops::Sum>("sum", "sum<axes...>(x)", "(A,B,C) -> (A,C) for sum<1>",
                  "the sum over axes, all if none is named; with keep_dims they stay as 1"),
    row<ops::Prod, ops::CumProd, ops::LinearRecurrence, ops::Shift>(
        "prod", "prod<axes...>(x)", "(A,B,C) -> (A,C) for prod<1>",
        "the product; its gradient is right at zeros, too"),
    row<ops::Mean>("mean", "mean<axes...>(x)", "(A,B,C) -> (A,C) for mean<1>",
                   "the arithmetic mean; NaN of nothing"),
    row<ops::Max>("max", "max<axes...>(x)", "(A,B,C) -> (A,C) for max<1>",
                  "the largest element; NaN if there is one; of nothing -inf or the lowest"),
    row<ops::Min>("min", "min<axes...>(x)", "(A,B,C) -> (A,C) for min<1>",
                  "the smallest element; NaN if there is one; of nothing inf or the largest"),
    row<ops::ArgMax>("argmax", "argmax<axis>(x)", "(A,B,C) -> (A,C) for argmax<1>",
                     "the int32 position of the largest element: the first of equals, numbers "
                     "before NaN"),
    row<ops::ArgMin>("argmin", "argmin<axis>(x)", "(A,B,C) -> (A,C) for argmin<1>",
                     "the int32 position of the smallest element: the first of equals, numbers "
                     "before NaN"),
    row<ops::Any>("any", "any<axes...>(x)", "(A,B,C) -> (A,C) for any<1>",
                  "whether an element is true; false of nothing"),
    row<ops::All>("all", "all<axes...>(x)", "(A,B,C) -> (A,C) for all<1>",
                  "whether every element is true; true of nothing"),
    row<ops::LogSumExp>("logsumexp", "logsumexp<axes...>(x)", "(A,B,C) -> (A,C) for logsumexp<1>",
                        "log(sum(e^x)), without overflow"),
    row<ops::Mean>("moments", "moments<axes...>(x)", "(A,B,C) -> (A,C), (A,C) for moments<1>",
                   "{mean, variance}: the mean of x, and that of (x - mean)^2"),
    row<ops::Sum, ops::Square>("l2_loss", "l2_loss(x)", "(S) -> ()", "sum(x^2) / 2",
                               {.types = "floating"}),
    row<ops::Sqrt, ops::Sum, ops::Square>(
        "norm", "norm<axes...>(x)", "(A,B,C) -> (A,C) for norm<1>",
        "sqrt(sum(|x|^2)), a real number; the gradient of zeros is NaN"),
    row<ops::Sqrt, ops::Sum, ops::Square>("global_norm", "global_norm(x...)", "(S)... -> ()",
                                          "the norm of all elements of several tensors together"),
    row<ops::Mul, ops::Sum, ops::Maximum, ops::Div, ops::Sqrt>(
        "l2_normalize", "l2_normalize<axes...>(x, epsilon)", "(S) -> (S)",
        "x / sqrt(max(sum(x^2), epsilon)), with sums over axes; epsilon is 1e-12 by default"),
    row<ops::CumSum>("cumsum", "cumsum<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
                     "the sum of an element and those before it along the axis"),
    row<ops::CumProd, ops::LinearRecurrence, ops::Shift>(
        "cumprod", "cumprod<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "the product of an element and those before it along the axis; its gradient is right at "
        "zeros, too"),
    row<ops::CumMax, ops::LinearRecurrence, ops::Shift>(
        "cummax", "cummax<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "the largest of an element and those before it along the axis, NaN from the first one on; "
        "gradients go to the first of equals"),
    row<ops::CumMin, ops::LinearRecurrence, ops::Shift>(
        "cummin", "cummin<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "the smallest of an element and those before it along the axis, NaN from the first one on; "
        "gradients go to the first of equals"),
    row<ops::CumLogSumExp, ops::CumMax, ops::LinearRecurrence, ops::Shift>(
        "cumlogsumexp", "cumlogsumexp<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "log(sum(e^x)) of an element and those before it along the axis, without overflow"),
    row<ops::TopK, ops::ScatterSum>(
        "top_k", "top_k<k>(x)", "(..,N) -> (..,k), (..,k)",
        "{values, indices}: the k largest of each row in descending order and their int32 "
        "positions, the lower one first for equals; NaN is the largest"),
    row<ops::TopK, ops::ScatterSum>(
        "sort", "sort<axis>(x, {.descending})", "(S) -> (S)",
        "the elements in order along an axis, the last by default; NaN is the largest"),
    row<ops::TopK>("argsort", "argsort<axis>(x, {.descending})", "(S) -> (S)",
                   "the int32 positions of the elements in order; the lower one first for equals",
                   {.gradient = Gradient::nothing}),
    row<ops::TopK, ops::Slice, ops::ScatterSum, ops::Pad, ops::Gather>(
        "percentile", "percentile<axes...>(x, q)", "(A,B,C) -> (A,C)",
        "the number below which q percent of the elements lie, on the line between two of them or "
        "as a third argument says: PercentileMethod::lower, higher, nearest, midpoint; q is a "
        "number or a scalar",
        {.types = "floating"}),
    row<ops::LogicalAnd, ops::All, ops::Any, ops::Less, ops::Greater>(
        "in_top_k", "in_top_k(predictions, targets, k)", "(..,C) x (..) -> (..)",
        "whether less than k predictions of a row are larger than the target's; false where the "
        "row has NaN or infinity or the target is no class",
        {.types = "floating, integers"}),
};
