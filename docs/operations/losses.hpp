// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/losses.hpp"

inline constexpr Row losses_rows[] = {
    row<ops::Mul, ops::Sum, ops::Div, ops::Select, ops::NotEqual>(
        "compute_weighted_loss", "compute_weighted_loss<reduction>(losses, weights)",
        "(B,...) -> ()", "sum(losses * weights) / number of nonzero weights",
        {.types = "floating"}),
    row<ops::Abs, ops::Sub, ops::Sum>(
        "absolute_difference", "absolute_difference(predictions, labels, weights)",
        "(B,...) x (B,...) -> ()", "|prediction - label|", {.types = "floating"}),
    row<ops::Square, ops::Sub, ops::Sum>(
        "mean_squared_error", "mean_squared_error(predictions, labels, weights)",
        "(B,...) x (B,...) -> ()", "(prediction - label)^2", {.types = "floating"}),
    row<ops::Abs, ops::Minimum, ops::Square, ops::Sum>(
        "huber_loss", "huber_loss(predictions, labels, weights, {.delta = 1})",
        "(B,...) x (B,...) -> ()",
        "with d = |prediction - label|: d^2 / 2 if d <= delta, else delta d - delta^2 / 2",
        {.types = "floating"}),
    row<ops::Exp, ops::Mul, ops::Log, ops::Select, ops::Sum>(
        "log_poisson_loss", "log_poisson_loss(log_input, labels, weights, options)",
        "(B,...) x (B,...) -> ()",
        "exp(x) - x label; with compute_full_loss plus an approximation of log(label!)",
        {.types = "floating"}),
    row<ops::Mul, ops::Sum>(
        "cosine_distance", "cosine_distance<reduction, axis>(predictions, labels, weights)",
        "(B,D) x (B,D) -> ()", "1 - sum(prediction * label) along an axis", {.types = "floating"}),
    row<ops::Sub, ops::Square, ops::Mean, ops::Sum>(
        "mean_pairwise_squared_error", "mean_pairwise_squared_error(predictions, labels, weights)",
        "(B,...) x (B,...) -> ()",
        "mean over pairs i, j of a sample's elements of ((y_i - y_j) - (t_i - t_j))^2, summed over "
        "samples",
        {.types = "floating"}),
    row<ops::Relu, ops::Mul, ops::Sum>(
        "hinge_loss", "hinge_loss(logits, labels, weights)", "(B,...) x (B,...) -> ()",
        "max(0, 1 - s logit); s = 1 for label 1, -1 for label 0", {.types = "floating"}),
    row<ops::Log, ops::Mul, ops::Sum>(
        "log_loss", "log_loss(predictions, labels, weights, {.epsilon = 1e-7})",
        "(B,...) x (B,...) -> ()", "-label log(p + epsilon) - (1 - label) log(1 - p + epsilon)",
        {.types = "floating"}),
    row<ops::Softplus, ops::Select, ops::Mul, ops::Sum>(
        "sigmoid_cross_entropy_loss",
        "sigmoid_cross_entropy_loss(logits, labels, weights, {.label_smoothing = 0})",
        "(B,...) x (B,...) -> ()", "sigmoid_cross_entropy, weighted and reduced",
        {.types = "floating"}),
    row<ops::Softplus, ops::Select, ops::Mul, ops::Sum>(
        "weighted_cross_entropy_loss",
        "weighted_cross_entropy_loss(logits, labels, pos_weight, weights)",
        "(B,...) x (B,...) -> ()", "weighted_cross_entropy, weighted and reduced",
        {.types = "floating"}),
    row<ops::SoftmaxCrossEntropy, ops::SparseSoftmaxCrossEntropy, ops::LogSoftmax, ops::Sum>(
        "softmax_cross_entropy_loss",
        "softmax_cross_entropy_loss<reduction, axis>(logits, labels, weights, options)",
        "(B,N) x (B,N) or (B) -> ()", "softmax_cross_entropy, weighted and reduced",
        {.types = "floating; classes: integers"}),
    row<ops::Log, ops::Maximum, ops::Minimum, ops::Mul, ops::Sum>(
        "kl_divergence", "kl_divergence<reduction, axis>(predictions, labels, weights, options)",
        "(B,N) x (B,N) -> ()", "sum(label log(label / prediction)) along an axis",
        {.types = "floating"}),
};
