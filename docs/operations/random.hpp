// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/random.hpp"

inline constexpr Row random_rows[] = {
    row<ops::RandomUniform, ops::RandomInteger>(
        "random_uniform", "random_uniform<T, D...>(g, label, low, high)", "() -> (D...)",
        "uniform in [low, high), by default [0, 1); also integers",
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
        "N classes drawn with probabilities softmax(logits); without <N> one class, with the shape "
        "(..)",
        {.types = "floating", .gradient = Gradient::nothing}),
    row<ops::Mul, ops::Log1p, ops::Neg, ops::RandomUniform>(
        "random_exponential", "random_exponential<T, D...>(g, label, rate)", "() -> (D...)",
        "exponential; in typeflow/random.hpp",
        {.types = "floating", .gradient = Gradient::no_tensors}),
    row<ops::RandomGamma, ops::GammaSlope>(
        "random_gamma", "random_gamma(alpha, label)", "(S) -> (S)",
        "gamma, with shape alpha and scale 1; in typeflow/random.hpp",
        {.types = "floating", .gradient = Gradient::once}),
    row<ops::Sigmoid, ops::Sub, ops::RandomGamma, ops::GammaSlope>(
        "random_beta", "random_beta(a, b, label)", "(S) x (S) -> (S)",
        "beta; in typeflow/random.hpp", {.types = "floating", .gradient = Gradient::once}),
    row<ops::RandomPoisson>("random_poisson", "random_poisson(rate, label)", "(S) -> (S)",
                            "Poisson, as floating-point numbers; in typeflow/random.hpp",
                            {.types = "floating", .gradient = Gradient::nothing}),
    row<ops::RandomBinomial>(
        "random_binomial", "random_binomial(n, p, label)", "(S) x (S) -> (S)",
        "successes in n trials of probability p, as floating-point numbers; in typeflow/random.hpp",
        {.types = "floating", .gradient = Gradient::nothing}),
    row<ops::RandomVonMises, ops::VonMisesSlope>(
        "random_von_mises", "random_von_mises(concentration, label)", "(S) -> (S)",
        "angles in [-pi, pi], density proportional to exp(concentration cos(x)); in "
        "typeflow/random.hpp",
        {.types = "floating", .gradient = Gradient::once}),
};
