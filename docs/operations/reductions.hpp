// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reductions, norms, and operations that go along an axis: running sums and products, orders.

#include "rows.hpp"

inline constexpr Row reductions_rows[] = {
    row<ops::Sum>("sum", "sum<axes...>(x)", "(A,B,C) -> (A,C) for sum<1>", "the sum"),
    row<ops::Prod, ops::CumProd, ops::LinearRecurrence, ops::Shift>(
        "prod", "prod<axes...>(x)", "(A,B,C) -> (A,C) for prod<1>",
        "the product; its gradient is also right at zeros"),
    row<ops::Mean>("mean", "mean<axes...>(x)", "(A,B,C) -> (A,C) for mean<1>",
                   "the arithmetic mean; NaN without elements"),
    row<ops::Max>("max", "max<axes...>(x)", "(A,B,C) -> (A,C) for max<1>",
                  "the largest element; NaN if any is NaN; without elements -inf or the type's "
                  "lowest number"),
    row<ops::Min>("min", "min<axes...>(x)", "(A,B,C) -> (A,C) for min<1>",
                  "the smallest element; NaN if any is NaN; without elements inf or the type's "
                  "largest number"),
    row<ops::ArgMax>(
        "argmax", "argmax<axis>(x)", "(A,B,C) -> (A,C) for argmax<1>",
        "the int32 position of the largest element: the first among equals, numbers before NaN"),
    row<ops::ArgMin>(
        "argmin", "argmin<axis>(x)", "(A,B,C) -> (A,C) for argmin<1>",
        "the int32 position of the smallest element: the first among equals, numbers before NaN"),
    row<ops::Any>("any", "any<axes...>(x)", "(A,B,C) -> (A,C) for any<1>",
                  "whether any element is true; false without elements"),
    row<ops::All>("all", "all<axes...>(x)", "(A,B,C) -> (A,C) for all<1>",
                  "whether every element is true; true without elements"),
    row<ops::LogSumExp>("logsumexp", "logsumexp<axes...>(x)", "(A,B,C) -> (A,C) for logsumexp<1>",
                        "log(sum(e^x)), without overflow"),
    row<ops::Mean>("moments", "moments<axes...>(x)", "(A,B,C) -> (A,C), (A,C) for moments<1>",
                   "{mean, variance}: the means of x and of (x - mean)^2"),
    row<ops::Sum, ops::Square>("l2_loss", "l2_loss(x)", "(S) -> ()", "sum(x^2) / 2",
                               {.types = "floating"}),
    row<ops::Sqrt, ops::Sum, ops::Square>(
        "norm", "norm<axes...>(x)", "(A,B,C) -> (A,C) for norm<1>",
        "sqrt(sum(|x|^2)), a real number; its gradient at zeros is NaN"),
    row<ops::Sqrt, ops::Sum, ops::Square>("global_norm", "global_norm(x...)", "(S)... -> ()",
                                          "the norm of all elements of all tensors"),
    row<ops::Mul, ops::Sum, ops::Maximum, ops::Div, ops::Sqrt>(
        "l2_normalize", "l2_normalize<axes...>(x, epsilon)", "(S) -> (S)",
        "x / sqrt(max(sum(x^2), epsilon)), with sums over axes; epsilon is 1e-12 by default"),
    row<ops::Sum, ops::Cast, ops::NotEqual>(
        "count_nonzero", "count_nonzero<axes...>(x)", "(A,B,C) -> (A,C) for count_nonzero<1>",
        "the number of elements that are not 0, as int64; in typeflow/statistics.hpp",
        {.types = "any", .gradient = Gradient::nothing}),
    row<ops::Div, ops::Cast, ops::Sum, ops::Equal>(
        "zero_fraction", "zero_fraction(x)", "(S) -> ()",
        "the share of elements that are 0, a float; in typeflow/statistics.hpp",
        {.types = "any", .gradient = Gradient::nothing}),
    row<ops::Div, ops::Sum, ops::Mul, ops::Square, ops::Sub>(
        "weighted_moments", "weighted_moments<axes...>(x, weights)",
        "(A,B,C) x (A,B,C) -> (A,C), (A,C) for weighted_moments<1>",
        "{mean, variance}, where elements count as often as their weights say; weights broadcast; "
        "in typeflow/statistics.hpp",
        {.types = "floating"}),
    row<ops::Sum, ops::Square, ops::Sub>(
        "sufficient_statistics", "sufficient_statistics<axes...>(x, shift)",
        "(A,B,C) x () -> (), (A,C), (A,C) for sufficient_statistics<1>",
        "{count, sum, squares} of x - shift; in typeflow/statistics.hpp",
        {.types = "float, double"}),
    row<ops::Sub, ops::Div, ops::Square, ops::Add>(
        "normalize_moments", "normalize_moments(count, sum, squares, shift)",
        "() x (S) x (S) -> (S), (S)",
        "{mean, variance} of such sums, also normalize_moments(sums, shift); in "
        "typeflow/statistics.hpp",
        {.types = "floating"}),
    row<ops::Div, ops::Mul, ops::Maximum, ops::Select, ops::Sqrt, ops::Sum, ops::Square>(
        "clip_by_norm", "clip_by_norm<axes...>(x, limit)", "(S) x () -> (S)",
        "x * limit / max(norm<axes...>(x), limit); in typeflow/statistics.hpp",
        {.types = "floating"}),
    row<ops::Mul, ops::Select, ops::Minimum, ops::Div, ops::Sqrt, ops::Sum, ops::Square>(
        "clip_by_global_norm", "clip_by_global_norm(std::tuple{x...}, limit)",
        "(S)... x () -> (S)..., ()",
        "{tensors, norm}: all scaled by limit / max(norm, limit), where norm is "
        "global_norm(x...); NaN if it is infinite; in typeflow/statistics.hpp",
        {.types = "floating"}),
    row<ops::CumSum>("cumsum", "cumsum<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
                     "the sum of each element and those before it along the axis"),
    row<ops::CumProd, ops::LinearRecurrence, ops::Shift>(
        "cumprod", "cumprod<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "the product of each element and those before it along the axis; its gradient is also "
        "right at zeros"),
    row<ops::CumMax, ops::LinearRecurrence, ops::Shift>(
        "cummax", "cummax<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "the largest of each element and those before it along the axis; NaN from the first NaN "
        "on; gradients go to the first among equals"),
    row<ops::CumMin, ops::LinearRecurrence, ops::Shift>(
        "cummin", "cummin<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "the smallest of each element and those before it along the axis; NaN from the first NaN "
        "on; gradients go to the first among equals"),
    row<ops::CumLogSumExp, ops::CumMax, ops::LinearRecurrence, ops::Shift>(
        "cumlogsumexp", "cumlogsumexp<axis>(x, {.exclusive, .reverse})", "(S) -> (S)",
        "log(sum(e^x)) of each element and those before it along the axis, without overflow"),
    row<ops::TopK, ops::ScatterSum>(
        "top_k", "top_k<k>(x)", "(..,N) -> (..,k), (..,k)",
        "{values, indices}: the k largest elements of each row in descending order, and their "
        "int32 positions; among equals the lower position comes first; NaN counts as largest"),
    row<ops::TopK, ops::ScatterSum>("sort", "sort<axis>(x, {.descending})", "(S) -> (S)",
                                    "the elements along an axis, the last by default, in ascending "
                                    "(or .descending) order; NaN counts as largest"),
    row<ops::TopK>("argsort", "argsort<axis>(x, {.descending})", "(S) -> (S)",
                   "the int32 positions of the elements in ascending (or .descending) order; among "
                   "equals the lower position comes first",
                   {.gradient = Gradient::nothing}),
    row<ops::TopK, ops::Slice, ops::ScatterSum, ops::Pad, ops::Gather>(
        "percentile", "percentile<axes...>(x, q)", "(A,B,C) -> (A,C)",
        "the number below which q percent of the elements lie; interpolates linearly, or a third "
        "argument says PercentileMethod::lower, higher, nearest or midpoint; q is a number or a "
        "scalar",
        {.types = "floating"}),
    row<ops::LogicalAnd, ops::All, ops::Any, ops::Less, ops::Greater>(
        "in_top_k", "in_top_k(predictions, targets, k)", "(..,C) x (..) -> (..)",
        "whether fewer than k predictions of a row are larger than the target's; false if the row "
        "has NaN or infinity, or the target is no class",
        {.types = "floating, integers"}),
};
