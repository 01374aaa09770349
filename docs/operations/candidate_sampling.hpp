// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/candidate_sampling/losses.hpp"
#include "typeflow/candidate_sampling/unigram.hpp"

inline constexpr Row candidate_sampling_rows[] = {
    row<ops::CandidateSampler>("log_uniform_candidate_sampler",
                               "log_uniform_candidate_sampler<S>(true_classes, options)",
                               "(L) -> (S), (L), (S), ()",
                               "S sampled classes, lower ones more often, and the expected counts",
                               {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::CandidateSampler>(
        "uniform_candidate_sampler", "uniform_candidate_sampler<S>(true_classes, options)",
        "(L) -> (S), (L), (S), ()", "the same, with all classes equally likely",
        {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::UnigramSampler, ops::CumSum, ops::Gather>(
        "fixed_unigram_candidate_sampler",
        "fixed_unigram_candidate_sampler<S>(true_classes, weights, options)",
        "(L) x (V) -> (S), (L), (S), ()",
        "the same, with classes drawn in proportion to weight^distortion",
        {.types = "integers; weights: real", .gradient = Gradient::nothing}),
    row<ops::UnigramSampler, ops::CumSum, ops::Gather, ops::ScatterAdd>(
        "learned_unigram_candidate_sampler",
        "learned_unigram_candidate_sampler<S, V>(g, name, true_classes, options)",
        "(L) -> (S), (L), (S), ()",
        "the same, with classes drawn in proportion to how often each was a true class, by a new "
        "variable name/counts, to which training steps add",
        {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::BroadcastTo>("all_candidate_sampler", "all_candidate_sampler<S>(true_classes)",
                          "(L) -> (S), (L), (S), ()",
                          "the classes 0 ... S-1, each with the expected count 1",
                          {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::Add, ops::Gather, ops::ScatterSum, ops::MatMul, ops::Softplus, ops::CandidateSampler>(
        "nce_loss", "nce_loss<S>(weights, biases, labels, inputs)",
        "(V,D) x (V) x (B,T) x (B,D) -> (B)",
        "noise-contrastive loss over the true classes and S sampled ones",
        {.types = "float, double", .sparse = true}),
    row<ops::Sub, ops::Gather, ops::ScatterSum, ops::MatMul, ops::LogSumExp, ops::CandidateSampler>(
        "sampled_softmax_loss", "sampled_softmax_loss<S>(weights, biases, labels, inputs)",
        "(V,D) x (V) x (B,T) x (B,D) -> (B)",
        "softmax cross entropy over the true classes and S sampled ones",
        {.types = "float, double", .sparse = true}),
};
