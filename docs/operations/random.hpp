// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row random_rows[] = {
    row<ops::RandomUniform, ops::RandomInteger>(
        "random_uniform", "random_uniform<T, D...>(g, label, low, high)", "() -> (D...)",
        "uniform in [low, high), which is [0, 1) by default; integers too",
        {.types = "floating, integers", .gradient = Gradient::no_tensors}),
    row<ops::Mul, ops::Sqrt, ops::Log, ops::Cos, ops::RandomUniform>(
        "random_normal", "random_normal<T, D...>(g, label, mean, deviation)", "() -> (D...)",
        "normal, standard by default", {.types = "floating", .gradient = Gradient::no_tensors}),
    row<ops::RandomTruncatedNormal>(
        "truncated_normal", "truncated_normal<T, D...>(g, label, mean, deviation)", "() -> (D...)",
        "normal within two deviations of the mean, by redrawing",
        {.types = "floating", .gradient = Gradient::no_tensors}),
    row<ops::Less, ops::RandomUniform>("bernoulli", "bernoulli(p, label)", "(S) -> (S)",
                                       "true with probability p",
                                       {.types = "floating", .gradient = Gradient::nothing}),
    row<ops::Sum, ops::Cast, ops::LessEqual, ops::CumSum, ops::Exp, ops::Max, ops::RandomUniform>(
        "categorical", "categorical<N>(logits, label)", "(..,K) -> (..,N)",
        "N classes drawn with the probabilities softmax(logits); one, and (..), without <N>",
        {.types = "floating", .gradient = Gradient::nothing}),
};
