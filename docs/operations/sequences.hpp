// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/sequences.hpp"

inline constexpr Row sequences_rows[] = {
    row<ops::CtcLoss, ops::CtcLossGradient>(
        "ctc_loss", "ctc_loss(logits, labels, label_lengths, logit_lengths)",
        "(T,B,C) x (B,L) x (B) x (B) -> (B)",
        "-log of the probability that a sequence reads as the labels (connectionist temporal "
        "classification); the blank is the last class, or {.blank = k}",
        {.types = "floating; labels: integers"}),
    row<ops::CtcCollapse, ops::ArgMax, ops::Max, ops::Sum>(
        "ctc_greedy_decoder", "ctc_greedy_decoder(logits, logit_lengths)",
        "(T,B,C) x (B) -> (B,T), (B), (B)",
        "the labels read from each step's best class, padded with -1; their number; and minus the "
        "sum of the best logits",
        {.types = "floating; lengths: integers", .gradient = Gradient::any_order}),
    row<ops::CtcBeamSearch>(
        "ctc_beam_search_decoder", "ctc_beam_search_decoder<n>(logits, logit_lengths)",
        "(T,B,C) x (B) -> (B,n,T), (B,n), (B,n)",
        "the n most probable label sequences, padded with -1; their number; and their "
        "log-probabilities; {.beam_width = 100, .merge_repeated = false} are settings",
        {.types = "floating; lengths: integers"}),
    row<ops::EditDistance>("edit_distance",
                           "edit_distance(hypotheses, lengths, truths, truth_lengths)",
                           "(B,M) x (B) x (B,N) x (B) -> (B)",
                           "the smallest number of insertions, deletions and substitutions, "
                           "divided by the truth's length unless {.normalize = false}"),
};
