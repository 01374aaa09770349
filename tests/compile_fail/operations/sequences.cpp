// SPDX-License-Identifier: Apache-2.0

// What operations on sequences of labels refuse.

#include "typeflow/graph.hpp"
#include "typeflow/sequences/ctc.hpp"
#include "typeflow/sequences/ctc_beam_search_decoder.hpp"
#include "typeflow/sequences/ctc_greedy_decoder.hpp"
#include "typeflow/sequences/edit_distance.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto logits = tf::placeholder<float, 7, tf::batch, 5>(g, "logits");
  auto matrix = tf::placeholder<float, 7, 5>(g, "matrix");
  auto open = tf::placeholder<float, 7, 3, tf::batch>(g, "open");
  auto labels = tf::placeholder<std::int32_t, tf::batch, 4>(g, "labels");
  auto others = tf::placeholder<std::int32_t, 2, 4>(g, "others");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  auto real = tf::placeholder<float, tf::batch>(g, "real");
  tf::ctc_loss(logits, labels, lengths, lengths).named("right");
#ifndef CORRECTED
  // clang-format off
  tf::ctc_loss(matrix, labels, lengths, lengths);   // error: ctc_loss(logits, labels, label_lengths, logit_lengths): the logits must be floating-point, (T,B,C)
  tf::ctc_loss(logits, labels, real, lengths);      // error: ctc_loss(logits, labels, label_lengths, logit_lengths): labels and lengths must be integers
  tf::ctc_loss(open, labels, lengths, lengths);     // error: ctc_loss(logits, labels, label_lengths, logit_lengths): the classes must be a number, 1 or more
  tf::ctc_loss(logits, others, lengths, lengths);   // error: ctc_loss(logits, labels, label_lengths, logit_lengths): the labels must be (B,L), and both lengths (B)
  tf::ctc_greedy_decoder(matrix, lengths);          // error: ctc_greedy_decoder(logits, logit_lengths): the logits must be floating-point, (T,B,C)
  tf::ctc_greedy_decoder(open, lengths);            // error: ctc_greedy_decoder(logits, logit_lengths): the classes must be a number, 1 or more
  tf::ctc_greedy_decoder(logits, real);             // error: ctc_greedy_decoder(logits, logit_lengths): the lengths must be integers, (B)
  tf::edit_distance(labels, real, labels, lengths);     // error: edit_distance(hypotheses, lengths, truths, truth_lengths): sequences and lengths must be integers
  tf::edit_distance(labels, lengths, others, lengths);  // error: edit_distance(hypotheses, lengths, truths, truth_lengths): the sequences must be (B,M) and (B,N), and both lengths (B)
  tf::ctc_beam_search_decoder(matrix, lengths);     // error: ctc_beam_search_decoder<Paths>(logits, logit_lengths): the logits must be floating-point, (T,B,C)
  tf::ctc_beam_search_decoder<0>(logits, lengths);  // error: ctc_beam_search_decoder<Paths>(logits, logit_lengths): Paths must be a number from 1 on
  tf::ctc_beam_search_decoder(open, lengths);       // error: ctc_beam_search_decoder<Paths>(logits, logit_lengths): the classes must be a number, 1 or more
  tf::ctc_beam_search_decoder(logits, real);        // error: ctc_beam_search_decoder<Paths>(logits, logit_lengths): the lengths must be integers, (B)
  // clang-format on
#endif
}
